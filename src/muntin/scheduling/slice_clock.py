"""A shared window join on a virtual clock: when its results reach their queries on a machine that does so much work a
second.

Deterministic: the same rows and costs give the same responses on every machine. It drives the queues and the router
that also schedule running joins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from muntin.scheduling.routing import Router
from muntin.scheduling.slices import Policy, SliceQueues


@dataclass(frozen=True)
class Responses:
    """Times between a result's row and its leaving, by query in order of windows: number of results, ``mean`` and
    ``most`` in seconds. ``waiting``, ``held``: the most outers that waited, and whose results were held, at a time."""

    results: NDArray[np.int64]
    mean: NDArray[np.float64]
    most: NDArray[np.float64]
    waiting: int
    held: int


def play(
    policy: Policy,
    sizes: Sequence[float],
    arrivals: NDArray[np.float64],
    work: NDArray[np.float64],
    results: NDArray[np.int64],
    speed: float,
) -> Responses:
    """All outers through all slices, in the order of the policy.

    Args:
        policy: whose turn it is.
        sizes: of the slices, for priorities.
        arrivals: of the outers, seconds, ascending.
        work: of each outer in each slice, shape (outers, slices).
        results: how many there are in it, in the same shape; they come evenly while it is scanned.
        speed: work a second.
    """
    queues, router, tally = SliceQueues(policy, sizes), Router(policy, len(sizes)), _Tally(arrivals, results)
    costs, come = (work / speed).tolist(), arrivals.tolist()
    time, arrived, waiting, held = 0.0, 0, 0, 0
    while arrived < len(come) or len(queues):
        if not len(queues):
            time = max(time, come[arrived])
        while arrived < len(come) and come[arrived] <= time:
            queues.arrived(arrived)
            arrived += 1
        unit = queues.next()
        assert unit is not None
        waiting = max(waiting, len(queues))
        began, time = time, time + costs[unit.outer][unit.slice]
        queues.done(unit)
        for r in router.done(unit):
            tally.add(r.query, r.outer, r.first, r.last, began if r.streamed else time, time)
        held = max(held, router.held())
    return tally.responses(waiting, held)


class _Tally:
    """Responses summed up by query."""

    def __init__(self, arrivals: NDArray[np.float64], results: NDArray[np.int64]) -> None:
        queries = results.shape[1]
        self._come, self._results = arrivals.tolist(), results.tolist()
        self._count, self._sum, self._most = [0] * queries, [0.0] * queries, [0.0] * queries

    def add(self, query: int, outer: int, first: int, last: int, began: float, ended: float) -> None:
        """Results of an outer in some slices left for a query: those of the last slice evenly from ``began`` to
        ``ended`` (which are equal where they left together)."""
        came, found = self._come[outer], self._results[outer]
        own, before = found[last], sum(found[first:last])
        if own:
            middle = ended - (ended - began) * (own - 1) / (2 * own)
            self._count[query] += own
            self._sum[query] += own * (middle - came)
        if before:
            self._count[query] += before
            self._sum[query] += before * (ended - came)
        if own or before:
            self._most[query] = max(self._most[query], ended - came)

    def responses(self, waiting: int, held: int) -> Responses:
        """By query."""
        count = np.array(self._count, np.int64)
        mean = np.array(self._sum) / np.maximum(count, 1)
        return Responses(count, mean, np.array(self._most), waiting, held)
