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
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch
from muntin.kernels.hashing import buffer_values, hash_columns
from muntin.operators.coalesce import coalesce
from muntin.operators.context import Context
from muntin.operators.joins.gather import whole
from muntin.operators.joins.hot_keys import HOT, KEPT, PLAIN, ROLE, hot_of_all
from muntin.operators.joins.indexed_window import Layout, OpenChunk, let_go, store_rows
from muntin.operators.joins.join_graph import common_key
from muntin.operators.joins.join_statistics import JoinMonitor
from muntin.operators.joins.many_join import many_join
from muntin.operators.joins.pair_join import pair_join
from muntin.operators.joins.room import cut_ahead
from muntin.operators.joins.slices import Slices, in_turns, words_of
from muntin.operators.naming import combined
from muntin.operators.operator import Described, Show
from muntin.operators.structures import INDEXED
from muntin.plan.patterns import Pattern
from muntin.state.shard_state import ShardState


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
    join = pair_join if len(batches) == 2 else many_join
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
