"""n-way join over a join graph in one operator, without materialised intermediates.

Rows that start in this step are origins: each is extended window by window, in an order of its own per input, through
whatever access the window offers from the inputs bound so far (``join_graph.way_into``); a combination is emitted in
the step in which its last part starts, as in ``window_join``. Golab & Ozsu, 3.2 and 3.5 (hybrid), 5.4; thesis 5.2.2.
Cost: for each origin and hop, the bucket mates (or the rows in the band, or the window) of each partial combination.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial as bind
from itertools import pairwise

import numpy as np
import pyarrow as pa

from muntin.core.batch import Batch, no_columns
from muntin.kernels.hashing import exact, hash_columns
from muntin.kernels.joining import between
from muntin.kernels.keys import columns_equal
from muntin.kernels.spans import probe_spans
from muntin.operators.coalesce import coalesce
from muntin.operators.context import Context
from muntin.operators.held_back import held_back
from muntin.operators.joins.bands import limits_of
from muntin.operators.joins.gather import Ints, Refs, gather, product, starting, whole
from muntin.operators.joins.indexed_window import (
    TIMES_BYTES,
    Layout,
    OpenChunk,
    let_go,
    repack,
    store_rows,
)
from muntin.operators.joins.join_graph import GraphJoin, Way, way_into
from muntin.operators.joins.join_statistics import JoinMonitor
from muntin.operators.joins.memory import index_bytes, kept_indexes
from muntin.operators.joins.order import Estimates
from muntin.operators.joins.room import Room, cut_ahead
from muntin.operators.joins.slices import entered, in_turns, near, starts_before
from muntin.plan.exprs import columns_of, conjunction
from muntin.scalars.evaluate import predicate_mask
from muntin.state.shard_state import ShardState
from muntin.state.window_rows import EXP, START

BLOCK_PAIRS = 1 << 22
"""Candidates that are looked at together where no index narrows them down."""

Windows = list[list[OpenChunk]]

Enter = Callable[[OpenChunk], tuple[Ints, Ints]]
"""What finds (combination, row) pairs in a chunk."""


@dataclass(frozen=True)
class Partial:
    """Combinations under construction: aligned rows of the bound inputs, and the interval in which all are valid."""

    refs: dict[int, Refs]
    start: Ints
    exp: Ints

    def __len__(self) -> int:
        return len(self.start)

    def take(self, index: Ints) -> Partial:
        return Partial({i: r.take(index) for i, r in self.refs.items()}, self.start[index], self.exp[index])

    def slice(self, low: int, high: int) -> Partial:
        return self.take(np.arange(low, high))


def graph_join(op: GraphJoin, state: ShardState, batches: list[Batch], ctx: Context) -> Batch:
    """One step of the join; returns interval rows with all inputs' columns, all starting in this step."""
    # which part of a relayed combination is its newest must be the same at every vertex, however its steps are cut
    batches = batches if op.relayed else [coalesce(b) for b in batches]
    names = [f"in{i}" for i in range(len(batches))]
    monitor = JoinMonitor(op, state)
    cut_ahead(monitor.each, batches, ctx)
    layouts = layouts_of(op, monitor.estimates_before(batches), _room(state, batches, ctx.memory))
    mine = [i for i in range(len(batches)) if i not in op.passing]
    transient = ShardState()
    for i in op.passing:  # what starts later has to wait, since it is not kept
        batches[i] = held_back(state, f"waiting{i}", batches[i], ctx)
    for i in (*mine, *op.passing):
        store_rows(transient if i in op.passing else state, names[i], batches[i], layouts[i], ctx.cut)
    if ctx.memory is not None and state.size() > ctx.memory:
        for i in mine:
            repack(state, names[i], layouts[i], batches[i].columns.schema.names)
    places = [(transient if i in op.passing else state).list(s) for i, s in enumerate(names)]
    windows = [[OpenChunk(c) for c in chunks] for chunks in places]
    schemas = [b.columns.schema for b in batches]
    monitor.arrived(batches, [sum(c.meta["n"] for c in w) for w in windows], _left_out(op, layouts))
    results, fresh, done = in_turns(
        op.slices, state, ctx, lambda turn: combinations(op, windows, schemas, turn, monitor)
    )
    monitor.gave(fresh, batches)
    monitor.save()
    for i in mine:
        let_go(state, names[i], batches[i], layouts[i], done)
    return whole(results, batches)


