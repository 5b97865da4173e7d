"""A join of two windows of rows for queries whose windows differ in size (Hammad et al., 2.1.2: windows as counts).

Pairs are found once, for the largest windows. How far apart a pair is counts rows: a pair begins in windows of n and m
rows iff by then fewer than n rows of its first part's partition have come after that part, and fewer than m after the
other. It ends when one of the two is pushed out, which other rows decide; so each window's ends are looked for when its
rows are pushed out, among the partners that it still holds then: that finds just the pairs that end. A pair that begins
and ends within a step is given with its end, and nothing is looked for.
Cost of a step: the new rows and their pairs in the largest windows, once; for each window a look-up for each row that
it pushes out, and its own results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch, all_plus, unending
from muntin.kernels.hashing import exact
from muntin.kernels.keys import columns_equal
from muntin.operators.context import Context
from muntin.operators.joins.counted_rows import CountedInput, CountedRows, Numbered
from muntin.operators.joins.gather import Ints, gather
from muntin.operators.joins.room import Room
from muntin.operators.naming import combined
from muntin.operators.operator import Described, Show
from muntin.optimizer.plan_text import window_text
from muntin.plan.exprs import TRUE, conjunction, conjuncts
from muntin.plan.patterns import Pattern
from muntin.plan.windows import Rows
from muntin.state.shard_state import ShardState

Counts = tuple[int, int]
"""Rows of a window on each input."""


@dataclass(frozen=True)
class CountedJoin(Described):
    """Pairs of rows with equal keys in windows of the latest rows, for each of ``windows`` (rows of the first and the
    second input's).

    In: rows of unbounded streams, in order, those of a partition on one shard. Out: the shown columns of both inputs,
    and the place of the window, by which the rows are ordered; signed: a pair with its end where that comes in the same
    step, else a negative tuple when one part is pushed out.
    """

    inputs: tuple[CountedInput, CountedInput]
    windows: tuple[Counts, ...]

    stateful = True

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        return counted_join(self, inputs, state, ctx)

    def current(self, inputs: Sequence[Batch], state: ShardState, at: int, ctx: Context) -> Batch:
        """The pairs of the rows that each window holds. Cost: the rows that are kept, for each window."""
        batches = combined(inputs)
        first, second = (CountedRows(self.inputs[i], i, state, batches[i], ctx) for i in (0, 1))
        sides, room = (first, second), _TimedRoom((first, second), ctx)
        held = [_held(sides, w, at, room) for w in self.windows]
        none = _Changes.ends(_Pairs.concat([]))
        return _result(sides, [c for p in held for c in (_Changes(p, unending(len(p)), all_plus(len(p))), none)])

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """Later rows decide when one leaves."""
        return Pattern.STR

    def words(self, show: Show) -> str:
        first, second = self.inputs
        on = "; ".join(f"{a} = {b}" for a, b in zip(show.columns(first.keys), show.columns(second.keys), strict=True))
        kept = conjunction([c for i in self.inputs for c in conjuncts(i.keep)])
        keep = "" if kept == TRUE else f", keep {show(kept)}"
        sizes = "; ".join(self.window_text(w, show) for w in self.windows)
        return f"number the rows{keep}, and join their windows on {on}: {sizes}"

    def keeps(self, inputs: Sequence[Pattern], show: Show) -> str:
        return f"the last rows of each partition, numbered, hash-indexed, for {self.window_text(self.longest, show)}"

    @property
    def longest(self) -> Counts:
        """The sizes for which rows are kept."""
        return self.inputs[0].count, self.inputs[1].count

    def window_text(self, counts: Counts, show: Show) -> str:
        """Windows of so many rows, in words."""
        both = zip(self.inputs, counts, strict=True)
        return " and ".join(window_text(Rows(n, None, show.columns(given.by))) for given, n in both)


@dataclass(frozen=True)
class _Pairs:
    """Pairs of rows, and the instant of each: when it begins, or ends."""

    parts: tuple[Numbered, Numbered]
    at: Ints

    def __len__(self) -> int:
        return len(self.at)

    def take(self, index: Ints) -> _Pairs:
        """Those at ``index``."""
        return _Pairs((self.parts[0].take(index), self.parts[1].take(index)), self.at[index])

    @staticmethod
    def concat(found: Sequence[_Pairs]) -> _Pairs:
        """All of them (none: no pairs)."""
        first, second = (Numbered.concat([p.parts[i] for p in found]) for i in (0, 1))
        return _Pairs((first, second), np.concatenate([np.empty(0, np.int64), *(p.at for p in found)]))


class _TimedRoom(Room):
    """As ``Room``, where windows do not tell when rows come."""

    def __init__(self, sides: Sequence[CountedRows], ctx: Context) -> None:
        super().__init__([], ctx)
        self._times = np.sort(np.concatenate([s.start for s in sides]))

    def middle(self) -> int | None:
        """A time inside the step with about half of the new rows before it; None if all come at one instant."""
        times = self._times
        later = times[times > times[0]] if len(times) else times
        return None if len(later) == 0 else max(int(times[len(times) // 2]), int(later[0]))


Sides = tuple[CountedRows, CountedRows]


def counted_join(op: CountedJoin, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
    """One step of the join."""
    batches = combined(inputs)
    first, second = (CountedRows(op.inputs[i], i, state, batches[i], ctx) for i in (0, 1))
    sides, room = (first, second), _TimedRoom((first, second), ctx)
    pairs, held = _beginning(op, sides, room)
    ended = [_Pairs.concat(list(_ending(sides, w, room))) for w in op.windows]
    room.check(sum(map(len, held)) + sum(map(len, ended)))
    changes = []
    for counts, index, gone in zip(op.windows, held, ended, strict=True):
        changes += [_Changes.begins(sides, counts, pairs.take(index)), _Changes.ends(gone)]
    state.looked += room.looked
    out = _result(sides, changes)
    for side in sides:
        side.save()
    return out


def _beginning(op: CountedJoin, sides: Sides, room: Room) -> tuple[_Pairs, list[Ints]]:
    """The pairs that begin in this step in some window, and which of them do in each."""
    pairs = _Pairs.concat(list(_met(sides, room)))
    behind = [s.upto(p.group, pairs.at) - p.number for s, p in zip(sides, pairs.parts, strict=True)]
    every = np.arange(len(pairs))
    inside, held = np.zeros(len(pairs), np.bool_), {}
    wider, among = op.longest, every
    for w in sorted(op.windows, reverse=True):  # where one holds the next, that looks at its pairs alone
        if w[0] > wider[0] or w[1] > wider[1]:
            among = every
        among = among[(behind[0][among] < w[0]) & (behind[1][among] < w[1])]
        wider, held[w] = w, among
        inside[among] = True
    if inside.all():
        return pairs, [held[w] for w in op.windows]
    place = np.cumsum(inside) - 1
    return pairs.take(np.flatnonzero(inside)), [place[held[w]] for w in op.windows]


def _met(sides: Sides, room: Room) -> Iterator[_Pairs]:
    """Pairs that begin in the largest windows: new rows of an input with the rows of the other that are in its window
    when they come; of two that come at one instant the second's row finds the first's."""
    total = 0
    for i in (0, 1):
        side, other = sides[i], sides[1 - i]
        coming = side.coming()
        if coming is None:
            continue
        rows, at = coming
        groups = other.partitions_of(rows, side)
        low = other.upto(groups, at) - other.given.count + 1
        high = other.upto(groups, at, before=i == 0)
        asked, partners = other.with_keys(side.hashes(rows), groups, (low, high), room, total)
        total += len(asked)
        yield _paired(sides, i, rows.take(asked), partners, at[asked])


def _ending(sides: Sides, counts: Counts, room: Room) -> Iterator[_Pairs]:
    """Pairs that were in windows of ``counts`` before this step and leave in it. One whose parts leave at one instant
    is found by the second."""
    for i in (0, 1):
        side, other = sides[i], sides[1 - i]
        rows = side.leaving(counts[i], room) if side.chunks and other.chunks else None
        if rows is None:
            continue
        at = side.moment(rows.group, rows.number + counts[i])
        groups = other.partitions_of(rows, side)
        low = other.upto(groups, at, before=i == 1) - counts[1 - i] + 1
        asked, partners = other.with_keys(side.hashes(rows), groups, (low, other.had[groups]), room, new=False)
        yield _paired(sides, i, rows.take(asked), partners, at[asked])


def _paired(sides: Sides, i: int, own: Numbered, partners: Numbered, at: Ints) -> _Pairs:
    """Rows of input ``i`` and of the other whose hashes are equal as pairs, if their keys are."""
    side, other = sides[i], sides[1 - i]
    pairs = _Pairs((own, partners) if i == 0 else (partners, own), at)
    if exact([side.schema.field(k).type for k in side.given.keys]) or len(pairs) == 0:
        return pairs
    same = np.ones(len(pairs), np.bool_)
    for left, right in zip(side.keys(own), other.keys(partners), strict=True):
        same &= columns_equal(left, right)
    return pairs if same.all() else pairs.take(np.flatnonzero(same))


def _held(sides: Sides, counts: Counts, at: int, room: Room) -> _Pairs:
    """The pairs in windows of ``counts``."""
    side, other = sides
    rows = side.held(counts[0])
    if not len(rows):
        return _Pairs.concat([])
    groups = other.partitions_of(rows, side)
    numbers = other.had[groups] - counts[1] + 1, other.had[groups]
    asked, partners = other.with_keys(side.hashes(rows), groups, numbers, room, new=False)
    return _paired(sides, 0, rows.take(asked), partners, np.full(len(asked), at))


@dataclass(frozen=True)
class _Changes:
    """Pairs that begin or end in a window; when they end if that is known."""

    pairs: _Pairs
    exp: Ints
    sign: NDArray[np.int8]

    @staticmethod
    def begins(sides: Sides, counts: Counts, pairs: _Pairs) -> _Changes:
        """Pairs that begin, with their end if it is in this step."""
        first, second = (
            s.moment(p.group, p.number + n) for s, p, n in zip(sides, pairs.parts, counts, strict=True)
        )
        return _Changes(pairs, np.minimum(first, second), all_plus(len(pairs)))

    @staticmethod
    def ends(pairs: _Pairs) -> _Changes:
        """Negative tuples of pairs that end."""
        return _Changes(pairs, unending(len(pairs)), np.full(len(pairs), -1, np.int8))


def _result(sides: Sides, changes: Sequence[_Changes]) -> Batch:
    """What begins and what ends in each window, window after window, each row written once."""
    whole = _Pairs.concat([c.pairs for c in changes])
    place = np.repeat(np.arange(len(changes), dtype=np.int32) // 2, [len(c.pairs) for c in changes])
    if len(whole):
        columns = [
            c for s, p in zip(sides, whole.parts, strict=True) for c in gather(p.refs, s.window, s.schema.names).columns
        ]
    else:
        columns = [pa.array([], f.type) for s in sides for f in s.schema]
    columns.append(pa.array(place))
    rows = pa.RecordBatch.from_arrays(columns, names=[f"c{n}" for n in range(len(columns))])
    exp, sign = (np.concatenate(x) for x in zip(*((c.exp, c.sign) for c in changes), strict=True))
    return Batch(rows, whole.at, exp, sign)
