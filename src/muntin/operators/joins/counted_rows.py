"""One input of a join of windows of rows: rows are numbered by partition and kept once, as the largest window needs.

A row is found by its key and its number (where nothing must be equal all rows have one key; or by a value and its
number, where that is in a range), and by its partition and its number. In a window of n rows it is from when it
comes until row number + n of its partition does; so whoever knows how many rows of a partition had come at an instant
knows which rows were in which window then, and no row need be marked or rewritten to leave. State: rows by partition
(``state.keyed_table``), and the rows that the largest window holds, in runs (``state.runs``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch, concat_rows, no_columns
from muntin.kernels.hashing import exact, hash_columns, shard_of
from muntin.kernels.keys import columns_equal
from muntin.operators.context import Context
from muntin.operators.joins.gather import Refs, gather
from muntin.operators.joins.indexed_window import HASH, Layout, OpenChunk, rebuilder, store_rows
from muntin.operators.joins.room import Room
from muntin.operators.joins.wanted_rows import Wanted
from muntin.operators.rows_window import rank_within, released
from muntin.plan.exprs import TRUE, Expr
from muntin.scalars.evaluate import predicate_mask
from muntin.state.keyed_table import KeyedTable
from muntin.state.runs import add_run
from muntin.state.shard_state import ShardState
from muntin.state.window_rows import EXP, START, bounds, insert, int64s, timed

Ints = NDArray[np.int64]

PLACE = "__f"
"""Of a row that came in this step: its place among those."""


@dataclass(frozen=True)
class CountedInput:
    """What a join does with an input. ``keys``: the columns that are joined; ``by``: those that say the partition;
    ``order``: the one that orders rows of one instant (None, and for its ties: as they arrive); ``keep``: what rows
    must fulfil to be joined, though all are numbered; ``count``: rows of the largest window.

    ``spread``: the columns by which rows are spread over shards to be joined, where every shard gets all rows to number
    them (None: all that come are joined). ``sorted_by``: columns that the join asks for ranges of. ``slide``: rows
    enter and leave when the count of their partition is a multiple of it."""

    keys: tuple[str, ...]
    by: tuple[str, ...]
    order: str | None
    keep: Expr
    count: int
    spread: tuple[str, ...] | None = None
    sorted_by: tuple[str, ...] = ()
    slide: int = 1

    @property
    def kept(self) -> int:
        """How many of the last rows of a partition may be in the largest window now or later."""
        return self.count + self.slide - 1

    @property
    def layout(self) -> Layout:
        """By key, and by partition where that is not the same."""
        return Layout((self.keys,) if self.by == self.keys else (self.keys, self.by), self.sorted_by)

    @property
    def partition_known(self) -> bool:
        """Whether the key of a row says of which partition its partners are."""
        return {*self.by} <= {*self.keys}

    def joined(self, rows: pa.RecordBatch, shard: int, shards: int) -> Ints:
        """The places of the rows that are joined on a shard."""
        place = np.arange(rows.num_rows)
        if self.keep != TRUE and len(place):
            place = np.flatnonzero(predicate_mask(self.keep, rows))
        if self.spread is None or shards == 1:
            return place
        own = [rows.column(n) for n in self.spread]
        return place[shard_of(hash_columns(own, rows.num_rows)[place], shards) == shard]

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

    Partitions are ids of this step. While a slice of the join is behind, rows stay that it still needs, and a log of
    those that have come since tells when (``logged``).
    """

    def __init__(self, given: CountedInput, number: int, state: ShardState, batch: Batch, ctx: Context) -> None:
        self.given, self._state, self._name = given, state, f"in{number}"
        self.low, self._high = ctx.low, ctx.high
        self._place = ctx.shard, ctx.shards
        self.fresh = released(given.order, state, f"waiting{number}", batch, ctx)
        self.start = int64s(self.fresh, START)
        self.schema = batch.columns.schema
        self._keys = pa.schema([self.schema.field(n) for n in given.by])
        self._partitions, self._log = f"partitions{number}", f"came{number}"
        self._table = KeyedTable(state, self._partitions, self._keys)
        self.group = self._table.ids_of(_of(self.fresh, given.by), self.fresh.num_rows)
        self.number = self.counts[self.group] + rank_within(self.group) + 1
        self.chunks = [OpenChunk(c) for c in state.list(self._name)]
        self.new = self._indexed()

    @property
    def counts(self) -> Ints:
        """How many rows of each partition had come before this step."""
        return self._table.counter("rows")

    @property
    def partitions(self) -> pa.RecordBatch:
        """The keys of the partitions, by id."""
        return self._table.keys

    def ids_of(self, columns: Sequence[pa.Array], rows: int) -> Ints:
        """The partitions of these keys; new ones get an id."""
        return self._table.ids_of(pa.RecordBatch.from_arrays(list(columns), schema=self._keys), rows)

    def logged(self, since: int) -> tuple[Ints, Ints]:
        """Partition and time of the rows that came at ``since`` or later and before this step, in order."""
        log = [c for c in self._state.list(self._log) if c.meta["max_start"] >= since] if since < self.low else []
        if not log:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        rows = concat_rows([c.load() for c in log])
        self._state.looked += rows.num_rows
        start = int64s(rows, START)
        first = int(np.searchsorted(start, since))
        return self._table.ids_of(_of(rows, self.given.by), rows.num_rows)[first:], start[first:]

    def _indexed(self) -> OpenChunk | None:
        """The rows that come and are in the largest window at their own instant, entered as they are kept; None where
        there are none."""
        instant = np.cumsum(np.diff(self.start, prepend=self.start[:1]) != 0)
        later = rank_within((self.group * (len(instant) + 1) + instant)[::-1])[::-1]
        alive = np.flatnonzero(later < self.given.kept)
        alive = alive[self.given.joined(self.fresh.take(pa.array(alive)), *self._place)]
        if len(alive) == 0:
            return None
        rows = self.fresh.select(self.schema.names).take(pa.array(alive)).append_column(PLACE, pa.array(alive))
        scratch, number = ShardState(), self.number[alive]
        store_rows(scratch, "new", Batch(rows, number, number + self.given.kept), self.given.layout)
        return OpenChunk(scratch.list("new")[0])

    @property
    def window(self) -> list[OpenChunk]:
        """All rows that may be found, the new ones last."""
        return self.chunks if self.new is None else [*self.chunks, self.new]

    def of_partitions(self, group: Ints, numbers: tuple[Ints, Ints], room: Room, new: bool = True) -> Numbered:
        """The rows of partitions whose numbers are in closed ranges; ``new``: those that come in this step, too."""
        window = self.window if new else self.chunks
        keys = self._table.keys
        hashes = hash_columns(keys.columns, keys.num_rows)[group]
        asked, refs, number = self._between(window, self.given.partition_index, Wanted(hashes, numbers), room)
        if len(asked) and (not exact([f.type for f in self._keys]) or any(c.null_count for c in keys.columns)):
            found, wanted = gather(refs, window, self.given.by), keys.take(pa.array(group[asked]))
            same = np.ones(len(asked), np.bool_)
            for name in self.given.by:
                same &= columns_equal(found.column(name), wanted.column(name))
            asked, refs, number = asked[same], refs.take(np.flatnonzero(same)), number[same]
        return Numbered(refs, group[asked], number)

    def kept(self) -> Numbered:
        """All rows that are kept from before this step. Cost: them."""
        found = []
        for place, chunk in enumerate(self.chunks):
            group = self._table.ids_of(_of(chunk.rows, self.given.by), chunk.rows.num_rows)
            refs = Refs(np.full(len(group), place), np.arange(len(group)))
            found.append(Numbered(refs, group, int64s(chunk.rows, START)))
        return Numbered.concat(found)

    def with_keys(
        self, wanted: Wanted, group: Ints | None, room: Room, total: int = 0, new: bool = True
    ) -> tuple[Ints, Numbered]:
        """The rows that are ``wanted``, of the partitions ``group`` (None: of any), and for which of those asked for
        each is; ``new``: those that come in this step, too; ``total``: pairs that there are already."""
        window = self.window if new else self.chunks
        asked, refs, number = self._between(window, 0, wanted, room, total)
        return asked, Numbered(refs, np.zeros(len(asked), np.int64) if group is None else group[asked], number)

    def in_partitions(self, rows: Numbered) -> Numbered:
        """The rows with their partitions."""
        return replace(rows, group=self._table.ids_of(gather(rows.refs, self.window, self.given.by), len(rows)))

    def _between(
        self, window: Sequence[OpenChunk], index: int, wanted: Wanted, room: Room, total: int = 0
    ) -> tuple[Ints, Refs, Ints]:
        """Rows by an index: which of those asked for each is for, where it is, its number."""
        low, high = wanted.numbers
        some = np.flatnonzero(low <= high)
        # a row is kept as an interval of numbers, from its own to the one that pushes it out of the largest window
        side = (wanted.hashes[some], low[some] + self.given.kept - 1, high[some] + 1)
        find = wanted.search(some, index)
        found: list[tuple[Ints, Ints, Ints, Ints]] = []
        least, most = (int(low[some].min()), int(high[some].max())) if len(some) else (0, -1)
        for number, chunk in enumerate(window):
            if chunk.meta["max_start"] < least or chunk.meta["min_start"] > most:
                continue
            asked, rows = find(chunk, side, room, total)
            total += len(rows)
            found.append((some[asked], np.full(len(rows), number), rows, int64s(chunk.rows, START)[rows]))
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
        return list(self.columns(rows, self.given.keys).columns)

    def columns(self, rows: Numbered, names: Sequence[str]) -> pa.RecordBatch:
        """The named columns of the rows."""
        return gather(rows.refs, self.window, names)

    def save(self, done: int) -> None:
        """Keep what the next step needs: the counts of rows, and those that the largest window has had since ``done``,
        the instant before which all slices are done."""
        touched, state = np.unique(self.group), self._state
        self.counts[touched] += np.bincount(self.group, minlength=len(self.counts))[touched]
        self._table.live[touched] = 1
        self._table.save(touched)
        behind = done < self._high
        if behind and self.fresh.num_rows:
            add_run(state, self._log, self.fresh.select([*self.given.by, START]), _one_log, _latest)
        state.keep(self._log, lambda c: behind and c.meta["max_start"] >= done)
        if not behind and not self.given.by:
            state.keep(self._name, lambda c: c.meta["max_exp"] > self.counts[0])
        if self.new is not None:
            rows = self.new.rows.drop_columns([PLACE])
            staying = rows if behind else self._without_gone(rows, self.group[int64s(self.new.rows, PLACE)])
            if staying.num_rows:
                add_run(state, self._name, staying, partial(self._merged, behind=behind), bounds)

    def _without_gone(self, rows: pa.RecordBatch, group: Ints) -> pa.RecordBatch:
        """The rows that have not left the largest window, entered anew if some have."""
        stays = int64s(rows, EXP) > self.counts[group]
        if stays.all():
            return rows
        rows = rows.take(pa.array(np.flatnonzero(stays)))
        return rows if rows.num_rows == 0 else rebuilder(self.given.layout, self.schema.names)(rows)

    def _merged(self, runs: list[pa.RecordBatch], every: bool, behind: bool) -> pa.RecordBatch:
        """Several runs as one; unless a slice is ``behind`` without rows that have left the largest window."""
        names = [*self.schema.names, START, EXP]
        whole = concat_rows([r.select(names) for r in runs])
        if not behind:
            group = self._table.ids_of(_of(whole, self.given.by), whole.num_rows)
            whole = whole.take(pa.array(np.flatnonzero(int64s(whole, EXP) > self.counts[group])))
        return whole if whole.num_rows == 0 else rebuilder(self.given.layout, self.schema.names)(whole)


