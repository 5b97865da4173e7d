"""Rows that start in the future: a step gives those of its own instants, the others wait."""

from __future__ import annotations

from muntin.core.batch import Batch
from muntin.operators.context import Context
from muntin.state.shard_state import ShardState
from muntin.state.window_rows import as_batch, entering, insert, stored


def held_back(state: ShardState, structure: str, batch: Batch, ctx: Context) -> Batch:
    """Rows whose instant this step answers, in order of time, those that waited first; later ones wait."""
    return due_rows(state, structure, batch, ctx).in_time()


def due_rows(state: ShardState, structure: str, batch: Batch, ctx: Context) -> Batch:
    """As ``held_back``, in no order: sorting what a join gives would cost more than joining did."""
    schema = batch.columns.schema
    waited = entering(state, structure, ctx.low, ctx.high)
    if batch.last is None or batch.last >= ctx.high:
        late = batch.ts >= ctx.high
        if late.any():
            insert(state, structure, stored(batch.where(late)))
            batch = batch.where(~late)
    state.keep(structure, lambda c: c.meta["max_start"] >= ctx.high)
    return Batch.concat([*(as_batch(r, schema) for r in waited), batch])
