"""Windows of the latest rows of several sizes over one stream: rows are numbered and kept once, for the largest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.core.batch import Batch, concat_rows
from muntin.operators.context import Context
from muntin.operators.operator import Show
from muntin.operators.rows_window import RowsWindow, rows_in, windows_of
from muntin.state.shard_state import ShardState


@dataclass(frozen=True)
class SharedRows(RowsWindow):
    """As ``RowsWindow`` for windows of each of ``counts``, of which ``count`` is the greatest.

    Columns out: those of the input, and the place of the window, by which the rows are ordered.
    """

    counts: tuple[int, ...] = ()

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        found = windows_of(self, self.counts, state, inputs[0], ctx) or [Batch.empty(inputs[0].columns.schema, True)]
        return self._together(found, inputs[0].columns.num_columns)

    def current(self, inputs: Sequence[Batch], state: ShardState, at: int, ctx: Context) -> Batch:
        """The rows of each window. Cost: those that are kept, for each window."""
        schema = inputs[0].columns.schema
        return self._together([rows_in(self, n, state, schema, at) for n in self.counts], len(schema))

    @staticmethod
    def _together(found: Sequence[Batch], columns: int) -> Batch:
        """The rows of the windows, one after the other."""
        place = pa.array(np.repeat(np.arange(len(found), dtype=np.int32), [len(b) for b in found]))
        rows = concat_rows([b.columns for b in found]).append_column(f"c{columns}", place)
        sign = np.concatenate([b.sign for b in found if b.sign is not None])
        return Batch(rows, np.concatenate([b.ts for b in found]), np.concatenate([b.exp for b in found]), sign)

    def words(self, show: Show) -> str:
        sizes = ", ".join(map(str, self.counts))
        return f"{super().words(show)}, and at once those of {sizes} rows"
