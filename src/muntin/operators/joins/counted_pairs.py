"""The pairs of a join of windows of rows that begin, and that end, in a turn.

How far apart a pair is counts rows: how many have come of the partition of either part after that part, whichever is
more. A turn is of the pairs that begin at least ``low`` rows apart and less than ``high`` (the whole join: 0, and no
bound), so of two turns of other slices none begins in both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.time import NEVER
from muntin.kernels.hashing import exact
from muntin.kernels.keys import columns_equal
from muntin.operators.joins.bands import limits_of
from muntin.operators.joins.counted_rows import Numbered
from muntin.operators.joins.counted_turn import CountedTurn
from muntin.operators.joins.gather import Ints
from muntin.operators.joins.join_graph import Band
from muntin.operators.joins.room import Room
from muntin.operators.joins.wanted_rows import InBand, Wanted
from muntin.plan.exprs import TRUE, Expr, columns_of
from muntin.scalars.evaluate import predicate_mask

ANY = 1 << 60
"""Beyond all numbers of rows."""

Counts = tuple[int, int]
"""Rows of a window on each input."""

Numbers = Callable[[Ints, Ints], tuple[Ints, Ints]]
"""Of partitions of the other input, and the rows that look for partners in them (by place), which numbers those have:
closed ranges."""


@dataclass(frozen=True)
class Sides:
    """Both inputs in a turn, what their pairs fulfil beside equal keys, and the ranges that follow from that."""

    turns: tuple[CountedTurn, CountedTurn]
    condition: Expr = TRUE
    bands: tuple[Band, ...] = ()


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
        first, second = (s.upto(p.group, at) - p.number for s, p in zip(sides.turns, self.parts, strict=True))
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
    wider, among = (sides.turns[0].given.count, sides.turns[1].given.count), every
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
        coming = sides.turns[i].coming(room)
        if coming is not None:
            pairs = _met_by(sides, i, *coming, (low, high), room, total)
            total += len(pairs)
            yield pairs


def _met_by(
    sides: Sides, i: int, rows: Numbered, at: Ints, apart: tuple[int, int], room: Room, total: int
) -> Pairs:
    """Those of ``rows`` of input ``i``, which come ``at`` these instants."""
    side, other, (low, high) = sides.turns[i], sides.turns[1 - i], apart
    behind = side.upto(rows.group, at) - rows.number
    if (behind >= high).any():
        some = np.flatnonzero(behind < high)
        rows, at, behind = rows.take(some), at[some], behind[some]

    def numbers(group: Ints, k: Ints) -> tuple[Ints, Ints]:
        newest, last = other.upto(group, at[k]), other.upto(group, at[k], before=i == 0)
        if low:
            last = np.where(behind[k] < low, np.minimum(last, newest - low), last)
        return newest - min(other.given.count, high) + 1, last

    return _partners(sides, i, rows, at, numbers, room, total)


def ending(sides: Sides, counts: Counts, low: int, room: Room) -> Iterator[Pairs]:
    """Pairs that leave windows of ``counts`` in this turn, without those that began in it at least ``low`` rows apart:
    these were given with their ends. One whose parts leave at one instant is found by the second."""
    for i in (0, 1):
        side, other = sides.turns[i], sides.turns[1 - i]
        some = low > 0 or (side.rows.chunks and other.rows.chunks)
        rows = side.leaving(counts[i], room, low > 0) if some else None
        if rows is not None:
            pairs = _ended_by(sides, i, rows, counts, low, room)
            yield _begun_before(sides, pairs, low) if low else pairs


def _ended_by(sides: Sides, i: int, rows: Numbered, counts: Counts, low: int, room: Room) -> Pairs:
    """Those that ``rows`` of input ``i`` end, which are pushed out."""
    side, other = sides.turns[i], sides.turns[1 - i]
    at, came = side.moment(rows.group, rows.number + counts[i]), side.moment(rows.group, rows.number)
    # a partner that comes when ``low`` rows have come after a row begins a pair that is so far apart
    until = np.minimum(at, side.moment(rows.group, rows.number + low) if low else came)

    def numbers(group: Ints, k: Ints) -> tuple[Ints, Ints]:
        first = other.upto(group, at[k], before=i == 1) - counts[1 - i] + 1
        if low:
            first = np.where(came[k] > NEVER, np.maximum(first, other.upto(group, came[k]) - low + 1), first)
        return first, other.upto(group, until[k], before=True)

    return _partners(sides, i, rows, at, numbers, room, new=low > 0)


def _begun_before(sides: Sides, pairs: Pairs, low: int) -> Pairs:
    """Those that began before this turn, or less than ``low`` rows apart (and at all: a row that is pushed out as it
    comes begins none)."""
    first, second = (s.moment(p.group, p.number) for s, p in zip(sides.turns, pairs.parts, strict=True))
    began = np.maximum(first, second)
    near = np.maximum(*pairs.apart(sides, began)) < low
    return pairs.where((began < pairs.at) & (near | (began == NEVER)))


def holding(sides: Sides, counts: Counts, at: int, room: Room) -> Pairs:
    """The pairs in windows of ``counts`` before this turn, as beginning ``at`` an instant."""
    side, other = sides.turns
    rows = side.held(counts[0])
    if not len(rows):
        return Pairs.concat([])
    return _partners(
        sides, 0, rows, np.full(len(rows), at),
        lambda group, k: (other.had[group] - counts[1] + 1, other.had[group]), room, new=False,
    )  # fmt: skip


def _partners(
    sides: Sides, i: int, rows: Numbered, at: Ints, numbers: Numbers, room: Room, total: int = 0, new: bool = True
) -> Pairs:
    """Rows of input ``i`` with those of the other that are pairs with them and have such ``numbers``; ``new``: those
    that come in this step, too. Where the key does not say of which partition partners are, all with the key are looked
    at: their own partitions say whether they are near enough."""
    side, other = sides.turns[i], sides.turns[1 - i]
    every = np.arange(len(rows))
    group = other.partitions_of(rows, side) if other.given.partition_known else None
    near = (np.full(len(rows), -ANY), np.full(len(rows), ANY)) if group is None else numbers(group, every)
    wanted = Wanted(side.rows.hashes(rows), near, _band(sides, i, rows))
    asked, partners = other.rows.with_keys(wanted, group, room, total, new)
    own = rows.take(asked)
    some = _fulfil(sides, i, own, partners)
    if some is not None:
        asked, own, partners = asked[some], own.take(some), partners.take(some)
    if group is None and len(asked):
        partners = other.in_partitions(partners)
        low, high = numbers(partners.group, asked)
        some = np.flatnonzero((low <= partners.number) & (partners.number <= high))
        asked, own, partners = asked[some], own.take(some), partners.take(some)
    return Pairs((own, partners) if i == 0 else (partners, own), at[asked])


def _band(sides: Sides, i: int, rows: Numbered) -> InBand | None:
    """What rows of input ``i`` ask the other's sorted column for; None where it has none."""
    side, other = sides.turns[i].rows, sides.turns[1 - i].given
    if not other.sorted_by:
        return None
    bands = [b for b in sides.bands if b.column == other.sorted_by[0]]
    limits = limits_of(bands, lambda b: side.columns(rows, [b.other]).column(0), len(rows))
    return InBand(0, limits)


def _fulfil(sides: Sides, i: int, own: Numbered, partners: Numbered) -> Ints | None:
    """Which rows of input ``i`` and of the other whose hashes are equal are pairs (None: all): those whose keys are
    equal and that fulfil the condition."""
    side, other = sides.turns[i].rows, sides.turns[1 - i].rows
    same = np.ones(len(own), np.bool_)
    if not exact([side.schema.field(k).type for k in side.given.keys]) and len(own):
        for left, right in zip(side.keys(own), other.keys(partners), strict=True):
            same &= columns_equal(left, right)
    if sides.condition != TRUE and len(own):
        used = {c.name for c in columns_of(sides.condition)}
        parts = [s.columns(r, [n for n in s.schema.names if n in used]) for s, r in ((side, own), (other, partners))]
        arrays, names = ([x for p in parts for x in of(p)] for of in (lambda p: p.columns, lambda p: p.schema.names))
        same &= predicate_mask(sides.condition, pa.RecordBatch.from_arrays(arrays, names=names))
    return None if same.all() else np.flatnonzero(same)