def combinations(
    op: GraphJoin, windows: Windows, schemas: list[pa.Schema], ctx: Context, monitor: JoinMonitor
) -> list[Batch]:
    """The results of one turn, a batch for each input of which rows are new."""
    results: list[Batch] = []
    room = Room(windows, ctx)
    for i, order in enumerate(monitor.orders(ctx.low)):
        if op.origins is not None and i not in op.origins:
            continue
        found = _combinations(Task(op, windows, schemas, ctx, monitor, room), i, order)
        if found is not None and len(found):
            room.check(sum(map(len, results)) + len(found))
            results.append(_emit(found, windows, schemas))
    monitor.state.looked += room.looked
    return results


def _room(state: ShardState, batches: list[Batch], memory: int | None) -> int | None:
    """Bytes that this operator's indexes may take: what the budget leaves beside all rows, those that came now
    included, and the other operators."""
    if memory is None:
        return None
    chunks = [OpenChunk(c) for n, cs in state.chunks.items() if n.startswith("in") for c in cs]
    indexes = sum(c.meta["n"] * index_bytes(number) for c in chunks for number in c.indexes)
    return memory - state.size() + indexes - sum(b.columns.nbytes + TIMES_BYTES * len(b) for b in batches)


def layouts_of(op: GraphJoin, known: Estimates | None, room: int | None) -> list[Layout]:
    """How each input's window is kept: with every index, or with those that are worth most where room is short."""
    kept = kept_indexes(op, known, room)
    columns = [
        tuple(op.index_columns(i, x) if (i, n) in kept else None for n, x in enumerate(indexes))
        for i, indexes in enumerate(op.indexes)
    ]
    return [Layout(c, op.band_columns(i)) for i, c in enumerate(columns)]


def _left_out(op: GraphJoin, layouts: list[Layout]) -> frozenset[tuple[int, int]]:
    """The indexes that ``layouts`` do without."""
    every = ((i, n, columns) for i, layout in enumerate(layouts) for n, columns in enumerate(layout.indexes))
    return frozenset((i, n) for i, n, columns in every if columns is None and op.indexes[i][n])


@dataclass(frozen=True)
class Task:
    """One step of the operator."""

    op: GraphJoin
    windows: Windows
    schemas: list[pa.Schema]
    ctx: Context
    monitor: JoinMonitor
    room: Room


def _combinations(task: Task, i: int, order: tuple[int, ...]) -> Partial | None:
    """Whole combinations whose newest part is of input i."""
    new = starting(task.windows[i], task.ctx, (START, EXP))
    if new is None:
        return None
    partial = Partial({i: new[0]}, *new[1])
    newest = task.op.origins is not None or task.ctx.apart is not None
    for j in order:
        if not len(partial):
            return None
        bound = frozenset(partial.refs)
        limit = task.ctx.high if j < i or newest else task.ctx.low
        hop = Hop(task, way_into(task.op, bound, j), limit, int(j < i) if newest else None, i, j == order[-1])
        parts: list[Partial] = []
        for block in hop.blocks(partial):
            parts.append(hop.extended(block))
            task.room.check(sum(map(len, parts)))
        tried, partial = len(partial), _joined([p for p in parts if len(p)], [*partial.refs, j])
        if task.ctx.apart is None:
            task.monitor.hop(bound, j, tried, len(partial))
    return partial


def _joined(parts: list[Partial], inputs: list[int]) -> Partial:
    if not parts:
        none = np.empty(0, np.int64)
        return Partial({i: Refs(none, none) for i in inputs}, none, none)
    if len(parts) == 1:
        return parts[0]
    refs = {i: Refs.concat([p.refs[i] for p in parts]) for i in inputs}
    return Partial(refs, np.concatenate([p.start for p in parts]), np.concatenate([p.exp for p in parts]))


