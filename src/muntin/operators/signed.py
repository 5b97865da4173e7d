"""Updates of a table as rows with weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from muntin.core.batch import Batch, no_columns
from muntin.operators.context import Context
from muntin.operators.operator import Described, Show
from muntin.plan.patterns import Pattern
from muntin.state.shard_state import ShardState


@dataclass(frozen=True)
class Signed(Described):
    """Rows of a table's feed, weighted by the boolean ``column`` (false: -1), which is then dropped."""

    column: str

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        return signed(self.column, inputs[0])

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """An update may take any row away."""
        return Pattern.STR

    def words(self, show: Show) -> str:
        return "weights of a table's updates"


def signed(column: str, batch: Batch) -> Batch:
    """Rows weighted by a boolean column, which goes: the updates of a table."""
    add = np.asarray(batch.columns.column(column).to_numpy(zero_copy_only=False), np.bool_)
    kept = batch.columns.select([n for n in batch.columns.schema.names if n != column])
    if not kept.schema.names:
        kept = no_columns(len(batch))
    return Batch(kept, batch.ts, batch.exp, np.where(add, 1, -1).astype(np.int8))
