"""Instants at which rows of a query's windows come and go, remembered until they are due."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch
from muntin.core.time import FOREVER
from muntin.kernels.hashing import buffer_values
from muntin.operators.context import Context
from muntin.state.shard_state import ShardState


def marked(state: ShardState, marks: Sequence[Batch], ctx: Context) -> Context:
    """The context with the instants of this step at which rows of ``marks`` enter or leave; as it is without marks."""
    if not marks:
        return ctx
    times = [t for b in marks for t in (b.ts, b.exp)]
    return replace(ctx, instants=_instants(state, "marks", times, ctx.low, ctx.until))


def _instants(
    state: ShardState, structure: str, marks: list[NDArray[np.int64]], low: int, high: int
) -> NDArray[np.int64]:
    """Instants of this step; later ones are remembered."""
    new = np.unique(np.concatenate(marks))
    new = new[new != FOREVER]
    if len(new):
        rows = pa.RecordBatch.from_arrays([pa.array(new)], names=["t"])
        state.append(structure, rows, low=int(new[0]), high=int(new[-1]))
    found = [
        buffer_values(c.load().column("t"), np.int64)
        for c in state.list(structure)
        if c.meta["low"] < high and c.meta["high"] >= low
    ]
    state.keep(structure, lambda c: c.meta["high"] >= high)
    times = np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)
    return times[(times >= low) & (times < high)]
