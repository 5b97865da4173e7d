"""Rows as many times as a count says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.core.batch import Batch
from muntin.operators.context import Context
from muntin.operators.operator import Described, Show
from muntin.plan.exprs import Expr
from muntin.scalars.evaluate import evaluate
from muntin.state.shard_state import ShardState


@dataclass(frozen=True)
class Repeat(Described):
    """Each row as many times as ``times`` says (NULL or below one: not at all)."""

    times: Expr

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        return repeat(self.times, inputs[0])

    def words(self, show: Show) -> str:
        return f"repeat {show(self.times)} times"


def repeat(times: Expr, batch: Batch) -> Batch:
    """Each row as many times as the expression says."""
    counts = evaluate(times, batch.columns).fill_null(0).cast(pa.int64()).to_numpy(zero_copy_only=False)
    counts = np.maximum(counts, 0)
    return batch if (counts == 1).all() else batch.take(np.repeat(np.arange(len(batch)), counts))
