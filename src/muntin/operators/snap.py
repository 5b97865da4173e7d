"""Validity moved to evaluation instants, for rows that are not a source's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from muntin.core.batch import Batch
from muntin.operators.context import Context
from muntin.operators.operator import Described, Show
from muntin.plan.windows import Ticks
from muntin.state.shard_state import ShardState


@dataclass(frozen=True)
class Snap(Described):
    """Move both ends of validity to the evaluation instants; rows that none sees are left out."""

    ticks: Ticks

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        return snap(self.ticks, inputs[0])

    def words(self, show: Show) -> str:
        return "move to evaluation instants"


def snap(ticks: Ticks, batch: Batch) -> Batch:
    """Both ends of validity at the evaluation instants; rows that none sees are left out."""
    start, exp = ticks.at_or_after(batch.ts), ticks.at_or_after(batch.exp)
    return Batch(batch.columns, start, exp, batch.sign).where(start < exp)
