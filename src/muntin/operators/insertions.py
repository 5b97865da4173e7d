"""Rows seen as insertions at their start: Istream of rows that nothing can net away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from muntin.core.batch import Batch
from muntin.operators.context import Context
from muntin.operators.events import from_stored, stored_form
from muntin.operators.operator import Described, Show
from muntin.plan.patterns import Pattern
from muntin.state.shard_state import ShardState
from muntin.state.window_rows import entering, insert


@dataclass(frozen=True)
class Insertions(Described):
    """Interval rows seen as insertions at their start: Istream of rows that can never be netted away."""

    stateful = True

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        return insertions(self, state, "op", inputs[0], ctx)

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """Rows are only added."""
        return Pattern.MON

    def words(self, show: Show) -> str:
        return "insertions"

    def keeps(self, inputs: Sequence[Pattern], show: Show) -> str:
        return "rows that start later"


def insertions(op: Insertions, state: ShardState, name: str, batch: Batch, ctx: Context) -> Batch:
    """Each row once, at its start; rows that start later wait."""
    waited = entering(state, name, ctx.low, ctx.high)
    late = batch.ts >= ctx.high
    if late.any():
        later = batch.where(late)
        insert(state, name, stored_form(later))
        batch = batch.where(~late)
    state.keep(name, lambda c: c.meta["max_start"] >= ctx.high)
    rows = [batch, *(from_stored(r, batch.columns.schema) for r in waited)]
    whole = Batch.concat(rows)
    return Batch(whole.columns, whole.ts, whole.exp, np.ones(len(whole), np.int8))
