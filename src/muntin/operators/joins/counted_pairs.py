"""The pairs of a join of windows of rows that begin, and that end, in a turn.

How far apart a pair is counts rows: how many have come of the partition of either part after that part, whichever is
more. A turn is of the pairs that begin at least ``low`` rows apart and less than ``high`` (the whole join: 0, and no
bound), so of two turns of other slices none begins in both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from muntin.core.time import NEVER
from muntin.kernels.hashing import exact
from muntin.kernels.keys import columns_equal
from muntin.operators.joins.counted_rows import Numbered
from muntin.operators.joins.counted_turn import CountedTurn
from muntin.operators.joins.gather import Ints
from muntin.operators.joins.room import Room

Counts = tuple[int, int]
"""Rows of a window on each input."""

Sides = tuple[CountedTurn, CountedTurn]


@dataclass(frozen=True)
class Pairs:
    """Pairs of rows, and the instant of each: when it begins, or ends."""

    parts: tuple[Numbered, Numbered]
    at: Ints

    def __len__(self) -> int:
        return len(self.at)

    def take(self, index: Ints) -> Pairs:
        """Those at ``index``."""
        return Pairs((self.parts[0].take(index), self.parts[1].take(index)), self.at[index])

    def where(self, mask: NDArray[np.bool_]) -> Pairs:
        """Those for which it is true."""
        return self if mask.all() else self.take(np.flatnonzero(mask))

    def apart(self, sides: Sides, at: Ints) -> tuple[Ints, Ints]:
        """How many rows of its partition have come at the instants after either part."""
        first, second = (s.upto(p.group, at) - p.number for s, p in zip(sides, self.parts, strict=True))
        return first, second

    @staticmethod
    def concat(found: Sequence[Pairs]) -> Pairs:
        """All of them (none: no pairs)."""
        first, second = (Numbered.concat([p.parts[i] for p in found]) for i in (0, 1))
        return Pairs((first, second), np.concatenate([np.empty(0, np.int64), *(p.at for p in found)]))


def beginning(
    sides: Sides, windows: Sequence[Counts], low: int, high: int, room: Room
) -> tuple[Pairs, list[Ints]]:
    """The pairs that begin in some of the windows, and which of them do in each."""
    pairs = Pairs.concat(list(_met(sides, low, high, room)))
    behind = pairs.apart(sides, pairs.at)
    every = np.arange(len(pairs))
    inside, held = np.zeros(len(pairs), np.bool_), {}
    wider, among = (sides[0].given.count, sides[1].given.count), every
    for w in sorted(windows, reverse=True):  # where one holds the next, that looks at its pairs alone
        if w[0] > wider[0] or w[1] > wider[1]:
            among = every
        among = among[(behind[0][among] < w[0]) & (behind[1][among] < w[1])]
        wider, held[w] = w, among
        inside[among] = True
    if inside.all():
        return pairs, [held[w] for w in windows]
    place = np.cumsum(inside) - 1
    return pairs.where(inside), [place[held[w]] for w in windows]


def _met(sides: Sides, low: int, high: int, room: Room) -> Iterator[Pairs]:
    """Pairs that begin in the largest windows: new rows of an input with the rows of the other that are in its window
    when they come; of two that come at one instant the second's row finds the first's."""
    total = 0
    for i in (0, 1):
        side, other = sides[i], sides[1 - i]
        coming = side.coming(room)
        if coming is None:
            continue
        rows, at = coming
        behind = side.upto(rows.group, at) - rows.number
        if (behind >= high).any():
            some = np.flatnonzero(behind < high)
            rows, at, behind = rows.take(some), at[some], behind[some]
        groups = other.partitions_of(rows, side)
        newest = other.upto(groups, at)
        last = other.upto(groups, at, before=i == 0)
        if low:
            last = np.where(behind < low, np.minimum(last, newest - low), last)
        first = newest - min(other.given.count, high) + 1
        hashes = side.rows.hashes(rows)
        asked, partners = other.rows.with_keys(hashes, groups, (first, last), room, total)
        total += len(asked)
        yield _paired(sides, i, rows.take(asked), partners, at[asked])


def ending(sides: Sides, counts: Counts, low: int, room: Room) -> Iterator[Pairs]:
    """Pairs that leave windows of ``counts`` in this turn, without those that began in it at least ``low`` rows apart:
    these were given with their ends. One whose parts leave at one instant is found by the second."""
    for i in (0, 1):
        side, other = sides[i], sides[1 - i]
        some = low > 0 or (side.rows.chunks and other.rows.chunks)
        rows = side.leaving(counts[i], room, low > 0) if some else None
        if rows is None:
            continue
        at = side.moment(rows.group, rows.number + counts[i])
        groups = other.partitions_of(rows, side)
        first = other.upto(groups, at, before=i == 1) - counts[1 - i] + 1
        # a partner that comes when ``low`` rows have come after a row begins a pair that is so far apart
        last = other.upto(groups, np.minimum(at, side.moment(rows.group, rows.number + low)), before=True)
        if low:
            came = side.moment(rows.group, rows.number)
            first = np.where(came > NEVER, np.maximum(first, other.upto(groups, came) - low + 1), first)
        hashes = side.rows.hashes(rows)
        asked, partners = other.rows.with_keys(hashes, groups, (first, last), room, new=low > 0)
        pairs = _paired(sides, i, rows.take(asked), partners, at[asked])
        yield _begun_before(sides, pairs, low) if low else pairs


def _begun_before(sides: Sides, pairs: Pairs, low: int) -> Pairs:
    """Those that began before this turn, or less than ``low`` rows apart (and at all: a row that is pushed out as it
    comes begins none)."""
    first, second = (s.moment(p.group, p.number) for s, p in zip(sides, pairs.parts, strict=True))
    began = np.maximum(first, second)
    near = np.maximum(*pairs.apart(sides, began)) < low
    return pairs.where((began < pairs.at) & (near | (began == NEVER)))


def holding(sides: Sides, counts: Counts, at: int, room: Room) -> Pairs:
    """The pairs in windows of ``counts`` before this turn, as beginning ``at`` an instant."""
    side, other = sides
    rows = side.held(counts[0])
    if not len(rows):
        return Pairs.concat([])
    groups = other.partitions_of(rows, side)
    numbers = other.had[groups] - counts[1] + 1, other.had[groups]
    asked, partners = other.rows.with_keys(side.rows.hashes(rows), groups, numbers, room, new=False)
    return _paired(sides, 0, rows.take(asked), partners, np.full(len(asked), at))


def _paired(sides: Sides, i: int, own: Numbered, partners: Numbered, at: Ints) -> Pairs:
    """Rows of input ``i`` and of the other whose hashes are equal as pairs, if their keys are."""
    side, other = sides[i].rows, sides[1 - i].rows
    pairs = Pairs((own, partners) if i == 0 else (partners, own), at)
    if exact([side.schema.field(k).type for k in side.given.keys]) or len(pairs) == 0:
        return pairs
    same = np.ones(len(pairs), np.bool_)
    for left, right in zip(side.keys(own), other.keys(partners), strict=True):
        same &= columns_equal(left, right)
    return pairs.where(same)
