"""Rows seen as insertions at their start: Istream of rows that nothing can net away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from muntin.core.batch import Batch, all_plus
from muntin.operators.context import Context
from muntin.operators.held_back import due_rows
from muntin.operators.operator import Described, Show
from muntin.plan.patterns import Pattern
from muntin.state.shard_state import ShardState


@dataclass(frozen=True)
class Insertions(Described):
    """Interval rows seen as insertions at their start: Istream of rows that can never be netted away."""

    stateful = True

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        return insertions(self, state, inputs[0], ctx)

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """Rows are only added."""
        return Pattern.MON

    def words(self, show: Show) -> str:
        return "insertions"

    def keeps(self, inputs: Sequence[Pattern], show: Show) -> str:
        return "rows that start later"


def insertions(op: Insertions, state: ShardState, batch: Batch, ctx: Context) -> Batch:
    """Each row once, at its start; rows that start later wait."""
    whole = due_rows(state, "rows", batch, ctx)
    return Batch(whole.columns, whole.ts, whole.exp, all_plus(len(whole)), whole.last)
