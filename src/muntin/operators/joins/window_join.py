"""n-way windowed equi-join in one operator, without materialised intermediates.

Each input's window is a list of chunks in bucket order with their directory stored beside the rows, so nothing is
rebuilt to be probed. A combination is emitted once, in the step in which its last part starts: for input i the rows
that start in this step meet rows of inputs before i that have started by now and of inputs after i that had started
before (Golab & Ozsu, section 3; exactly once as in the thesis' Algorithm 4). Results are valid while all parts are.
Rows of signed inputs carry a weight of +1 or -1 (a negative tuple takes its row away from then on); a result's
weight is
the product, since a join is linear in each input.
Cost: work proportional to the new rows, their bucket mates and the results, times the number of chunks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch, no_columns
from muntin.kernels.hashing import buffer_values, exact, hash_columns
from muntin.kernels.joining import extend, probe
from muntin.kernels.keys import columns_equal
from muntin.operators.coalesce import coalesce
from muntin.operators.context import Context
from muntin.operators.joins.gather import Ints, Refs, gather, product, starting, whole
from muntin.operators.joins.harvest import Reading
from muntin.operators.joins.hot_keys import HOT, KEPT, PLAIN, ROLE, hot_of_all
from muntin.operators.joins.indexed_window import HASH, Layout, OpenChunk, let_go, store_rows
from muntin.operators.joins.join_graph import common_key
from muntin.operators.joins.join_statistics import JoinMonitor
from muntin.operators.joins.pair_join import pair_join
from muntin.operators.joins.room import Room, cut_ahead
from muntin.operators.naming import combined
from muntin.operators.operator import Described, Show
from muntin.operators.structures import INDEXED
from muntin.plan.patterns import Pattern
from muntin.state.shard_state import ShardState
from muntin.state.window_rows import EXP, START, int64s


@dataclass(frozen=True)
class WindowJoin(Described):
    """n-way equi-join in one operator; ``keys[i]`` names input i's key columns (aligned).

    () in every place is the cross product. Output: the columns of all inputs in order, valid while all parts are.
    ``null_safe``: NULL keys equal NULL keys (otherwise the inputs have none). Where rows come with roles, hot keys are
    split (``hot_keys``).
    """

    keys: tuple[tuple[str, ...], ...]
    null_safe: bool = False

    stateful = True

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        return window_join(self, state, combined(inputs), ctx)

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """A result leaves with the first of its parts, which need not be the part that came first."""
        hardest = max(inputs)
        return hardest if hardest in (Pattern.MON, Pattern.STR) else Pattern.WK

    def words(self, show: Show) -> str:
        on = "; ".join(" = ".join(show.columns(k)) for k in zip(*self.keys, strict=True)) or "nothing (cross product)"
        return f"join of {len(self.keys)} windows on {on}"

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
        store_rows(state, structure, batch, layout)
    windows = [[OpenChunk(c) for c in state.list(structure)] for structure, _, _ in kept]
    schemas = [b.columns.schema for b in batches]
    monitor.arrived(batches, [sum(c.meta["n"] for c in w) for w in windows[: len(batches)]])
    join = pair_join if len(batches) == 2 else _combinations
    results = join(op, windows, schemas, ctx, monitor)
    monitor.gave(sum(map(len, results)), came)
    monitor.save()
    for structure, batch, layout in kept:
        let_go(state, structure, batch, layout, ctx)
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
        refs = _new_combinations(i, order, windows, ctx, monitor, room)
        if refs is not None:
            room.check(sum(map(len, results)) + len(refs[0].row))
            names = [[*s.names, START, EXP] for s in schemas]
            gathered = [gather(r, w, n) for r, w, n in zip(refs, windows, names, strict=True)]
            start = np.maximum.reduce([int64s(g, START) for g in gathered])
            exp = np.minimum.reduce([int64s(g, EXP) for g in gathered])
            sign = product(list(zip(windows, refs, strict=True)))
            results.append(_emit(gathered, start, exp, sign, schemas, op))
    monitor.state.looked += room.looked
    return results


def _new_combinations(
    i: int, order: tuple[int, ...], windows: list[list[OpenChunk]], ctx: Context, monitor: JoinMonitor, room: Room
) -> list[Refs] | None:
    """The combinations whose part of input i starts now: rows by input, aligned; None if there are none."""
    new = starting(windows[i], ctx, (HASH, START, EXP))
    if new is None:
        return None
    fresh = Fresh(new[0], *new[1])
    parts: dict[int, Refs] = {}
    origin, start, exp = np.arange(len(fresh.start)), fresh.start, fresh.exp
    probing = np.arange(len(fresh.start))  # origins that have found partners in every window so far
    for j in order:
        begin, found, f_start, f_exp = _candidates(
            fresh, probing, windows[j], ctx.high if j < i else ctx.low, ctx.fifo[j], room,
            None if ctx.harvest is None else ctx.harvest.reading(i, j, fresh.start[probing]),
        )  # fmt: skip
        monitor.hop(frozenset([i, *parts]), j, len(probing), len(f_start))
        left, right = extend((origin, start, exp), (begin, f_start, f_exp))
        room.check(len(left))
        if len(left) == 0:
            return None
        parts = {k: r.take(left) for k, r in parts.items()}
        parts[j] = found.take(right)
        origin, start, exp = origin[left], np.maximum(start[left], f_start[right]), np.minimum(exp[left], f_exp[right])
        probing = np.flatnonzero(np.bincount(origin, minlength=len(fresh.start)))
    parts[i] = fresh.refs.take(origin)
    return [parts[j] for j in range(len(windows))]


def _candidates(
    fresh: Fresh,
    probing: Ints,
    window: list[OpenChunk],
    limit: int,
    fifo: bool,
    room: Room,
    reading: Reading | None = None,
) -> tuple[Ints, Refs, Ints, Ints]:
    """Partners of the ``probing`` origins in one window: (begin by origin, rows, start, exp), sorted by origin."""
    side = (fresh.hash[probing], fresh.start[probing], fresh.exp[probing])
    lowest = int(side[1].min())
    origins, refs, exps = [], [], []
    starts: list[Ints] = []
    for number, chunk in enumerate(window):
        if chunk.meta["max_exp"] <= lowest or chunk.meta["min_start"] >= limit:
            continue
        if reading is not None and not reading.wants(chunk.meta):
            continue
        other = chunk.probe_side()
        find = partial(probe, side, other, chunk.directory(), limit, fifo)
        left, right, looked = room.found(find, before=sum(len(s) for s in starts))
        if reading is not None:
            reading.gave(int(looked), len(left))
        origins.append(probing[left])
        refs.append(Refs(np.full(len(right), number, np.int64), right.astype(np.int64)))
        starts.append(other[1][right])
        exps.append(other[2][right])
    n = len(fresh.start)
    if not refs:
        none = np.empty(0, np.int64)
        return np.zeros(n + 1, np.int64), Refs(none, none), none, none
    by, all_refs = np.concatenate(origins), Refs.concat(refs)
    start, exp = np.concatenate(starts), np.concatenate(exps)
    if len(refs) > 1:
        order = np.argsort(by, kind="stable")
        by, all_refs, start, exp = by[order], all_refs.take(order), start[order], exp[order]
    begin = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(by, minlength=n), out=begin[1:])
    return begin, all_refs, start, exp


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
    result = Batch(rows, start, exp, sign)
    types = [schemas[0].field(k).type for k in op.keys[0]]
    if exact(types) and not op.null_safe:
        return result
    same = np.ones(len(result), np.bool_)  # equal hashes must be confirmed on the keys
    for keys, g in zip(op.keys[1:], gathered[1:], strict=True):
        for first, other in zip(op.keys[0], keys, strict=True):
            same &= columns_equal(gathered[0].column(first), g.column(other))
    return result.where(same)
