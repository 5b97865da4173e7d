"""n-way windowed equi-join in one operator, without materialised intermediates.

Each input's window is a list of chunks in bucket order with their directory stored beside the rows, so nothing is
rebuilt to be probed. A combination is emitted once, in the step in which its last part starts: for input i the rows
that start in this step meet rows of inputs before i that have started by now and of inputs after i that had started
before (Golab & Ozsu, section 3; exactly once as in the thesis' Algorithm 4). Results are valid while all parts are.
Rows of signed inputs carry a weight of +1 or -1 (a negative tuple takes its row away from then on); a result's weight
is the product, since a join is linear in each input.
Cost: work proportional to the new rows, their bucket mates and the results, times the number of chunks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch, no_columns
from muntin.kernels.hashing import buffer_values, hash_columns
from muntin.kernels.joining import extend
from muntin.kernels.spans import Spans, count_spans, place_spans, probe_spans
from muntin.operators.coalesce import coalesce
from muntin.operators.context import Context
from muntin.operators.joins.gather import Ints, Refs, gather, product, starting, whole
from muntin.operators.joins.harvest import Reading
from muntin.operators.joins.hot_keys import HOT, KEPT, PLAIN, ROLE, hot_of_all
from muntin.operators.joins.indexed_window import HASH, Layout, OpenChunk, Side, let_go, store_rows
from muntin.operators.joins.join_graph import common_key
from muntin.operators.joins.join_statistics import JoinMonitor
from muntin.operators.joins.pair_join import confirmed, pair_join
from muntin.operators.joins.room import Room, cut_ahead
from muntin.operators.joins.slices import Slices, in_turns, leaves_by, near, starts_before, words_of
from muntin.operators.naming import combined
from muntin.operators.operator import Described, Show
from muntin.operators.structures import INDEXED
from muntin.plan.patterns import Pattern
from muntin.state.shard_state import ShardState
from muntin.state.window_rows import EXP, START


@dataclass(frozen=True)
class WindowJoin(Described):
    """n-way equi-join in one operator; ``keys[i]`` names input i's key columns (aligned).

    () in every place is the cross product. Output: the columns of all inputs in order, valid while all parts are.
    ``null_safe``: NULL keys equal NULL keys (otherwise the inputs have none). Where rows come with roles, hot keys are
    split (``hot_keys``).
    """

    keys: tuple[tuple[str, ...], ...]
    null_safe: bool = False
    slices: Slices | None = None
    """Those that it is done in, for several queries (None: it is done whole)."""

    stateful = True

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        return window_join(self, state, combined(inputs), ctx)

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """A result leaves with the first of its parts, which need not be the part that came first."""
        hardest = max(inputs)
        return hardest if hardest in (Pattern.MON, Pattern.STR) else Pattern.WK

    def words(self, show: Show) -> str:
        on = "; ".join(" = ".join(show.columns(k)) for k in zip(*self.keys, strict=True)) or "nothing (cross product)"
        return f"join of {len(self.keys)} windows on {on}{words_of(self.slices)}"

    def keeps(self, inputs: Sequence[Pattern], show: Show) -> str:
        return f"hash-indexed panes of each input (expiry: {', '.join(INDEXED[p] for p in inputs)})"


@dataclass(frozen=True)
class Fresh:
    """Rows of input i that start in this step, with what a probe needs."""

    refs: Refs
    hash: Ints
    start: Ints
    exp: Ints


def window_join(op: WindowJoin, state: ShardState, batches: list[Batch], ctx: Context) -> Batch:
    """One step of the join; returns interval rows with all inputs' columns, all starting in this step."""
    batches = [coalesce(b) for b in batches]
    structures = [f"in{i}" for i in range(len(batches))]
    layouts = [Layout((keys,)) for keys in op.keys]
    spread: list[Batch] = []
    if ROLE in batches[0].columns.schema.names:
        _note_hot(op, state, batches)
        batches, spread = map(list, zip(*map(_by_role, batches), strict=True))
    elif any(state.list(f"{s}.spread") for s in structures):  # rows that came while hot keys were split
        spread = [Batch.empty(_with_role(b.columns.schema)) for b in batches]
    kept = [*zip(structures, batches, layouts, strict=True)]
    kept += zip([f"{s}.spread" for s in structures], spread, layouts, strict=False)
    graph = common_key(op.keys, tuple(tuple(b.columns.schema.names) for b in batches))
    monitor = JoinMonitor(graph, state, once=True)
    came = batches + spread
    cut_ahead(monitor.each, came, ctx)
    for structure, batch, layout in kept:
        store_rows(state, structure, batch, layout, ctx.cut)
    windows = [[OpenChunk(c) for c in state.list(structure)] for structure, _, _ in kept]
    schemas = [b.columns.schema for b in batches]
    monitor.arrived(batches, [sum(c.meta["n"] for c in w) for w in windows[: len(batches)]])
    join = pair_join if len(batches) == 2 else _combinations
    results, fresh, done = in_turns(op.slices, state, ctx, lambda turn: join(op, windows, schemas, turn, monitor))
    monitor.gave(fresh, came)
    monitor.save()
    for structure, batch, layout in kept:
        let_go(state, structure, batch, layout, done)
    return whole(results, batches)


