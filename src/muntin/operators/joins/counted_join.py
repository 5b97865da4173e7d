"""A join of two windows of rows for queries whose windows differ in size (Hammad et al., 2.1.2: windows as counts).

Pairs are found once, for the largest windows. How far apart a pair is counts rows: a pair begins in windows of n and m
rows iff by then fewer than n rows of its first part's partition have come after that part, and fewer than m after the
other. It ends when one of the two is pushed out, which other rows decide; so each window's ends are looked for when its
rows are pushed out, among the partners that it still holds then: that finds just the pairs that end. A pair that begins
and ends within a step is given with its end, and nothing is looked for.

Where the join is done slice by slice (``slices``), a slice holds the pairs that begin so many rows apart. They go to
all windows that hold them, of which those whose own slice is behind get them without ends: that slice's turn finds
them.

Cost of a step: the new rows and their pairs in the largest windows, once; for each window a look-up for each row that
it pushes out, and its own results. Without keys and ranges (a nested loop) a look-up goes through the other window.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch, all_plus, unending
from muntin.operators.context import Context
from muntin.operators.joins.counted_pairs import Counts, Pairs, Sides, beginning, ending, holding
from muntin.operators.joins.counted_rows import CountedInput, CountedRows
from muntin.operators.joins.counted_turn import CountedTurn
from muntin.operators.joins.gather import Ints, gather
from muntin.operators.joins.join_graph import Band
from muntin.operators.joins.room import Room
from muntin.operators.joins.slices import Slices, in_turns, words_of
from muntin.operators.naming import combined
from muntin.operators.operator import Described, Show
from muntin.optimizer.plan_text import window_text
from muntin.plan.exprs import TRUE, Expr, conjunction, conjuncts
from muntin.plan.patterns import Pattern
from muntin.plan.windows import Rows
from muntin.state.shard_state import ShardState

Inputs = tuple[CountedRows, CountedRows]

NOBODY: Counts = (0, 0)
"""In place of a window that nobody reads any more: no pair is ever in it."""


@dataclass(frozen=True)
class CountedJoin(Described):
    """Pairs of rows with equal keys (none: any) in windows of the latest rows, for each of ``windows`` (rows of the
    first and the second input's).

    In: rows of unbounded streams, in order, those of a partition on one shard, or all on every shard. Out: the shown
    columns of both inputs, and the place of the window, by which the rows are ordered; signed: a pair with its end
    where that comes in the same step, else a negative tuple when one part is pushed out.
    """

    inputs: tuple[CountedInput, CountedInput]
    windows: tuple[Counts, ...]
    slices: Slices | None = None
    """Those that it is done in, which end with windows by their larger size (None: it is done whole)."""
    condition: Expr = TRUE
    """What pairs fulfil beside equal keys, over the columns of both inputs."""
    bands: tuple[Band, ...] = ()
    """Ranges that follow from it, in both directions, of columns by which the inputs are sorted."""

    stateful = True

    def identity(self) -> CountedJoin:
        """The join whatever windows are read of it: what it keeps is for the largest of them. (Slices end where windows
        do.)"""
        return replace(self, windows=()) if self.slices is None else self

    def read_in(self, places: Collection[int]) -> CountedJoin:
        """The join where only the windows at these places are read."""
        return replace(self, windows=tuple(w if n in places else NOBODY for n, w in enumerate(self.windows)))

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        return counted_join(self, inputs, state, ctx)

    def current(self, inputs: Sequence[Batch], state: ShardState, at: int, ctx: Context) -> Batch:
        """The pairs of the rows that each window holds. Cost: the rows that are kept, for each window."""
        rows = _rows(self, inputs, state, ctx)
        sides = _sides(self, rows, at + 1, at + 1)
        held = [holding(sides, w, at, _TimedRoom(sides, ctx)) for w in self.windows]
        return _result(rows, [_Changes.begins(n, p, unending(len(p))) for n, p in enumerate(held)])

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """Later rows decide when one leaves."""
        return Pattern.STR

    def words(self, show: Show) -> str:
        first, second = self.inputs
        on = "; ".join(f"{a} = {b}" for a, b in zip(show.columns(first.keys), show.columns(second.keys), strict=True))
        on = "; ".join(x for x in (on, "" if self.condition == TRUE else show(self.condition)) if x)
        kept = conjunction([c for i in self.inputs for c in conjuncts(i.keep)])
        keep = "" if kept == TRUE else f", keep {show(kept)}"
        sizes = "; ".join(self.window_text(w, show) for w in self.windows if w != NOBODY)
        on = f"join their windows on {on or 'nothing (cross product)'}"
        return f"number the rows{keep}, and {on}: {sizes}{words_of(self.slices)}"

    def keeps(self, inputs: Sequence[Pattern], show: Show) -> str:
        kinds = dict.fromkeys(
            f"sorted({show.column(i.sorted_by[0])})" if i.sorted_by else "hash-indexed" if i.keys else "scanned"
            for i in self.inputs
        )
        of = self.window_text(self.longest, show)
        return f"the last rows of each partition, numbered, {', '.join(kinds)}, for {of}"

    @property
    def longest(self) -> Counts:
        """The sizes for which rows are kept."""
        return self.inputs[0].count, self.inputs[1].count

    def window_text(self, counts: Counts, show: Show) -> str:
        """Windows of so many rows, in words."""
        both = zip(self.inputs, counts, strict=True)
        windows = (Rows(n, i.slide if i.slide > 1 else None, show.columns(i.by)) for i, n in both)
        return " and ".join(map(window_text, windows))


class _TimedRoom(Room):
    """As ``Room``, where windows do not tell when rows come."""

    def __init__(self, sides: Sides, ctx: Context) -> None:
        super().__init__([], ctx)
        self._times = np.sort(np.concatenate([s.start for s in sides.turns]))

    def middle(self) -> int | None:
        """A time inside the turn with about half of its rows before it; None if all come at one instant."""
        times = self._times
        later = times[times > times[0]] if len(times) else times
        return None if len(later) == 0 else max(int(times[len(times) // 2]), int(later[0]))


@dataclass(frozen=True)
class _Changes:
    """Pairs that begin or end in window number ``place``; when they end if that is known."""

    place: int
    pairs: Pairs
    exp: Ints
    sign: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.pairs)

    @staticmethod
    def begins(place: int, pairs: Pairs, exp: Ints) -> _Changes:
        return _Changes(place, pairs, exp, all_plus(len(pairs)))

    @staticmethod
    def ends(place: int, pairs: Pairs) -> _Changes:
        """Negative tuples of pairs that end."""
        return _Changes(place, pairs, unending(len(pairs)), np.full(len(pairs), -1, np.int8))


def counted_join(op: CountedJoin, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
    """One step of the join."""
    rows = _rows(op, inputs, state, ctx)
    changes, _, done = in_turns(op.slices, state, ctx, lambda turn: _turn(op, rows, state, turn))
    out = _result(rows, changes)
    for own in rows:
        own.save(done.high)
    return out


def _rows(op: CountedJoin, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Inputs:
    batches = combined(inputs)
    first, second = (CountedRows(op.inputs[i], i, state, batches[i], ctx) for i in (0, 1))
    return first, second


def _sides(op: CountedJoin, rows: Inputs, since: int, before: int) -> Sides:
    return Sides((CountedTurn(rows[0], since, before), CountedTurn(rows[1], since, before)), op.condition, op.bands)


def _turn(op: CountedJoin, rows: Inputs, state: ShardState, turn: Context) -> list[_Changes]:
    """What a turn gives: the pairs that begin in it to each window that holds them, and the ends of windows that are no
    larger than its slices."""
    low, high = (0, max(op.longest)) if turn.apart is None else turn.apart
    sides = _sides(op, rows, turn.low, turn.high)
    room, places = _TimedRoom(sides, turn), [n for n, w in enumerate(op.windows) if max(w) > low]
    pairs, held = beginning(sides, [op.windows[n] for n in places], low, high, room)
    own = [n for n in places if max(op.windows[n]) <= high]
    ended = {n: Pairs.concat(list(ending(sides, op.windows[n], low, room))) for n in own}
    room.check(sum(map(len, held)) + sum(map(len, ended.values())))
    changes = []
    for n, index in zip(places, held, strict=True):
        begun = pairs.take(index)
        changes.append(_Changes.begins(n, begun, _ends(sides, op.windows[n], begun, n in ended)))
        if n in ended:
            changes.append(_Changes.ends(n, ended[n]))
    state.looked += room.looked
    return changes


def _ends(sides: Sides, counts: Counts, pairs: Pairs, known: bool) -> Ints:
    """When pairs that begin leave windows of ``counts``, if that is in this turn, of which the windows' own slice is
    (``known``): else that slice's turn says so."""
    if not known:
        return unending(len(pairs))
    first, second = (s.moment(p.group, p.number + n) for s, p, n in zip(sides.turns, pairs.parts, counts, strict=True))
    return np.minimum(first, second)


def _result(rows: Inputs, found: Sequence[_Changes]) -> Batch:
    """What begins and what ends in each window, window after window, each row written once."""
    none = _Changes.ends(0, Pairs.concat([]))
    changes = sorted([none, *found], key=lambda c: c.place)
    whole = Pairs.concat([c.pairs for c in changes])
    place = np.repeat(np.array([c.place for c in changes], np.int32), [len(c) for c in changes])
    if len(whole):
        columns = [
            c for s, p in zip(rows, whole.parts, strict=True) for c in gather(p.refs, s.window, s.schema.names).columns
        ]
    else:
        columns = [pa.array([], f.type) for s in rows for f in s.schema]
    columns.append(pa.array(place))
    named = pa.RecordBatch.from_arrays(columns, names=[f"c{n}" for n in range(len(columns))])
    exp, sign = (np.concatenate(x) for x in zip(*((c.exp, c.sign) for c in changes), strict=True))
    return Batch(named, whole.at, exp, sign)
