"""When results leave for which query: its stream is the one that it would have alone, content and order (Hammad et al.,
3.2.4 with its printed rule corrected).

Results of an outer leave for query j once every outer before it has done j's window. For each query the router
remembers how far its stream has come, so nothing leaves twice. With ``Policy.holds`` they leave when their own outer
has done a slice, else as soon as they may: while it scans, or when the outer before it is through.
"""

from __future__ import annotations

from typing import NamedTuple

from muntin.scheduling.slices import Policy, Unit


class Release(NamedTuple):
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
        self.done_outers[unit.slice] += 1
        return self._held(unit) if self.policy.holds else self._free(unit)

    def _held(self, unit: Unit) -> list[Release]:
        """Of the outer that has done a slice alone, to those who wait for nobody before it."""
        left = []
        for query in range(unit.slice, len(self._sent)):
            if self.done_outers[query] >= unit.outer:
                outer, first = self._sent[query]
                left.append(Release(query, unit.outer, first if outer == unit.outer else 0, unit.slice, False))
                self._sent[query] = (unit.outer, unit.slice + 1)
        return left

    def _free(self, unit: Unit) -> list[Release]:
        """Of the outer that has done a slice, to those whose streams have come to it; and where that ends its window,
        of the outers behind it what they have done."""
        left = []
        for query in range(unit.slice, len(self._sent)):
            outer, first = self._sent[query]
            if outer != unit.outer:
                continue
            left.append(Release(query, outer, first, unit.slice, True))
            first = unit.slice + 1
            while first > query:
                outer, first = outer + 1, min(self._slices_done(outer + 1), query + 1)
                if first:
                    left.append(Release(query, outer, 0, first - 1, False))
            self._sent[query] = (outer, first)
        return left

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