def _note_hot(op: WindowJoin, state: ShardState, batches: list[Batch]) -> None:
    """Find the keys that are hot in either input, for the senders of the next batch."""
    own = [b.where(_roles(b) != KEPT) for b in batches]
    hashes = [hash_columns([b.columns.column(k) for k in ks], len(b)) for b, ks in zip(own, op.keys, strict=True)]
    state.heads[HOT] = hot_of_all(hashes, state.heads.get(HOT, []))


def _with_role(schema: pa.Schema) -> pa.Schema:
    return schema.append(pa.field(ROLE, pa.int8()))


def _roles(batch: Batch) -> NDArray[np.int8]:
    return buffer_values(batch.columns.column(ROLE), np.int8)


def _by_role(batch: Batch) -> tuple[Batch, Batch]:
    """Plain rows without their role, and spread rows with it."""
    plain = _roles(batch) == PLAIN
    ours = batch.take(np.flatnonzero(plain))
    return ours.with_columns(ours.columns.drop_columns([ROLE])), batch.take(np.flatnonzero(~plain))


def _combinations(
    op: WindowJoin, windows: list[list[OpenChunk]], schemas: list[pa.Schema], ctx: Context, monitor: JoinMonitor
) -> list[Batch]:
    """Results of an n-way join: origins extended window by window, rows gathered at the end."""
    results: list[Batch] = []
    room = Room(windows, ctx)
    for i, order in enumerate(monitor.orders(ctx.low)):
        found = _new_combinations(i, order, windows, ctx, monitor, room)
        if found is not None:
            refs, start, exp = found
            room.check(sum(map(len, results)) + len(start))
            gathered = [gather(r, w, s.names) for r, w, s in zip(refs, windows, schemas, strict=True)]
            sign = product(list(zip(windows, refs, strict=True)))
            results.append(_emit(gathered, start, exp, sign, schemas, op))
    monitor.state.looked += room.looked
    return results


def _new_combinations(
    i: int, order: tuple[int, ...], windows: list[list[OpenChunk]], ctx: Context, monitor: JoinMonitor, room: Room
) -> tuple[list[Refs], Ints, Ints] | None:
    """The combinations whose part of input i starts now: rows by input, aligned, and when they start and end; None if
    there are none."""
    new = starting(windows[i], ctx, (HASH, START, EXP))
    if new is None:
        return None
    fresh = Fresh(new[0], *new[1])
    held = Held({}, np.arange(len(fresh.start)), fresh.start, fresh.exp, None if ctx.apart is None else fresh.start)
    for j in order:
        hop = Hop(i, j, fresh, windows[j], ctx, room)
        if ctx.apart is not None and ctx.apart[0] and j == order[-1]:
            held = Held.concat([hop.extended(h, low)[0] for h, low in held.by_age(ctx.apart[0])])
        else:
            bound = frozenset([i, *held.parts])
            held, tried, found = hop.extended(held, 0)
            if ctx.apart is None:
                monitor.hop(bound, j, tried, found)
        if len(held.origin) == 0:
            return None
    parts = {**held.parts, i: fresh.refs.take(held.origin)}
    return [parts[j] for j in range(len(windows))], held.start, held.exp


@dataclass(frozen=True)
class Held:
    """Combinations under construction, aligned: rows by input, the origin that they began from, the interval in which
    all are valid, and when their oldest row started (of a join that is done in slices)."""

    parts: dict[int, Refs]
    origin: Ints
    start: Ints
    exp: Ints
    oldest: Ints | None

    def take(self, index: Ints) -> Held:
        parts = {k: r.take(index) for k, r in self.parts.items()}
        oldest = None if self.oldest is None else self.oldest[index]
        return Held(parts, self.origin[index], self.start[index], self.exp[index], oldest)

    def by_age(self, low: int) -> list[tuple[Held, int]]:
        """Those with a row that is ``low`` older than the newest, which need no other one, and those without."""
        assert self.oldest is not None
        old = self.start - self.oldest >= low
        groups = (self.take(np.flatnonzero(old)), 0), (self.take(np.flatnonzero(~old)), low)
        return [g for g in groups if len(g[0].origin)]

    @staticmethod
    def concat(many: list[Held]) -> Held:
        """Those of several; when their oldest rows started is left out."""
        if len(many) == 1:
            return many[0]
        parts = {k: Refs.concat([h.parts[k] for h in many]) for k in many[0].parts}
        origin, start, exp = (np.concatenate([getattr(h, n) for h in many]) for n in ("origin", "start", "exp"))
        return Held(parts, origin, start, exp, None)