def begin_counted(
    given: CountedInput, number: int, state: ShardState, partitions: tuple[pa.RecordBatch, Ints],
    numbered: tuple[pa.RecordBatch, Ints], ahead: Batch, shard: int = 0, shards: int = 1,
) -> None:  # fmt: skip
    """Let an empty state of input ``number`` on a shard go on where one is that has had these rows. ``partitions``:
    keys, and how many rows each has had; ``numbered``: the last rows of each at least, with their numbers; ``ahead``:
    rows whose instant is to come."""
    (keys, had), (rows, own) = partitions, numbered
    table = KeyedTable(state, f"partitions{number}", keys.schema)
    ids = table.ids_of(keys, len(had))
    table.counter("rows")[ids], table.live[:] = had, 1
    table.save(ids)
    if len(ahead):
        insert(state, f"waiting{number}", timed(ahead.columns, ahead.ts, ahead.exp))
    group = table.ids_of(_of(rows, given.by), rows.num_rows)
    place = given.joined(rows, shard, shards)
    place = place[own[place] + given.kept > table.counter("rows")[group[place]]]
    if len(place):
        kept = timed(rows.take(pa.array(place)), own[place], own[place] + given.kept)
        entered = rebuilder(given.layout, rows.schema.names)(kept)
        state.append(f"in{number}", entered, **bounds(entered))


def _of(rows: pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
    return rows.select(list(names)) if names else no_columns(rows.num_rows)


def _one_log(runs: list[pa.RecordBatch], every: bool) -> pa.RecordBatch:
    return concat_rows(runs)


def _latest(rows: pa.RecordBatch) -> dict[str, int]:
    return {"max_start": int(int64s(rows, START)[-1])}
