"""Work and output of an m-way window join that reads only parts of its windows (Gedik et al., 4).

The window of stream l is divided into n_l logical basic windows; part k holds what is (k - 1) b to k b old. New tuples
of stream i visit the other windows in order R_i; at hop j they read ``counts[i][j]`` parts of the window, best ranked
first. Streams, hops and parts are numbered from 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

Counts = tuple[tuple[int, ...], ...]
"""By direction and hop, how many parts of the window are read: n times the harvest fraction z_ij."""

Probe = Callable[[float, float, float], float]
"""Work of finding the partners of one tuple: from parts read, tuples in them, and how many match."""


def nested_loops(parts: float, tuples: float, found: float) -> float:
    """Every tuple is compared."""
    return tuples


def sorted_parts(parts: float, tuples: float, found: float) -> float:
    """Each part has a sorted index: a search in each, then the matches lie together (epsilon and band joins)."""
    return parts * math.log2(1 + tuples / parts) + found if parts else 0.0


def hashed_parts(parts: float, tuples: float, found: float) -> float:
    """Each part has a hash index: one look into each, then the matches (equi-joins)."""
    return parts + found


@dataclass(frozen=True)
class Problem:
    """``rates``: tuples a second; ``rows``: tuples in each full window, S = lambda w; ``parts``: n of each window.

    ``orders[i]``: R_i, the other streams; ``selectivity[i][j]``: share of the tuples at hop j of direction i that join;
    ``scores[i][j][k]``: how likely a result has, at that hop, a partner from part k (any positive scale).
    """

    rates: tuple[float, ...]
    rows: tuple[float, ...]
    parts: tuple[int, ...]
    orders: tuple[tuple[int, ...], ...]
    selectivity: tuple[tuple[float, ...], ...]
    scores: tuple[tuple[tuple[float, ...], ...], ...]
    probe: Probe = nested_loops

    def sizes(self, i: int) -> tuple[int, ...]:
        """Parts at each hop of direction i."""
        return tuple(self.parts[window] for window in self.orders[i])

    @property
    def full(self) -> Counts:
        """Everything is read."""
        return tuple(self.sizes(i) for i in range(len(self.rates)))

    @cached_property
    def rankings(self) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """By direction and hop the parts, highest score first, younger ones first among equals."""
        return tuple(tuple(ranking(scores) for scores in hops) for hops in self.scores)

    @cached_property
    def yields(self) -> tuple[tuple[tuple[float, ...], ...], ...]:
        """P_ij by direction, hop and number of parts read (0 ... n): the share of the partners that are in them."""
        return tuple(tuple(_yields(scores) for scores in hops) for hops in self.scores)

    def direction(self, i: int, counts: Sequence[int]) -> tuple[float, float]:
        """(work, output) a second for new tuples of stream i; O(m)."""
        found, work = self.rates[i], 0.0
        for j, (window, count) in enumerate(zip(self.orders[i], counts, strict=True)):
            rows, n = self.rows[window], self.parts[window]
            matches = self.yields[i][j][count] * self.selectivity[i][j] * rows
            work += found * self.probe(count, count / n * rows, matches)
            found *= matches
        return work, found

    def total(self, counts: Counts) -> tuple[float, float]:
        """(C, O): work and output a second of all directions."""
        each = [self.direction(i, c) for i, c in enumerate(counts)]
        return sum(w for w, _ in each), sum(o for _, o in each)

    def read(self, counts: Counts, i: int, j: int) -> tuple[int, ...]:
        """The parts that direction i reads at hop j, youngest first."""
        return tuple(sorted(self.rankings[i][j][: counts[i][j]]))

    def kept(self, counts: Counts) -> tuple[int, ...]:
        """By window how many of its youngest parts have to be kept (7, memory shedding): no direction reads an older
        one."""
        last = [0] * len(self.rates)
        for i, order in enumerate(self.orders):
            for j, window in enumerate(order):
                last[window] = max((last[window], *(k + 1 for k in self.read(counts, i, j))))
        return tuple(last)


def ranking(scores: Sequence[float]) -> tuple[int, ...]:
    """Indexes by descending score (4.2.1)."""
    return tuple(sorted(range(len(scores)), key=lambda k: (-scores[k], k)))


def _yields(scores: Sequence[float]) -> tuple[float, ...]:
    whole = sum(scores)
    if not whole > 0:  # nothing is known: flat
        return tuple(k / len(scores) for k in range(len(scores) + 1))
    return (0.0, *(min(1.0, s / whole) for s in accumulate(scores[k] for k in ranking(scores))))


def low_selectivity_first(
    selectivity: Sequence[Sequence[float]], joined: Sequence[Sequence[bool]] | None = None
) -> tuple[tuple[int, ...], ...]:
    """R_i: the other streams by ascending sigma_i. (5.3); where the join graph is given, those with a predicate to what
    is there first."""
    m, found = len(selectivity), []
    for i in range(m):
        order: tuple[int, ...] = ()
        while len(order) < m - 1:
            rest = [k for k in range(m) if k != i and k not in order]
            tied = [k for k in rest if joined is None or any(joined[k][t] for t in (i, *order))] or rest
            order = (*order, min(tied, key=lambda k: (selectivity[i][k], k)))
        found.append(order)
    return tuple(found)
