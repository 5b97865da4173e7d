"""The engine's own choice: state structures and plan by an estimated cost per window, from value counts of the window.

What decides is what thesis 3.5.2 names: how many results there are for the inputs, what share of them leaves early, and
how long the window is. An access that walks a chain costs 1; one that changes a chain, visits a partition or handles a
negative tuple costs ``ACT``, since it touches several places.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from muntin.experiments.engines.engine import DIRECT, NT, PARTITIONS, UPA, Engine
from muntin.experiments.engines.workload import Trace
from muntin.kernels.strategies import LOCATED

ACT = 4.0
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
    def of(trace: Trace, window: int, column: str = "source", protocol: int | None = None) -> Counts:
        """Counts of the first window of a trace."""
        part = slice(0, int(np.searchsorted(trace.ts, trace.ts[0] + window)))
        values, link = getattr(trace, column)[part], trace.link[part]
        shape = (int(link.max()) + 1, int(values.max()) + 1)
        keep = np.ones(len(values), bool) if protocol is None else trace.protocol[part] == protocol

        def table(chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
            return np.bincount(link[chosen] * shape[1] + values[chosen], minlength=shape[0] * shape[1]).reshape(shape)

        return Counts(table(np.ones(len(values), bool)), table(keep), len(np.unique(trace.ts[part])))


def _best(costs: dict[Engine, float]) -> Engine:
    return replace(min(costs, key=lambda e: costs[e]), name="own")


def _calendars(engine: Engine, limit: int) -> list[Engine]:
    return [replace(engine, parts=p) for p in _FINE if p <= max(_FINE[0], limit)]


def for_join(counts: Counts) -> Engine:
    """Query 1: negative tuples, a list, or a calendar queue of so many partitions."""
    arrivals, (left, right) = counts.every.sum(), counts.kept.sum(axis=1)[:2]
    held = float((counts.kept[0] * counts.kept[1]).sum())
    born, m = 2 * held, counts.instants
    lazy = ACT * LAZY * 2 * _H
    costs = {
        NT: ACT * (3 * arrivals + 2 * m + left + right + 3 * born)
        + (left**2 + right**2 + 2 * left * right + born * held / 2) / _H,
        DIRECT: lazy + ACT * (born + m) + m * held,
    }
    for e in _calendars(UPA, m):
        costs[e] = lazy + ACT * (2 * born + m + e.parts) + m * min(1.0, held / e.parts) + born * held / e.parts / 2
    return _best(costs)


def for_distinct(counts: Counts) -> Engine:
    """Query 2: delta with negative tuples, delta by expiry, or delta* over a calendar queue."""
    n, m = float(counts.every[0].sum()), counts.instants
    d = float((counts.every[0] > 0).sum())
    chain = d / (2 * _H)
    costs = {
        NT: ACT * 5 * n + n * (2 * chain + n / _H) + d * n / _H,
        DIRECT: ACT * 2 * n + n * chain + m * d + d * n / _H,
    }
    for e in _calendars(UPA, m):
        costs[e] = ACT * (n + m + e.parts + 4 * d) + n * 2 * chain + d * (2 * chain + d / e.parts / 2)
    return _best(costs)


def for_negation(counts: Counts) -> Engine:
    """Query 3: what holds the results, by how many of them leave early."""
    left, right = counts.every[0], counts.every[1]
    held, early = float(np.maximum(left - right, 0).sum()), float(np.minimum(left, right).sum())
    born, m, n = held + early, counts.instants, float(counts.every.sum())
    costs = {
        NT: ACT * (4 * n + 3 * born) + (held * held + early * held / 2) / _H,
        DIRECT: ACT * (born + m + 2 * early) + m * held + early * held / 2,
    }
    for e in (*_calendars(UPA, m), *_calendars(replace(UPA, kind=LOCATED), m)):
        searched = held / 2 + ACT * e.parts if e.kind != LOCATED else held / e.parts / 2
        costs[e] = ACT * (2 * born + 2 * m + e.parts + 2 * early) + early * searched
    return _best(costs)


def for_negation_and_join(counts: Counts) -> Engine:
    """Query 4: the negation above or below the join; ``counts.kept``: of link 1 the tuples that the selection keeps."""
    one, two, three = counts.every[0], counts.kept[1], counts.every[2]
    a, b, c, m = float(one.sum()), float(two.sum()), float(three.sum()), counts.instants
    n = float(counts.every.sum())
    pairs = float((one * two).sum())
    alive = float(one[three == 0].sum())
    held = float((one * two)[three == 0].sum())
    view = 2 * held * (3 * ACT + held / 2 / _H)
    walks = 2 * a * b / _H
    costs = {
        NT: ACT * (4 * n + 3 * m + 8 * pairs) + 2 * walks + (a * a + b * b) / _H + view,
        _DOWN: ACT * (4 * n + 3 * m + a + c + 3 * alive) + 4 * alive * b / _H + (alive * alive + b * b) / _H + view,
    }
    for e in _calendars(UPA, m):
        moves = n + a + b + 2 * c + 4 * m + LAZY * 4 * _H + 10 * pairs + e.parts
        costs[e] = ACT * moves + walks + pairs * pairs / e.parts + view
    return _best(costs)
