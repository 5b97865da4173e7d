"""When results leave for which query: its stream is the one that it would have alone, content and order (Hammad et al.,
3.2.4 with its printed rule corrected).

Results of an outer leave for query j once every outer before it has done j's window. For each query the router
remembers how far its stream has come, so nothing leaves twice. With ``Policy.holds`` they leave when their own outer
has done a slice, else as soon as they may: while it scans, or when the outer before it is through.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from muntin.scheduling.slices import Policy, Unit


@dataclass(frozen=True)
class Release:
    """Results of ``outer`` in slices ``first`` to ``last`` leave for query number ``query`` (from 0, by window).
    ``streamed``: those of the last slice have left one by one while it was scanned."""

    query: int
    outer: int
    first: int
    last: int
    streamed: bool


class Router:
    """How far each query's stream has come. Cost of a unit: the number of queries, and what leaves."""

    def __init__(self, policy: Policy, queries: int) -> None:
        self.policy = policy
        self.done_outers = [0] * queries
        """By slice how many outers have done it: these are the first ones."""
        self._sent = [(0, 0)] * queries
        """By query the first result that has not left: (outer, slice)."""

    def done(self, unit: Unit) -> list[Release]:
        """What leaves since a unit is done. Units of a slice come in the order of their outers."""
        reached = list(self.done_outers)
        self.done_outers[unit.slice] += 1
        return list(self._held(unit) if self.policy.holds else self._free(unit, reached))

    def _held(self, unit: Unit) -> Iterator[Release]:
        """Of the outer that has done a slice alone, to those who wait for nobody before it."""
        for query in range(unit.slice, len(self._sent)):
            if self.done_outers[query] >= unit.outer:
                _, first = self._sent[query] if self._sent[query][0] == unit.outer else (0, 0)
                yield Release(query, unit.outer, first, unit.slice, False)
                self._sent[query] = (unit.outer, unit.slice + 1)

    def _free(self, unit: Unit, reached: list[int]) -> Iterator[Release]:
        for query in range(unit.slice, len(self._sent)):
            outer, first = self._sent[query]
            while outer <= self.done_outers[query]:
                last = min(self._slices_done(outer) - 1, query)
                if last >= first:
                    own = outer == unit.outer and last == unit.slice and reached[query] == outer
                    yield Release(query, outer, first, last, own)
                if last < query:
                    first = max(first, last + 1)
                    break
                outer, first = outer + 1, 0
            self._sent[query] = (outer, first)

    def _slices_done(self, outer: int) -> int:
        """How many slices an outer has done."""
        return sum(done > outer for done in self.done_outers)

    def held(self) -> int:
        """Outers that have done a slice whose results have not all left."""
        query = len(self._sent) - 1
        outer, first = self._sent[query]
        outer, first = (outer + 1, 0) if first > query else (outer, first)
        rest = self.done_outers[0] - outer
        return rest - (rest > 0 and first >= self._slices_done(outer))
