"""Interval rows as events of a step: what enters in it and what leaves in it, found without touching the rest."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch, no_columns
from muntin.core.time import FOREVER
from muntin.operators.context import Context
from muntin.state.shard_state import ShardState
from muntin.state.window_rows import EXP, START, WEIGHT, entering, expire, insert, int64s, leaving, merge_closed, timed


def events_of(state: ShardState, structure: str, batch: Batch, ctx: Context) -> Batch:
    """The rows that enter (weight as it came, else 1) and leave (its negative) in this step, by time; in an instant
    those that leave come first.

    Rows that will start or leave later wait in ``structure``, ordered by expiry (a calendar queue). Cost: the rows at
    hand, and the events.
    """
    schema = batch.columns.schema
    waited = entering(state, structure, ctx.low, ctx.high)
    left = leaving(state, structure, ctx.low, ctx.high, ctx.scan)
    started = batch.ts < ctx.high
    settled = started & ((batch.exp == FOREVER) | (batch.exp < ctx.high))  # never has to be looked up again
    insert(state, structure, stored_form(batch.where(~settled)))
    expire(state, structure, ctx.high, keep_forever=False)
    merge_closed(state, structure, ctx.high, ctx.pane)
    now = batch.where(started)
    plus = Batch.concat([now, *(from_stored(r, schema) for r in waited)])
    minus = Batch.concat([now.where(now.exp < ctx.high), *(from_stored(r, schema) for r in left)])
    both = Batch.concat([_weighted(minus, minus.exp, -1), _weighted(plus, plus.ts, 1)])
    return both if (both.ts[1:] >= both.ts[:-1]).all() else both.take(np.argsort(both.ts, kind="stable"))


def _weighted(rows: Batch, at: NDArray[np.int64], sign: int) -> Batch:
    weights = np.full(len(rows), sign, np.int8) if rows.sign is None else rows.sign * np.int8(sign)
    return Batch(rows.columns, at, rows.exp, weights)


def stored_form(batch: Batch) -> pa.RecordBatch:
    """The rows as they are stored."""
    rows = timed(batch.columns, batch.ts, batch.exp)
    return rows if batch.sign is None else rows.append_column(WEIGHT, pa.array(batch.sign))


def from_stored(rows: pa.RecordBatch, schema: pa.Schema) -> Batch:
    """Stored rows as a batch with the columns of ``schema``."""
    columns = rows.select(schema.names) if schema.names else no_columns(rows.num_rows)
    sign = np.asarray(rows.column(WEIGHT).to_numpy(), np.int8) if WEIGHT in rows.schema.names else None
    return Batch(columns, int64s(rows, START), int64s(rows, EXP), sign)
