"""How much of its input a pipeline can afford: the throttle of Gedik et al. (GrubJoin, 3) for a machine that works by
batches, and how the queries share it.

A batch that takes longer than its interval has consumed only a part of what arrived meanwhile. What is remembered is
not the fraction but the rate of rows that the machine sustains, so a load that falls below it is answered in full with
the next batch, and one that rises is met before it hurts. All of it is arithmetic on what was measured; time is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import inf
from typing import Any


@dataclass(frozen=True)
class Measured:
    """A batch: ``rows`` that arrived (admitted or not) over ``period`` seconds, the admitted ``fraction`` of them, and
    the ``seconds`` that it took."""

    rows: float
    period: float
    fraction: float
    seconds: float


DIFFERS = 1.3
"""Ratio of the rows of two batches from which their times say what a row costs."""


FALLEN = 0.8
"""Share of a rate below which it has fallen, so that the capacity may grow at once."""


@dataclass(frozen=True)
class Pace:
    """``interval``: seconds from batch to batch that are to be kept. ``capacity``: rows a second that an interval has
    room for (infinite: it was never too much). ``recent``, ``anchor``: (rows admitted, seconds) of the last batch, and
    of the last one before it that admitted more or fewer.

    ``boost``: by which the capacity may grow from one adaptation to the next. ``headroom``: part of the interval that a
    batch may take. ``every``: batches between two adaptations. ``warm``: batches that are not judged, since compilers
    and workers start in them. ``rate``: of rows that came last, a second.
    """

    interval: float
    capacity: float = inf
    recent: tuple[float, float] | None = None
    anchor: tuple[float, float] | None = None
    boost: float = 1.25
    headroom: float = 0.8
    every: int = 1
    warm: int = 2
    batches: int = 0
    fraction: float = 1.0
    rate: float = 0.0

    def after(self, batch: Measured) -> Pace:
        """With what a batch showed, and the fraction that the next one should admit."""
        pace = replace(self, batches=self.batches + 1)
        if pace.batches <= self.warm or batch.rows <= 0 or batch.period <= 0:
            return pace
        admitted, rate = batch.rows * batch.fraction, batch.rows / batch.period
        fallen = rate < FALLEN * self.rate
        recent = self.recent
        if fallen or rate * FALLEN > self.rate:  # a join's row costs otherwise at another rate
            pace, recent = replace(pace, anchor=None), None
        if recent is not None and _differ(recent[0], admitted):
            pace = replace(pace, anchor=recent)
        pace = replace(pace, recent=(admitted, batch.seconds))
        rows, helps = pace._affordable(admitted, batch.seconds)
        over, capacity = batch.seconds > self.headroom * self.interval, self.capacity
        if over and helps:
            capacity = min(rows, admitted) / self.interval
        elif batch.fraction < 1:
            capacity = rows / self.interval if fallen else min(rows / self.interval, self.boost * capacity)
        elif rate > capacity:
            capacity = rate
        fraction = min(1.0, capacity * self.interval / (rate * max(self.interval, batch.seconds)))
        if pace.batches % self.every and not over:
            fraction = self.fraction
        return replace(pace, capacity=capacity, fraction=fraction, rate=rate)

    def _affordable(self, admitted: float, seconds: float) -> tuple[float, bool]:
        """(rows that a batch has time for, whether leaving out rows helps): not where a batch takes longer than the
        interval whatever it admits; then those that make it a quarter longer."""
        room = self.headroom * self.interval
        if self.anchor is not None and _differ(self.anchor[0], admitted):
            each = (seconds - self.anchor[1]) / (admitted - self.anchor[0])
            fixed = seconds - each * admitted
            if each > 0 and fixed >= room:
                return fixed / 4 / each, False
            if each > 0:
                fixed = max(0.0, fixed)
                return (room - fixed) * admitted / max(seconds - fixed, 1e-9), True
        fixed = min(seconds, self.interval / 4)
        return (room - fixed) * admitted / max(seconds - fixed, 1e-3), True

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {k: (None if v == inf else v) for k, v in asdict(self).items()}

    @staticmethod
    def of_json(value: Mapping[str, Any]) -> Pace:
        """What ``to_json`` made."""
        capacity = inf if value["capacity"] is None else value["capacity"]
        points = {k: None if value[k] is None else (value[k][0], value[k][1]) for k in ("recent", "anchor")}
        return Pace(**{**value, **points, "capacity": capacity})


def _differ(one: float, other: float) -> bool:
    return max(one, other) > DIFFERS * max(min(one, other), 1.0)


@dataclass(frozen=True)
class Load:
    """A query: ``rows`` that its streams bring in a batch; whether it may leave out some (``sheds``), of which it is to
    have at least the share ``floor``; those of a higher ``priority`` lose last."""

    rows: float
    sheds: bool
    floor: float = 0.0
    priority: int = 0


LEAST = 0.001
"""Share below which no query falls: a result now and then, and something to measure."""


def shares(fraction: float, loads: Sequence[Load]) -> tuple[float, ...]:
    """The share of its rows that each query gets, so that ``fraction`` of all rows is admitted.

    Queries that never shed get all, the others their floors; what is left goes to the highest priority first, evenly
    within one. Where the floors alone are more than ``fraction``, they are kept: the pipeline then falls behind.
    """
    found = [max(x.floor, LEAST) if x.sheds else 1.0 for x in loads]
    left = fraction * sum(x.rows for x in loads) - sum(s * x.rows for s, x in zip(found, loads, strict=True))
    for level in sorted({x.priority for x in loads if x.sheds}, reverse=True):
        own = [i for i, x in enumerate(loads) if x.sheds and x.priority == level]
        left = _raised(found, own, loads, left)
    return tuple(found)


def _raised(found: list[float], own: list[int], loads: Sequence[Load], left: float) -> float:
    """Raise the shares of ``own`` to one common level that takes up what is ``left`` of the rows; what is left then."""
    level_rows = [(i, loads[i].rows) for i in own]

    def taken(level: float) -> float:
        return sum((max(level, found[i]) - found[i]) * rows for i, rows in level_rows)

    if left <= 0:
        return left
    low, high = 0.0, 1.0
    if taken(high) > left:
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if taken(middle) <= left else (low, middle)
        high = low
    left -= taken(high)
    for i in own:
        found[i] = max(high, found[i])
    return left
