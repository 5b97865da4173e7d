"""One input of a join of windows of rows: rows are numbered by partition and kept once, as the largest window needs.

A row is found by its key and its number, and by its partition and its number. In a window of n rows it is from when it
comes until row number + n of its partition does; so whoever knows how many rows of a partition had come at an instant
knows which rows were in which window then, and no row need be marked or rewritten to leave. State: rows by partition
(``state.keyed_table``), and the rows that the largest window holds, in runs (``state.runs``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch, concat_rows, no_columns
from muntin.core.time import FOREVER, NEVER
from muntin.kernels.hashing import exact, hash_columns
from muntin.kernels.keys import columns_equal
from muntin.kernels.spans import probe_spans
from muntin.operators.context import Context
from muntin.operators.joins.gather import Refs, gather
from muntin.operators.joins.indexed_window import HASH, Layout, OpenChunk, rebuilder, store_rows
from muntin.operators.joins.room import Room
from muntin.operators.rows_window import rank_within, released
from muntin.plan.exprs import TRUE, Expr
from muntin.scalars.evaluate import predicate_mask
from muntin.state.keyed_table import KeyedTable
from muntin.state.runs import add_run
from muntin.state.shard_state import ShardState
from muntin.state.window_rows import EXP, START, bounds, insert, int64s, timed

Ints = NDArray[np.int64]

_PLACE = "__f"
"""Of a row that came in this step: its place among those."""


@dataclass(frozen=True)
class CountedInput:
    """What a join does with an input. ``keys``: the columns that are joined; ``by``: those that say the partition,
    which are among them; ``order``: the one that orders rows of one instant (None, and for its ties: as they arrive);
    ``keep``: what rows must fulfil to be joined, though all are numbered; ``count``: rows of the largest window."""

    keys: tuple[str, ...]
    by: tuple[str, ...]
    order: str | None
    keep: Expr
    count: int

    @property
    def layout(self) -> Layout:
        """By key, and by partition where that is not the same."""
        return Layout((self.keys,) if self.by == self.keys else (self.keys, self.by))

    @property
    def partition_index(self) -> int:
        """The number of the index by partition."""
        return 0 if self.by == self.keys else 1


@dataclass(frozen=True)
class Numbered:
    """Some rows of an input: where they are, their partitions and numbers."""

    refs: Refs
    group: Ints
    number: Ints

    def __len__(self) -> int:
        return len(self.number)

    def take(self, index: Ints) -> Numbered:
        """Those at ``index``."""
        return Numbered(self.refs.take(index), self.group[index], self.number[index])

    @staticmethod
    def concat(parts: Sequence[Numbered]) -> Numbered:
        """All of them (none: no rows)."""
        if not parts:
            none = np.empty(0, np.int64)
            return Numbered(Refs(none, none), none, none)
        return Numbered(
            Refs.concat([p.refs for p in parts]),
            np.concatenate([p.group for p in parts]),
            np.concatenate([p.number for p in parts]),
        )


class CountedRows:
    """The rows of an input in one step: those that it had (``chunks``) and those that come (``fresh``, in order).

    Partitions are ids of this step. ``upto`` and ``moment`` cost a bisection in the rows that come.
    """

    def __init__(self, given: CountedInput, number: int, state: ShardState, batch: Batch, ctx: Context) -> None:
        self.given, self._state, self._name = given, state, f"in{number}"
        self.fresh = released(given.order, state, f"waiting{number}", batch, ctx)
        self.start = int64s(self.fresh, START)
        self.schema = batch.columns.schema
        self._keys = pa.schema([self.schema.field(n) for n in given.by])
        self._partitions = f"partitions{number}"
        self._table = KeyedTable(state, self._partitions, self._keys)
        self.group = self._table.ids_of(_of(self.fresh, given.by), self.fresh.num_rows)
        self._count()
        self.number = self.had[self.group] + rank_within(self.group) + 1
        order = np.argsort(self.group, kind="stable")
        self._times = self.start[order]
        self._instants = np.unique(self.start)
        self._by_group = self._at(self.group[order], np.searchsorted(self._instants, self._times))
        self.chunks = [OpenChunk(c) for c in state.list(self._name)]
        self.new = self._indexed()

    def _count(self) -> None:
        self.had = self._table.counter("rows")
        came = np.bincount(self.group, minlength=len(self.had))
        self.has, self._begin = self.had + came, np.cumsum(came) - came

    def _at(self, group: Ints, instant: Ints) -> Ints:
        """One number for a partition and the place of an instant, in their order."""
        return group * (len(self._instants) + 1) + instant

    def partitions_of(self, rows: Numbered, other: CountedRows) -> Ints:
        """The partitions of rows of the other input, as this one is partitioned by what is joined."""
        if not self.given.by:
            return np.zeros(len(rows), np.int64)
        theirs = [other.given.keys[self.given.keys.index(n)] for n in self.given.by]
        columns = gather(rows.refs, other.window, theirs).columns
        found = self._table.ids_of(pa.RecordBatch.from_arrays(columns, schema=self._keys), len(rows))
        self._count()
        return found

    def upto(self, group: Ints, at: Ints, before: bool = False) -> Ints:
        """How many rows of the partitions had come at the instants (``before``: before them)."""
        instants = np.searchsorted(self._instants, at, side="left" if before else "right")
        here = np.searchsorted(self._by_group, self._at(group, instants)) - self._begin[group]
        return self.had[group] + here

    def moment(self, group: Ints, number: Ints) -> Ints:
        """When row ``number`` of each partition came: FOREVER if it has not, NEVER if before this step."""
        here = (number > self.had[group]) & (number <= self.has[group])
        place = np.where(here, self._begin[group] + number - self.had[group] - 1, 0)
        times = self._times[place] if len(self._times) else np.zeros(len(place), np.int64)
        return np.where(here, times, np.where(number > self.has[group], FOREVER, NEVER))

    def _indexed(self) -> OpenChunk | None:
        """The rows that come and are in the largest window at their own instant, entered as they are kept; None where
        there are none."""
        alive = np.flatnonzero(self.number + self.given.count > self.upto(self.group, self.start))
        if self.given.keep != TRUE and len(alive):
            alive = alive[predicate_mask(self.given.keep, self.fresh.take(pa.array(alive)))]
        if len(alive) == 0:
            return None
        rows = self.fresh.select(self.schema.names).take(pa.array(alive)).append_column(_PLACE, pa.array(alive))
        scratch, number = ShardState(), self.number[alive]
        store_rows(scratch, "new", Batch(rows, number, number + self.given.count), self.given.layout)
        return OpenChunk(scratch.list("new")[0])

    @property
    def window(self) -> list[OpenChunk]:
        """All rows that may be found, the new ones last."""
        return self.chunks if self.new is None else [*self.chunks, self.new]

    def coming(self) -> tuple[Numbered, Ints] | None:
        """The rows of ``new``, and when they come."""
        if self.new is None:
            return None
        place, number = int64s(self.new.rows, _PLACE), int64s(self.new.rows, START)
        refs = Refs(np.full(len(place), len(self.chunks)), np.arange(len(place)))
        return Numbered(refs, self.group[place], number), self.start[place]

    def leaving(self, count: int, room: Room) -> Numbered | None:
        """The rows that this step pushes out of a window of ``count``, of those that came before it; None for none."""
        group = np.unique(self.group)
        low, high = self.had[group] - count + 1, np.minimum(self.has[group] - count, self.had[group])
        keys = self._table.keys
        hashes = hash_columns(keys.columns, keys.num_rows)[group]
        asked, refs, number = self._between(self.chunks, self.given.partition_index, hashes, (low, high), room)
        if len(asked) == 0:
            return None
        if not exact([f.type for f in self._keys]) or any(c.null_count for c in keys.columns):
            found, wanted = gather(refs, self.chunks, self.given.by), keys.take(pa.array(group[asked]))
            same = np.ones(len(asked), np.bool_)
            for name in self.given.by:
                same &= columns_equal(found.column(name), wanted.column(name))
            asked, refs, number = asked[same], refs.take(np.flatnonzero(same)), number[same]
        return Numbered(refs, group[asked], number) if len(asked) else None

    def held(self, count: int) -> Numbered:
        """The rows that are in a window of ``count`` before this step. Cost: all rows that are kept."""
        found = []
        for place, chunk in enumerate(self.chunks):
            group = self._table.ids_of(_of(chunk.rows, self.given.by), chunk.rows.num_rows)
            number = int64s(chunk.rows, START)
            self._count()
            rows = np.flatnonzero(number > self.had[group] - count)
            found.append(Numbered(Refs(np.full(len(rows), place), rows), group[rows], number[rows]))
        return Numbered.concat(found)

    def with_keys(
        self, hashes: Ints, group: Ints, numbers: tuple[Ints, Ints], room: Room, total: int = 0, new: bool = True
    ) -> tuple[Ints, Numbered]:
        """Rows with keys of these ``hashes``, of the partitions ``group``, whose numbers are in closed ranges, and for
        which of those asked for each is; ``new``: those that come in this step, too; ``total``: pairs that there are
        already."""
        window = self.window if new else self.chunks
        asked, refs, number = self._between(window, 0, hashes, numbers, room, total)
        return asked, Numbered(refs, group[asked], number)

    def _between(
        self,
        window: Sequence[OpenChunk],
        index: int,
        hashes: Ints,
        numbers: tuple[Ints, Ints],
        room: Room,
        total: int = 0,
    ) -> tuple[Ints, Refs, Ints]:
        """Rows by an index: which of those asked for each is for, where it is, its number."""
        low, high = numbers
        some = np.flatnonzero(low <= high)
        # a row is kept as an interval of numbers, from its own to the one that pushes it out of the largest window
        side = (hashes[some], low[some] + self.given.count - 1, high[some] + 1)
        found: list[tuple[Ints, Ints, Ints, Ints]] = []
        least, most = (int(low[some].min()), int(high[some].max())) if len(some) else (0, -1)
        for number, chunk in enumerate(window):
            if chunk.meta["max_start"] < least or chunk.meta["min_start"] > most:
                continue
            other, directory = chunk.probe_side(index), chunk.directory(index)
            spans = room.spans(partial(probe_spans, side, other, directory, FOREVER, True), before=total)
            total += spans.pairs
            places = spans.pair_partners()
            rows = chunk.row_numbers(index, places)
            found.append((some[spans.pair_rows()], np.full(len(rows), number), rows, other[1][places]))
        if not found:
            none = np.empty(0, np.int64)
            return none, Refs(none, none), none
        asked, chunks, rows, own = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return asked, Refs(chunks, rows), own

    def hashes(self, rows: Numbered) -> Ints:
        """The hashes of the rows' keys."""
        return int64s(gather(rows.refs, self.window, [HASH]), HASH)

    def keys(self, rows: Numbered) -> list[pa.Array]:
        """The rows' keys."""
        return list(gather(rows.refs, self.window, self.given.keys).columns)

    def save(self) -> None:
        """Keep what the next step needs: the counts of rows, and those of the new rows that are still in the largest
        window."""
        touched = np.unique(self.group)
        self.had[touched], self._table.live[touched] = self.has[touched], 1
        self._table.save(touched)
        given, state = self.given, self._state
        if not given.by:
            state.keep(self._name, lambda c: c.meta["max_exp"] > self.has[0])
        if self.new is not None:
            place = int64s(self.new.rows, _PLACE)
            stays = self.number[place] + given.count > self.has[self.group[place]]
            rows = self.new.rows.drop_columns([_PLACE])
            staying = rows if stays.all() else self._again(rows.take(pa.array(np.flatnonzero(stays))))
            if staying.num_rows:
                add_run(state, self._name, staying, self._merged, bounds)

    def _again(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Rows of which some have gone, entered anew."""
        if rows.num_rows == 0:
            return rows
        return rebuilder(self.given.layout, self.schema.names)(rows)

    def _merged(self, runs: list[pa.RecordBatch], every: bool) -> pa.RecordBatch:
        """Several runs as one, without rows that have left the largest window."""
        names = [*self.schema.names, START, EXP]
        whole = concat_rows([r.select(names) for r in runs])
        table = KeyedTable(self._state, self._partitions, self._keys)
        group = table.ids_of(_of(whole, self.given.by), whole.num_rows)
        left = int64s(whole, EXP) <= table.counter("rows")[group]
        return self._again(whole.take(pa.array(np.flatnonzero(~left))))


def begin_counted(
    given: CountedInput, number: int, state: ShardState, partitions: tuple[pa.RecordBatch, Ints],
    numbered: tuple[pa.RecordBatch, Ints], ahead: Batch,
) -> None:  # fmt: skip
    """Let an empty state of input ``number`` go on where one is that has had these rows. ``partitions``: keys, and how
    many rows each has had; ``numbered``: the last rows of each at least, with their numbers; ``ahead``: rows whose
    instant is to come."""
    (keys, had), (rows, own) = partitions, numbered
    table = KeyedTable(state, f"partitions{number}", keys.schema)
    ids = table.ids_of(keys, len(had))
    table.counter("rows")[ids], table.live[:] = had, 1
    table.save(ids)
    if len(ahead):
        insert(state, f"waiting{number}", timed(ahead.columns, ahead.ts, ahead.exp))
    group = table.ids_of(_of(rows, given.by), rows.num_rows)
    stays = own + given.count > table.counter("rows")[group]
    if given.keep != TRUE and len(stays):
        stays &= predicate_mask(given.keep, rows)
    place = np.flatnonzero(stays)
    if len(place):
        kept = timed(rows.take(pa.array(place)), own[place], own[place] + given.count)
        entered = rebuilder(given.layout, rows.schema.names)(kept)
        state.append(f"in{number}", entered, **bounds(entered))


def _of(rows: pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
    return rows.select(list(names)) if names else no_columns(rows.num_rows)
