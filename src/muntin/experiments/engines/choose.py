"""The engine's own choice: state structures and plan by an estimated cost per window, from value counts of its windows.

What decides is what thesis 3.5.2 names: how many results there are for the inputs, what share of them leaves early, and
how long the window is. Walking a chain costs 1 a step, looking at a partition ``LOOK``, and changing a chain or
handling
a negative tuple ``ACT``, since it touches several places. The weights come from timing the structures alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from muntin.experiments.engines.engine import DIRECT, NT, PARTITIONS, UPA, Engine
from muntin.experiments.engines.workload import Trace
from muntin.kernels.strategies import CALENDAR, LOCATED

ACT, LOOK = 8.0, 2.0
SAMPLES = 48
"""Windows that statistics are taken from."""
LAZY = 20
"""Lazy expirations in a window (every 5 % of it)."""

_H = PARTITIONS
_FINE = (10, 50, 250)
_DOWN = replace(NT, name="NT(join up)", down=True)


@dataclass(frozen=True)
class Counts:
    """Of the tuples of one window: tuples by link and value, those that the selection keeps, and distinct instants."""

    every: NDArray[np.int64]
    kept: NDArray[np.int64]
    instants: int

    @staticmethod
    def of(trace: Trace, window: int, column: str = "source", protocol: int | None = None) -> list[Counts]:
        """Counts of ``SAMPLES`` windows spread over the trace, from the time on when the windows are full."""
        last = max(trace.ts[0], trace.ts[-1] - window)
        starts = np.linspace(min(trace.ts[0] + window, last), last, SAMPLES).astype(np.int64)
        return [Counts.at(trace, int(start), window, column, protocol) for start in starts]

    @staticmethod
    def at(trace: Trace, start: int, window: int, column: str, protocol: int | None) -> Counts:
        """Counts of the window that begins at ``start``."""
        part = slice(*(int(i) for i in np.searchsorted(trace.ts, [start, start + window])))
        values, link = getattr(trace, column)[part], trace.link[part]
        shape = (int(trace.link.max()) + 1, int(values.max(initial=0)) + 1)
        keep = np.ones(len(values), bool) if protocol is None else trace.protocol[part] == protocol

        def table(chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
            return np.bincount(link[chosen] * shape[1] + values[chosen], minlength=shape[0] * shape[1]).reshape(shape)

        return Counts(table(np.ones(len(values), bool)), table(keep), len(np.unique(trace.ts[part])))


Costs = dict[Engine, float]


def choose(costs: Callable[[Counts], Costs], samples: Sequence[Counts]) -> Engine:
    """The engine with the lowest cost over the samples."""
    total: Costs = {}
    for sample in samples:
        for engine, cost in costs(sample).items():
            total[engine] = total.get(engine, 0.0) + cost
    return replace(min(total, key=lambda e: total[e]), name="own")


def _calendars(engine: Engine) -> list[Engine]:
    return [replace(engine, parts=p) for p in _FINE]


def _lazy(instants: int) -> float:
    """Lazy expiry of both sides of a join: the end of each chain is looked at."""
    return LOOK * min(LAZY, instants) * 2 * _H


def for_join(counts: Counts) -> Costs:
    """Query 1: negative tuples, a list, or a calendar queue of so many partitions."""
    arrivals, (left, right) = float(counts.every.sum()), counts.kept.sum(axis=1)[:2].astype(float)
    held = float((counts.kept[0] * counts.kept[1]).sum())
    born, m = 2 * held, counts.instants
    lazy = _lazy(m)
    costs: Costs = {
        NT: ACT * (3 * arrivals + 3 * (left + right) + 3 * born)
        + LOOK * 2 * m
        + (left**2 + right**2 + 2 * left * right + born * held / 2) / _H,
        DIRECT: lazy + ACT * born + m * held,
    }
    for e in _calendars(UPA):
        searched = m * min(1.0, held / e.parts) + born * held / e.parts / 2
        costs[e] = lazy + ACT * 2 * born + LOOK * (m + min(m, e.parts)) + searched
    return costs


def for_distinct(counts: Counts) -> Costs:
    """Query 2: delta with negative tuples, delta by expiry, or delta* over a calendar queue."""
    n, m = float(counts.every[0].sum()), counts.instants
    d = float((counts.every[0] > 0).sum())
    chain = d / (2 * _H)
    costs: Costs = {
        NT: ACT * 5 * n + n * (2 * chain + n / _H) + d * n / _H,
        DIRECT: ACT * 2 * n + n * chain + m * d + d * n / _H,
    }
    for e in _calendars(UPA):
        costs[e] = ACT * (n + 4 * d) + LOOK * (m + min(m, e.parts)) + n * 2 * chain + d * (2 * chain + d / e.parts / 2)
    return costs


def for_negation(counts: Counts) -> Costs:
    """Query 3: what holds the results, by how many of them leave early."""
    left, right = counts.every[0], counts.every[1]
    held, early = float(np.maximum(left - right, 0).sum()), float(np.minimum(left, right).sum())
    born, m, n = held + early, counts.instants, float(counts.every.sum())
    costs: Costs = {
        NT: ACT * (4 * n + 3 * born) + (held * held + early * held / 2) / _H,
        DIRECT: ACT * (born + 2 * early) + m * held + early * held / 2,
    }
    for kind in (CALENDAR, LOCATED):
        for e in _calendars(replace(UPA, kind=kind)):
            searched = held / 2 + LOOK * e.parts if kind == CALENDAR else held / e.parts / 2
            costs[e] = ACT * (born + held + 2 * early) + LOOK * (2 * m + min(m, e.parts)) + early * searched
    return costs


def for_negation_and_join(counts: Counts) -> Costs:
    """Query 4: the negation above or below the join; ``counts.kept``: of link 1 the tuples that the selection keeps."""
    one, two, three = counts.every[0], counts.kept[1], counts.every[2]
    a, b, c, m = float(one.sum()), float(two.sum()), float(three.sum()), counts.instants
    n = float(counts.every.sum())
    pairs = float((one * two).sum())
    alive = float(one[three == 0].sum())
    held = float((one * two)[three == 0].sum())
    view = 2 * held * (3 * ACT + held / 2 / _H)
    walks = 2 * a * b / _H
    costs: Costs = {
        NT: ACT * (3 * n + 6 * a + 8 * b + 2 * c + 20 * pairs) + 2 * walks + (a * a + b * b) / _H + view,
        _DOWN: ACT * (3 * n + 4 * a + 8 * b + 3 * c + 6 * alive) + (4 * alive * b + alive * alive + b * b) / _H + view,
    }
    for e in _calendars(UPA):
        moves = n + 3 * a + 4 * b + 4 * c + 24 * pairs
        costs[e] = _lazy(m) + ACT * moves + LOOK * (4 * m + min(m, e.parts)) + walks + pairs * pairs / e.parts + view
    return costs