@dataclass(frozen=True)
class Hop:
    """Window ``j`` entered by combinations that began from new rows of input ``i``."""

    i: int
    j: int
    fresh: Fresh
    window: list[OpenChunk]
    ctx: Context
    room: Room

    def extended(self, held: Held, low: int) -> tuple[Held, int, int]:
        """The combinations with each partner that they have here and that is ``low`` older than the newest row, if that
        is not 0; how many origins looked for partners, and how many they found."""
        fresh, ctx = self.fresh, self.ctx
        probing = np.flatnonzero(np.bincount(held.origin, minlength=len(fresh.start))) if held.parts else held.origin
        reading = None if ctx.harvest is None else ctx.harvest.reading(self.i, self.j, fresh.start[probing])
        found = self._candidates(probing, low, reading)
        partners = len(found.start)
        if held.parts:
            left, right = extend((held.origin, held.start, held.exp), (found.begin, found.start, found.exp))
            found = found.take(right)
        else:  # a candidate is one for its validity and its origin's meet
            left = found.origin
        self.room.check(len(left))
        grown = held.take(left)
        oldest = None if grown.oldest is None else np.minimum(grown.oldest, found.start)
        start, exp = np.maximum(grown.start, found.start), np.minimum(grown.exp, found.exp)
        return Held({**grown.parts, self.j: found.refs}, grown.origin, start, exp, oldest), len(probing), partners

    def _candidates(self, probing: Ints, low: int, reading: Reading | None) -> Candidates:
        """Partners of the ``probing`` origins."""
        fresh, apart, n = self.fresh, self.ctx.apart, len(self.fresh.start)
        h, start, until = fresh.hash, fresh.start, fresh.exp
        if len(probing) < n:
            h, start, until = h[probing], start[probing], until[probing]
        limit = self.ctx.high if self.j < self.i or apart is not None else self.ctx.low
        if apart is not None:
            until = starts_before(start, start, int(self.j < self.i), (low, apart[1]))
        lowest, total = int(start.min()), 0
        upto = limit if apart is None else int(until.max())
        found: list[tuple[int, Side, Spans]] = []
        counts = np.zeros(n, np.int64)
        for number, chunk in enumerate(self.window):
            if leaves_by(chunk.meta, apart) <= lowest or chunk.meta["min_start"] >= upto:
                continue
            if reading is not None and not reading.wants(chunk.meta):
                continue
            other = chunk.probe_side()
            since, c_exp = near(chunk, start, other[1:], apart)
            sides = (h, since, until), (*other[:2], c_exp)
            args = *sides, chunk.directory(), limit, self.ctx.fifo[self.j]
            find = partial(probe_spans, *args, gone=chunk.meta["max_exp"])
            spans = self.room.spans(find, before=total)
            if reading is not None:
                reading.gave(spans.looked, spans.pairs)
            count_spans(probing, spans.rows, spans.count, counts)
            found.append((number, other, spans))
            total += spans.pairs
        begin = np.zeros(n + 1, np.int64)
        np.cumsum(counts, out=begin[1:])
        places = begin[:-1].copy()
        origin, chunk_of, row, starts, exps = (np.empty(total, np.int64) for _ in range(5))
        for number, (_, c_start, c_exp), s in found:
            args_of = probing, s.rows, s.first, s.count, c_start, c_exp, number
            place_spans(*args_of, places, origin, chunk_of, row, starts, exps)
        return Candidates(begin, origin, Refs(chunk_of, row), starts, exps)


@dataclass(frozen=True)
class Candidates:
    """Partners of origins in one window, in order of ``origin``: those of o at ``[begin[o], begin[o + 1])``."""

    begin: Ints
    origin: Ints
    refs: Refs
    start: Ints
    exp: Ints

    def take(self, index: Ints) -> Candidates:
        """Those at ``index``; where origins begin is no longer true."""
        return replace(self, refs=self.refs.take(index), start=self.start[index], exp=self.exp[index])


def _emit(
    gathered: list[pa.RecordBatch],
    start: Ints,
    exp: Ints,
    sign: NDArray[np.int8] | None,
    schemas: list[pa.Schema],
    op: WindowJoin,
) -> Batch:
    columns = [g.column(n) for g, s in zip(gathered, schemas, strict=True) for n in s.names]
    names = [n for s in schemas for n in s.names]
    rows = pa.RecordBatch.from_arrays(columns, names=names) if names else no_columns(len(start))
    return confirmed(Batch(rows, start, exp, sign), schemas, op)
