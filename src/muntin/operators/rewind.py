"""A window of time over rows that came out of a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from muntin.core.batch import Batch
from muntin.operators.context import Context
from muntin.operators.operator import Described, Show
from muntin.optimizer.plan_text import window_text
from muntin.plan.patterns import Pattern
from muntin.plan.windows import QueryOptions, Unbounded, Window, in_order, validity
from muntin.state.shard_state import ShardState


@dataclass(frozen=True)
class Rewind(Described):
    """Rows that came out of a query at ``ts`` enter a time window with that event time; ``shift`` is added to it."""

    window: Window
    options: QueryOptions
    shift: int = 0

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        return rewind(self, inputs[0])

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """The window's."""
        if isinstance(self.window, Unbounded):
            return Pattern.MON
        return Pattern.WKS if in_order(self.window) else Pattern.WK

    def words(self, show: Show) -> str:
        return f"window the output: {window_text(self.window)}"


def rewind(op: Rewind, batch: Batch) -> Batch:
    """Rows that came out at ``ts`` as rows of a time window; their signs (all +1) are dropped."""
    start, exp = validity(op.window, batch.ts + op.shift, op.options)
    return Batch(batch.columns, start, exp).where(start < exp)
