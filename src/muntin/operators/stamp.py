"""A row's start or expiry as a column, and rows that live until such columns say (INTERNAL windows, thesis 3.3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.core.batch import Batch, forever
from muntin.operators.context import Context
from muntin.operators.operator import Described, Show
from muntin.plan.patterns import Pattern
from muntin.state.shard_state import ShardState
from muntin.state.window_rows import int64s


@dataclass(frozen=True)
class Stamp(Described):
    """Each row's start (``end``: its expiry) as one more column (int64 microseconds): rows of equal values keep apart
    if they start apart."""

    column: str
    end: bool = False

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        return stamp(self, inputs[0])

    def words(self, show: Show) -> str:
        return "note the expiry" if self.end else "note the start"


@dataclass(frozen=True)
class Until(Described):
    """Rows live until the least of these columns says (none: forever), whatever expiry they came with."""

    columns: tuple[str, ...]

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        return until(self.columns, inputs[0])

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """Rows leave with the first of their external parts."""
        return inputs[0] if inputs[0] is Pattern.STR else (Pattern.WK if self.columns else Pattern.MON)

    def words(self, show: Show) -> str:
        return "stay until the external rows expire" if self.columns else "stay"


def stamp(op: Stamp, batch: Batch) -> Batch:
    """The rows with their start or their expiry as a column."""
    at = pa.array(batch.exp if op.end else batch.ts)
    return batch.with_columns(batch.columns.append_column(op.column, at))


def until(columns: tuple[str, ...], batch: Batch) -> Batch:
    """The rows with the least of the columns as their expiry."""
    ends = [int64s(batch.columns, c) for c in columns]
    return Batch(batch.columns, batch.ts, np.minimum.reduce(ends) if ends else forever(len(batch)), batch.sign)
