"""How much of its input a pipeline can afford: the throttle of Gedik et al. (GrubJoin, 3) for a machine that works by
batches, and how the queries share it.

A batch that takes longer than its interval has consumed only a part of what arrived meanwhile. The share of the work
that is done follows what batches take, in proportion as in GrubJoin, with what waits counted in and what a batch costs
beside its rows counted out; it falls at once and grows by ``boost`` at most. Beside it the rate of rows is remembered
that was answered in full and in time: a load that falls back to it is answered in full with the next batch. All of it
is arithmetic on what was measured; time is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any


@dataclass(frozen=True)
class Measured:
    """A batch: ``rows`` that arrived (admitted or not) over ``period`` seconds, the ``fraction`` of their work that was
    done, and the ``seconds`` that it took."""

    rows: float
    period: float
    fraction: float
    seconds: float


KEEP = 0.7
"""What a batch counts by the next one."""

GUESS = 0.5
"""What a guess counts beside batches."""


@dataclass(frozen=True)
class Line:
    """Seconds of a batch over the rows of which the work is done: weighted sums over batches. What a batch without rows
    was thought to take counts as a part of one, so that noise around one point does not turn the line."""

    weight: float = 0.0
    rows: float = 0.0
    seconds: float = 0.0
    squares: float = 0.0
    products: float = 0.0

    def after(self, rows: float, seconds: float) -> Line:
        """With one batch more."""
        old = (self.weight, self.rows, self.seconds, self.squares, self.products)
        new = (1.0, rows, seconds, rows * rows, rows * seconds)
        return Line(*(KEEP * o + n for o, n in zip(old, new, strict=True)))

    def fit(self, guess: float) -> tuple[float, float]:
        """(seconds without rows, seconds a row), both at least 0."""
        weight, seconds = self.weight + GUESS, self.seconds + GUESS * guess
        spread = self.squares - self.rows**2 / weight
        each = max(0.0, (self.products - self.rows * seconds / weight) / spread) if spread > 0 else 0.0
        return max(0.0, (seconds - each * self.rows) / weight), each


ABOUT = 1.05
"""How much above a rate one may be that is taken for it."""

FALLEN = 0.5
"""What is left of a rate that was held for sustained and was too much after all: rates vary from batch to batch."""

LOWEST = 0.01
"""Fraction below which the work does not fall, so that it can come back."""

RETURN = 10
"""Batches in which a load that is sustained again may take longer than the interval: windows still hold more."""


@dataclass(frozen=True)
class Pace:
    """``interval``: seconds from batch to batch that are to be kept. ``fraction``: of its work, that the next batch is
    to do. ``sustained``: the highest rate of rows (a second) that was answered in full and in time. ``line``: what
    batches took.

    ``boost``: by which the work may grow from one batch to the next. ``headroom``: part of the interval that a batch
    is to take where work is left out. ``burst``: intervals that a batch may take when a sustained rate returns;
    ``returning``: how many more may. ``first``: fraction that a run begins with. ``warm``: batches that are not judged,
    since compilers and workers start in them; after one that took longer than two intervals the next does the work of
    one.
    """

    interval: float
    fraction: float = 1.0
    sustained: float = 0.0
    line: Line = field(default_factory=Line)
    fixed: float | None = None
    boost: float = 1.5
    headroom: float = 0.8
    burst: float = 5.0
    returning: int = 0
    first: float = 1.0
    warm: int = 2
    batches: int = 0

    def after(self, batch: Measured) -> Pace:
        """With what a batch showed, and the fraction that the next one should do."""
        pace = replace(self, batches=self.batches + 1)
        if pace.batches <= self.warm and batch.seconds > 2 * self.interval:
            return replace(pace, fraction=self.interval / batch.seconds)
        if pace.batches <= self.warm:
            return replace(pace, fraction=self.first)
        if batch.rows <= 0 or batch.period <= 0:
            return pace
        rate, done = batch.rows / batch.period, batch.rows * max(batch.fraction, LEAST)
        coming = rate * max(self.interval, batch.seconds)
        line = self.line.after(done, batch.seconds)
        pace = replace(pace, line=line, fixed=line.fit(self.beside)[0])
        late = batch.seconds > self.interval
        if batch.fraction >= 1 and not late:
            return replace(pace, fraction=1.0, sustained=max(self.sustained, rate), returning=0)
        if batch.fraction >= 1 and not self.returning:
            pace = replace(pace, sustained=min(self.sustained, FALLEN * rate))
        affordable, whole = pace._affordable(done, batch.seconds, coming)
        if rate <= ABOUT * pace.sustained and whole <= self.burst * self.interval:
            left = self.returning - 1 if batch.fraction >= 1 else RETURN
            return replace(pace, fraction=1.0, returning=left)
        return replace(pace, fraction=max(LOWEST, min(1.0, affordable / coming)), returning=0)

    @property
    def beside(self) -> float:
        """Seconds of a batch without rows, as far as is known."""
        return self.interval / 4 if self.fixed is None else self.fixed

    def _affordable(self, done: float, seconds: float, coming: float) -> tuple[float, float]:
        """(rows whose work a batch has time for, seconds of one that does the work of all that are coming).

        Where a batch takes longer whatever it does, leaving out rows does not help: then those that make it a quarter
        longer.
        """
        room = self.headroom * self.interval
        fixed, each = self.line.fit(self.beside)
        took = (seconds + fixed + each * done) / 2  # a single batch may be an accident
        beside = min(fixed, 0.9 * took, room / 2)  # one that is thought to be large would cut too deep, if it is not
        whole = beside + (took - beside) * coming / done
        if fixed >= room:
            return max(done, min(4 * self.boost * done, fixed / 4 / each if each else 0.0)), whole
        return min(self.boost * done, (room - beside) / (took - beside) * done), whole

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)

    @staticmethod
    def of_json(value: Mapping[str, Any]) -> Pace:
        """What ``to_json`` made; what another version kept beside is left out."""
        known = {f.name: value[f.name] for f in fields(Pace) if f.name in value}
        return Pace(**{**known, "line": Line(**value.get("line", {}))})


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
