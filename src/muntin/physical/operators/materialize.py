"""What the query shows of interval rows: their coming and going, or all of them at every instant.

Rows that are still valid stay in a structure ordered by expiry (a calendar queue), so those that leave are found by
bisection; rows that start later wait there too.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from muntin.core.batch import Batch, forever, no_columns
from muntin.core.time import FOREVER
from muntin.kernels.schedule import live_spans, spread, tick_times
from muntin.physical.operators.context import Context, concat_rows
from muntin.physical.operators.net import net
from muntin.physical.stage import Insertions, Materialize
from muntin.state.shard_state import ShardState
from muntin.state.window_rows import EXP, START, alive, entering, expire, insert, int64s, leaving, merge_closed, timed


def materialize(op: Materialize, state: ShardState, name: str, batch: Batch, ctx: Context) -> Batch:
    """Interval rows in; changes, or interval rows with ts = the instant (snapshots), out."""
    shown = _snapshots(state, name, batch, ctx) if op.emit == "snapshots" else _changes(state, name, batch, ctx)
    expire(state, name, ctx.high, keep_forever=op.emit == "snapshots")
    merge_closed(state, name, ctx.high, ctx.pane)
    return shown


def insertions(op: Insertions, state: ShardState, name: str, batch: Batch, ctx: Context) -> Batch:
    """Each row once, at its start; rows that start later wait."""
    waited = entering(state, name, ctx.low, ctx.high)
    late = batch.ts >= ctx.high
    if late.any():
        later = batch.where(late)
        insert(state, name, timed(later.columns, later.ts, later.exp))
        batch = batch.where(~late)
    state.keep(name, lambda c: c.meta["max_start"] >= ctx.high)
    rows = [batch, *(_as_batch(r, batch.columns.schema) for r in waited)]
    whole = Batch.concat(rows)
    return Batch(whole.columns, whole.ts, whole.exp, np.ones(len(whole), np.int8))


def _changes(state: ShardState, name: str, batch: Batch, ctx: Context) -> Batch:
    schema = batch.columns.schema
    waited = entering(state, name, ctx.low, ctx.high)
    left = leaving(state, name, ctx.low, ctx.high)
    started = batch.ts < ctx.high
    stored = batch.where(~(started & ((batch.exp == FOREVER) | (batch.exp < ctx.high))))
    insert(state, name, timed(stored.columns, stored.ts, stored.exp))
    now = batch.where(started)
    gone = now.where(now.exp < ctx.high)
    entered = [now, *(_as_batch(r, schema) for r in waited)]
    over = [gone, *(_as_batch(r, schema) for r in left)]
    plus, minus = Batch.concat(entered), Batch.concat(over)
    both = Batch.concat([_signed(minus, minus.exp, -1), _signed(plus, plus.ts, 1)])
    return net(both.take(np.argsort(both.ts, kind="stable")))


def _signed(rows: Batch, at: np.ndarray, sign: int) -> Batch:
    return Batch(rows.columns, at, rows.exp, np.full(len(rows), sign, np.int8))


def _as_batch(rows: pa.RecordBatch, schema: pa.Schema) -> Batch:
    columns = rows.select(schema.names) if schema.names else no_columns(rows.num_rows)
    return Batch(columns, int64s(rows, START), int64s(rows, EXP))


def _snapshots(state: ShardState, name: str, batch: Batch, ctx: Context) -> Batch:
    insert(state, name, timed(batch.columns, batch.ts, batch.exp))
    instants = ctx.instants
    stored = alive(state, name, ctx.low - 1)
    if not stored:
        return Batch.empty(batch.columns.schema)
    rows = concat_rows(stored)
    start, exp = int64s(rows, START), int64s(rows, EXP)
    if instants is None:
        assert ctx.ticks is not None
        instants = tick_times(live_spans(start, exp), ctx.ticks.slides, ctx.ticks.origins, ctx.low, ctx.until)
    row, time = spread(start, exp, instants)
    order = np.argsort(time, kind="stable")
    picked = _as_batch(rows.take(pa.array(row[order])), batch.columns.schema)
    return Batch(picked.columns, time[order], forever(len(row)))
