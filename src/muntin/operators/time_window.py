"""Windows of time on a source: event times become intervals of validity. Static tables wait for a beginning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from muntin.core.batch import Batch, concat_rows, forever, no_columns
from muntin.operators.context import Context
from muntin.operators.operator import Begins, Described, Show
from muntin.optimizer.plan_text import window_text
from muntin.plan.patterns import Pattern
from muntin.plan.windows import QueryOptions, Ticks, Unbounded, Window, in_order, validity
from muntin.state.shard_state import ShardState


@dataclass(frozen=True)
class TimeWindow(Described):
    """Rows of a source, valid while ``window`` holds them, as the evaluation instants ``ticks`` (None: all) see them.

    ``options``: what gives the window its meaning (``meaning_of``). Rows that no instant sees are left out.
    ``weighed``: a last column says how many rows of the stream each one stands for.
    """

    window: Window
    ticks: Ticks | None
    options: QueryOptions
    weighed: bool = field(default=False, kw_only=True)

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        batch = inputs[0]
        start, exp = validity(self.window, batch.ts, self.options)
        if self.ticks is not None:
            start, exp = self.ticks.at_or_after(start), self.ticks.at_or_after(exp)
        columns = batch.columns
        if self.weighed:
            weight = pa.array(np.full(len(batch), ctx.weight))
            columns = pa.RecordBatch.from_arrays(
                [*columns.columns, weight], names=[*columns.schema.names, f"c{columns.num_columns}"]
            )
        return Batch(columns, start, exp).where(start < exp)

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """Rows of a window of time leave in the order in which they came, but for months (``in_order``)."""
        if isinstance(self.window, Unbounded):
            return Pattern.MON
        return Pattern.WKS if in_order(self.window) else Pattern.WK

    def words(self, show: Show) -> str:
        weighed = ", rows weighed by the share that is admitted" if self.weighed else ""
        return f"window {window_text(self.window)}{weighed}"


_ROW = "__row"
"""A column that counts rows which have no others."""


@dataclass(frozen=True)
class StaticRows(Described):
    """Rows of a static table: there from the query's first instant on, and held back until that is known."""

    begins: Begins  # type: ignore[misc]

    stateful = True

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        batch = inputs[0]
        if len(batch):
            state.append("held", batch.columns.append_column(_ROW, pa.array(np.zeros(len(batch), np.int8))))
        if ctx.first >= ctx.high:
            return batch.take(np.empty(0, np.int64))
        names = batch.columns.schema.names
        held = [c.load().select(names) for c in state.list("held")] if names else []
        rows = state.keep("held", lambda _: False)
        columns = concat_rows([batch.columns.slice(0, 0), *held]) if names else no_columns(rows)
        return Batch(columns, np.full(rows, ctx.first, np.int64), forever(rows))

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """Rows never leave."""
        return Pattern.MON

    def words(self, show: Show) -> str:
        return "static rows, there from the query's first instant on"

    def keeps(self, inputs: Sequence[Pattern], show: Show) -> str:
        return "the rows, until that instant is known"


def meaning_of(options: QueryOptions) -> QueryOptions:
    """The options that say what a window means, without those that only hint."""
    return QueryOptions(bounds=options.bounds, origin=options.origin, granule=options.granule, zone=options.zone)
