"""Which queries lost which rows, without a mark for each row and query: rows that the same windows leave out are alike.

A thousand queries over one stream mostly have a few windows of time among them, so there are few kinds of late rows.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class LostRows:
    """``kind``: by row the number of its kind. ``kinds``: by kind the numbers of the queries that lost it, ascending.
    ``queries``: how many queries there are."""

    kind: Numbers
    kinds: tuple[tuple[int, ...], ...]
    queries: int

    def per_query(self) -> Numbers:
        """How many rows each query lost. Cost: the rows, and the queries of each kind."""
        found = np.zeros(self.queries, np.int64)
        for rows, lost in zip(np.bincount(self.kind, minlength=len(self.kinds)).tolist(), self.kinds, strict=True):
            found[list(lost)] += rows
        return found

    def table(self) -> Mask:
        """Rows by queries: for tests and a few rows."""
        by_kind = np.zeros((len(self.kinds), self.queries), bool)
        for number, lost in enumerate(self.kinds):
            by_kind[number, list(lost)] = True
        return by_kind[self.kind]


@dataclass
class Collector:
    """Rows of which windows one after another say what they leave out."""

    rows: int
    _kind: Numbers = field(init=False)
    _kinds: list[set[int]] = field(default_factory=lambda: [set()])
    _size: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self._kind, self._size = np.zeros(self.rows, np.int64), [self.rows]

    def lose(self, late: Mask, queries: Collection[int]) -> None:
        """These rows are lost to the queries. Cost: the rows, and the queries for each kind that has some of them."""
        rows = np.flatnonzero(late)
        counts = np.bincount(self._kind[rows], minlength=len(self._kinds))
        moved = np.arange(len(self._kinds))
        for kind in np.flatnonzero(counts).tolist():
            here = int(counts[kind])
            if self._kinds[kind].issuperset(queries):
                continue
            if here == self._size[kind]:
                self._kinds[kind].update(queries)
                continue
            moved[kind] = len(self._kinds)
            self._kinds.append(self._kinds[kind] | set(queries))
            self._size.append(here)
            self._size[kind] -= here
        self._kind[rows] = moved[self._kind[rows]]

    def lost(self, queries: int) -> tuple[Numbers, LostRows]:
        """The rows that somebody lost, and by whom."""
        some = np.array([bool(lost) for lost in self._kinds])
        places = np.flatnonzero(some[self._kind])
        number = np.cumsum(some) - 1
        kinds = tuple(tuple(sorted(lost)) for lost in self._kinds if lost)
        return places, LostRows(number[self._kind[places]], kinds, queries)
