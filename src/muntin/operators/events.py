"""Interval rows as events of a step: what enters in it and what leaves in it, found without touching the rest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from muntin.core.batch import Batch
from muntin.core.time import FOREVER
from muntin.operators.context import Context
from muntin.state.shard_state import ShardState
from muntin.state.window_rows import (
    as_batch,
    entering,
    expire,
    insert,
    leaving,
    merge_closed,
    stored,
)


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
    insert(state, structure, stored(batch.where(~settled)))
    expire(state, structure, ctx.high, keep_forever=False)
    merge_closed(state, structure, ctx.high, ctx.pane)
    now = batch.where(started)
    plus = Batch.concat([now, *(as_batch(r, schema) for r in waited)])
    minus = Batch.concat([now.where(now.exp < ctx.high), *(as_batch(r, schema) for r in left)])
    both = Batch.concat([_weighted(minus, minus.exp, -1), _weighted(plus, plus.ts, 1)])
    return both if (both.ts[1:] >= both.ts[:-1]).all() else both.take(np.argsort(both.ts, kind="stable"))


def _weighted(rows: Batch, at: NDArray[np.int64], sign: int) -> Batch:
    weights = np.full(len(rows), sign, np.int8) if rows.sign is None else rows.sign * np.int8(sign)
    return Batch(rows.columns, at, rows.exp, weights)
