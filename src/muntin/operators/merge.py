"""All rows of several inputs with weights; what runs ahead of the others waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.core.batch import Batch
from muntin.operators.context import Context
from muntin.operators.held_back import held_back
from muntin.operators.operator import Described, Show
from muntin.plan.patterns import Pattern
from muntin.state.shard_state import ShardState


@dataclass(frozen=True)
class Merge(Described):
    """All rows of the inputs (names of the first), those of input i with weight ``weights[i]`` (+1 or -1)."""

    weights: tuple[int, ...]
    hold: bool = False
    """Whether some inputs run ahead of others: rows of instants that are not complete then wait."""

    @property
    def stateful(self) -> bool:  # type: ignore[override]
        return self.hold

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        whole = merge(self.weights, list(inputs))
        return held_back(state, "waiting", whole, ctx) if self.hold else whole

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """STR where rows are taken away; rows of different windows leave in another order than they came."""
        hardest = Pattern.STR if min(self.weights) < 0 else max(inputs)
        return Pattern.WK if hardest is Pattern.WKS and len(inputs) > 1 else hardest

    def words(self, show: Show) -> str:
        return "merge " + ", ".join("+" if w > 0 else "-" for w in self.weights)

    def keeps(self, inputs: Sequence[Pattern], show: Show) -> str:
        return "rows of instants that are not complete" if self.hold else ""


def merge(weights: tuple[int, ...], batches: list[Batch]) -> Batch:
    """All rows, with their weights times the input's; one sign column if any input has one or is subtracted."""
    names = batches[0].columns.schema.names
    if all(w > 0 for w in weights) and all(b.sign is None for b in batches):
        return Batch.concat([_renamed(b, names) for b in batches])
    return Batch.concat([_weighted(_renamed(b, names), w) for b, w in zip(batches, weights, strict=True)])


def _renamed(batch: Batch, names: list[str]) -> Batch:
    if batch.columns.schema.names == names:
        return batch
    return batch.with_columns(pa.RecordBatch.from_arrays(batch.columns.columns, names=names))


def _weighted(batch: Batch, weight: int) -> Batch:
    sign = np.ones(len(batch), np.int8) if batch.sign is None else batch.sign
    return Batch(batch.columns, batch.ts, batch.exp, sign * np.int8(weight))