@dataclass(frozen=True)
class Hop:
    """One more input: how it is entered, and what is then checked; its rows started before ``limit``.

    Where other vertices combine the other inputs' new rows, which part of a combination is the newest must not depend
    on how each vertex's time is cut into steps: the rows started less than ``tie`` after the combination (None: any).
    So it is where the join is done slice by slice; the ``last`` hop then finds those that are far enough apart.
    """

    task: Task
    way: Way
    limit: int
    tie: int | None = None
    origin: int = -1
    """The input whose rows are new."""
    last: bool = False

    @property
    def window(self) -> list[OpenChunk]:
        """The chunks of the window that is entered."""
        return self.task.windows[self.way.input]

    def blocks(self, partial: Partial) -> Iterator[Partial]:
        """The combinations in portions that do not meet too many candidates at a time."""
        if self.way.index is not None and all(c.has(self.way.index) for c in self.window):
            yield partial
            return
        portion = np.cumsum(self._meetings(partial)) // BLOCK_PAIRS
        ends = np.append(np.flatnonzero(np.diff(portion)) + 1, len(partial))
        for low, high in pairwise([0, *ends.tolist()]):
            yield partial if high - low == len(partial) else partial.slice(low, high)

    def _meetings(self, partial: Partial) -> Ints:
        """How many rows of the window each combination may meet, going by time."""
        counts, until = np.zeros(len(partial), np.int64), self._until(partial)
        for chunk in self.window:
            low, high, _ = chunk.by_time(self._near(partial, chunk)[0], until)
            counts += high - low
        return counts

    def _until(self, partial: Partial) -> Ints:
        """Before which partners start."""
        until = np.minimum(partial.exp, self.limit)
        if self.tie is None:
            return until
        until = np.minimum(until, partial.start + self.tie)
        apart = self.task.ctx.apart
        if apart is None or not self.last or apart[0] == 0:
            return until
        return np.minimum(until, starts_before(partial.start, self._oldest(partial), self.tie, apart))

    def _oldest(self, partial: Partial) -> Ints:
        """When the oldest row of each combination started."""
        starts = [gather(r, self.task.windows[i], [START]).column(0).to_numpy() for i, r in partial.refs.items()]
        return np.asarray(np.minimum.reduce(starts), np.int64)

    def _near(self, partial: Partial, chunk: OpenChunk, times: tuple[Ints, Ints] | None = None) -> tuple[Ints, Ints]:
        """Since when rows of a chunk are there that combinations may meet, and until when (``slices.near``)."""
        return near(chunk, partial.start, times or chunk.times(), self.task.ctx.apart)

    def extended(self, partial: Partial) -> Partial:
        """The combinations with each partner that they have in this window."""
        lefts, refs, starts, exps = [], [], [], []
        until, apart = self._until(partial), self.task.ctx.apart
        upto = self.limit if apart is None else int(until.max())
        enter = self._enter(partial, until)
        harvest, room = self.task.ctx.harvest, self.task.room
        reading = None if harvest is None else harvest.reading(self.origin, self.way.input, partial.start)
        parts: dict[int, int] = {}
        for number, chunk in entered(self.window, apart, int(partial.start.min()), upto, reading):
            before = room.looked
            left, right = enter(chunk)
            if reading is not None:
                reading.gave(room.looked - before, 0)
                parts[number] = reading.part
            start, exp = chunk.times()
            lefts.append(left)
            refs.append(Refs(np.full(len(right), number, np.int64), right))
            starts.append(start[right])
            exps.append(exp[right])
        if not lefts:
            return _joined([], [*partial.refs, self.way.input])
        grown = partial.take(np.concatenate(lefts))
        start, exp = np.concatenate(starts), np.concatenate(exps)
        both = {**grown.refs, self.way.input: Refs.concat(refs)}
        found = self._checked(Partial(both, np.maximum(grown.start, start), np.minimum(grown.exp, exp)))
        if reading is not None:
            for number, many in enumerate(np.bincount(found.refs[self.way.input].chunk).tolist()):
                if many:
                    reading.found(parts[number], many)
        return found

    def _enter(self, partial: Partial, until: Ints) -> Enter:
        """What finds (combination, row) pairs in a chunk."""
        if self.way.index is not None:
            return self._by_hash(partial, until, self.way.index)
        if self.way.band:
            return self._by_band(partial, until)
        return lambda chunk: self._scanned(partial, until, chunk)

    def _scanned(self, partial: Partial, until: Ints, chunk: OpenChunk) -> tuple[Ints, Ints]:
        """All rows of a chunk that are valid with a combination."""
        since, exp = self._near(partial, chunk)
        low, high, order = chunk.by_time(since, until)
        args = (low, high), order, (since, until), (chunk.times()[0], exp), self.limit
        left, right, _ = self.task.room.found(bind(between, *args))
        return left.astype(np.int64), right.astype(np.int64)

    def _by_hash(self, partial: Partial, until: Ints, index: int) -> Enter:
        keys = [self.column(partial, i, name) for i, name in self.way.partners]
        hashes = hash_columns(keys, len(partial))
        fifo = self.task.ctx.fifo[self.way.input]

        def enter(chunk: OpenChunk) -> tuple[Ints, Ints]:
            if not chunk.has(index):
                return self._unindexed(partial, until, keys, index, chunk)
            c_hashes, *times = chunk.probe_side(index)
            since, exp = self._near(partial, chunk, (times[0], times[1]))
            args = (hashes, since, until), (c_hashes, times[0], exp), chunk.directory(index), self.limit, fifo
            found = self.task.room.spans(bind(probe_spans, *args))
            return found.pair_rows().astype(np.int64), chunk.row_numbers(index, found.pair_partners())

        return enter

    def _unindexed(
        self, partial: Partial, until: Ints, keys: list[pa.Array], index: int, chunk: OpenChunk
    ) -> tuple[Ints, Ints]:
        """Partners in a chunk that was stored without the index."""
        left, right = self._scanned(partial, until, chunk)
        same = np.ones(len(left), np.bool_)
        names = self.task.op.index_columns(self.way.input, self.task.op.indexes[self.way.input][index])
        for key, name in zip(keys, names, strict=True):
            same &= columns_equal(key.take(pa.array(left)), chunk.rows.column(name).take(pa.array(right)))
        return left[same], right[same]

    def _by_band(self, partial: Partial, until: Ints) -> Enter:
        number = self.task.op.band_columns(self.way.input).index(self.way.band[0].column)
        limits = limits_of(self.way.band, lambda b: self.column(partial, b.partner, b.other), len(partial))

        def enter(chunk: OpenChunk) -> tuple[Ints, Ints]:
            since, exp = self._near(partial, chunk)
            places, rows = chunk.in_band(number, limits, since, until)
            args = places, rows, (since, until), (chunk.times()[0], exp), self.limit
            left, right, _ = self.task.room.found(bind(between, *args))
            return left.astype(np.int64), right.astype(np.int64)

        return enter

    def _checked(self, partial: Partial) -> Partial:
        """Without those whose hashes only were equal, and those that a condition closed by this input rejects."""
        same = np.ones(len(partial), np.bool_)
        for mine, other, theirs in self._unproved():
            same &= columns_equal(self.column(partial, self.way.input, mine), self.column(partial, other, theirs))
        if not same.all():
            partial = partial.take(np.flatnonzero(same))
        closing = [self.task.op.conditions[n] for n in self.way.closing]
        if not closing or not len(partial):
            return partial
        used = sorted({c.name for e in closing for c in columns_of(e)})
        rows = pa.RecordBatch.from_arrays([self.column(partial, self._owner(n), n) for n in used], names=used)
        kept = predicate_mask(conjunction(closing), rows)
        return partial if kept.all() else partial.take(np.flatnonzero(kept))

    def _unproved(self) -> Iterator[tuple[str, int, str]]:
        """Equalities that the access did not prove."""
        proved = set()
        if self.way.index is not None and len(self.way.partners) == 1:
            (column,) = self.task.op.index_columns(self.way.input, self.task.op.indexes[self.way.input][self.way.index])
            if exact([self.task.schemas[self.way.input].field(column).type]):
                proved = {column}
        yield from (e for e in self.way.equal if e[0] not in proved)

    def _owner(self, name: str) -> int:
        return next(i for i, names in enumerate(self.task.op.columns) if name in names)

    def column(self, partial: Partial, i: int, name: str) -> pa.Array:
        """A column of a bound input, by combination."""
        return gather(partial.refs[i], self.task.windows[i], [name]).column(0)


def _emit(found: Partial, windows: Windows, schemas: list[pa.Schema]) -> Batch:
    gathered = [gather(found.refs[i], windows[i], s.names) for i, s in enumerate(schemas)]
    columns = [g.column(n) for g, s in zip(gathered, schemas, strict=True) for n in s.names]
    names = [n for s in schemas for n in s.names]
    rows = pa.RecordBatch.from_arrays(columns, names=names) if names else no_columns(len(found))
    return Batch(rows, found.start, found.exp, product([(windows[i], found.refs[i]) for i in range(len(windows))]))
