"""Insertions or deletions alone (Istream, Dstream)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from muntin.core.batch import Batch
from muntin.operators.context import Context
from muntin.operators.operator import Described, Show
from muntin.plan.patterns import Pattern
from muntin.state.shard_state import ShardState


@dataclass(frozen=True)
class OneSign(Described):
    """Signed rows: only those that enter (+1, Istream) or leave (-1, Dstream)."""

    sign: int

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        batch = inputs[0]
        assert batch.sign is not None
        return batch.where(batch.sign == self.sign)

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """Rows are only added."""
        return Pattern.MON

    def words(self, show: Show) -> str:
        return "insertions only" if self.sign > 0 else "deletions only"
