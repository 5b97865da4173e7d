"""One query's own rows out of those that one operator gives for many (``operators.synopsis``, ``shared_rows``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.core.batch import Batch
from muntin.kernels.hashing import buffer_values
from muntin.operators.context import Context
from muntin.operators.operator import Described, Show
from muntin.plan.patterns import Pattern
from muntin.state.shard_state import ShardState


@dataclass(frozen=True)
class Reader(Described):
    """The rows of window ``window``, of which ``what`` says what it is, with the given ``columns`` of its input."""

    window: int
    columns: tuple[str, ...]
    what: str

    timeless = True

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        """A slice, without a copy: the rows stand by window."""
        rows = inputs[0]
        places = buffer_values(rows.columns.column(rows.columns.num_columns - 1), np.int32)
        low, high = (int(places.searchsorted(np.int32(w))) for w in (self.window, self.window + 1))
        own = [rows.columns.column(c).slice(low, high - low) for c in self.columns]
        named = pa.RecordBatch.from_arrays(own, names=[f"c{i}" for i in range(len(own))])
        sign = None if rows.sign is None else rows.sign[low:high]
        return Batch(named, rows.ts[low:high], rows.exp[low:high], sign)

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """As in the input."""
        return inputs[0]

    def words(self, show: Show) -> str:
        return f"answers of {self.what}"
