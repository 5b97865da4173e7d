"""Interval rows as events of a step: what enters in it and what leaves in it, found without touching the rest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch
from muntin.core.time import FOREVER
from muntin.operators.context import Context
from muntin.state.shard_state import ShardState
from muntin.state.window_rows import (
    EXP,
    Rebuild,
    as_batch,
    by_expiry,
    entering,
    expire,
    in_order_of,
    insert,
    leaving,
    merge_closed,
    stored,
)

Needless = Callable[[pa.RecordBatch], NDArray[np.bool_]]
"""Which kept rows, all of them valid now, may leave now."""


def events_of(
    state: ShardState, structure: str, batch: Batch, ctx: Context, needless: Needless | None = None
) -> Batch:
    """The rows that enter (weight as it came, else 1) and leave (its negative) in this step, by time; in an instant
    those that leave come first.

    Rows that will start or leave later wait in ``structure``, ordered by expiry (a calendar queue), or as they came
    under strategy "direct". Where chunks of them are merged, those that are ``needless`` are told apart: they leave in
    the next step. Cost: the rows at hand, and the events.
    """
    schema = batch.columns.schema
    waited = entering(state, structure, ctx.low, ctx.high)
    left = leaving(state, structure, ctx.low, ctx.high, ctx.scan)
    started = batch.ts < ctx.high
    settled = started & ((batch.exp == FOREVER) | (batch.exp < ctx.high))  # never has to be looked up again
    insert(state, structure, stored(batch.where(~settled)), ctx.scan)
    expire(state, structure, ctx.high, keep_forever=False)
    _merge(state, structure, ctx, needless)
    now = batch.where(started)
    plus = Batch.concat([now, *(as_batch(r, schema) for r in waited)])
    minus = Batch.concat([now.where(now.exp < ctx.high), *(as_batch(r, schema) for r in left)])
    both = Batch.concat([_weighted(minus, minus.exp, -1), _weighted(plus, plus.ts, 1)])
    return both.in_time()


def _merge(state: ShardState, structure: str, ctx: Context, needless: Needless | None) -> None:
    """Merge what is due, without the rows that are needless; these leave at the first instant of the next step."""
    ordered: Rebuild = _as_they_came if ctx.scan else by_expiry
    gone: list[pa.RecordBatch] = []
    rebuild = ordered if needless is None else _without(needless, ordered, gone)
    merge_closed(state, structure, ctx.high, ctx.pane, rebuild, **in_order_of(ctx.scan))
    for rows in gone:
        at = rows.schema.get_field_index(EXP)
        insert(state, structure, rows.set_column(at, EXP, pa.array(np.full(rows.num_rows, ctx.high, np.int64))))


def _as_they_came(rows: pa.RecordBatch) -> pa.RecordBatch:
    return rows


def _without(needless: Needless, ordered: Rebuild, gone: list[pa.RecordBatch]) -> Rebuild:
    def rebuild(rows: pa.RecordBatch) -> pa.RecordBatch:
        out = needless(rows)
        gone.append(rows.take(pa.array(np.flatnonzero(out))))
        return ordered(rows.take(pa.array(np.flatnonzero(~out))))

    return rebuild


def _weighted(rows: Batch, at: NDArray[np.int64], sign: int) -> Batch:
    weights = np.full(len(rows), sign, np.int8) if rows.sign is None else rows.sign * np.int8(sign)
    return Batch(rows.columns, at, rows.exp, weights)
