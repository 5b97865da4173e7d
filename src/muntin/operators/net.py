"""Bag differences between instants: equal rows that enter and leave at one instant cancel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.core.batch import Batch
from muntin.kernels.keys import key_ids
from muntin.operators.context import Context
from muntin.operators.operator import Described, Show
from muntin.state.shard_state import ShardState
from muntin.state.window_rows import remaining


@dataclass(frozen=True)
class Net(Described):
    """Signed rows: equal rows that enter and leave at one instant cancel (bag difference between instants).

    ``names``: the columns that are compared (none named: all).
    """

    names: tuple[str, ...] = ()

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        return net(inputs[0], self.names)

    def words(self, show: Show) -> str:
        return "net equal rows inside an instant"


def net(batch: Batch, names: tuple[str, ...] = ()) -> Batch:
    """Signed rows without cancelling pairs (equal in ``names``, by default in all columns); order is kept. Only
    instants with both signs are looked at."""
    if batch.sign is None:
        raise ValueError("only signed rows can be netted")
    both = np.intersect1d(batch.ts[batch.sign > 0], batch.ts[batch.sign < 0])
    if len(both) == 0:
        return batch
    touched = np.flatnonzero(np.isin(batch.ts, both))
    part = batch.take(touched)
    columns = part.columns.select(list(names)) if names else part.columns
    ids, count, _ = key_ids([*columns.columns, pa.array(part.ts)], len(part))
    balance = np.bincount(ids, weights=batch.sign[touched], minlength=count).astype(np.int64)
    keep = np.ones(len(batch), np.bool_)
    keep[touched] = remaining(ids, batch.sign[touched], balance)
    return batch.where(keep)
