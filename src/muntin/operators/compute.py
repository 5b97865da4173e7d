"""Selection and projection of rows in flight; stateless. Order, times and signs pass through (thesis 2.2.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from muntin.core.batch import Batch, no_columns
from muntin.core.errors import DataError
from muntin.operators.context import Context
from muntin.operators.operator import Described, Show
from muntin.operators.settle import settled
from muntin.plan.exprs import TRUE, Expr
from muntin.scalars.evaluate import evaluate, predicate_mask
from muntin.state.shard_state import ShardState


@dataclass(frozen=True)
class Compute(Described):
    """Stateless: keep the rows for which ``predicate`` is true, then compute ``columns`` (None: all as they are)."""

    predicate: Expr = TRUE
    columns: tuple[tuple[str, Expr], ...] | None = None

    timeless = True

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        return compute(self, inputs[0])

    def words(self, show: Show) -> str:
        kept = "" if self.predicate == TRUE else f"keep {show(self.predicate)}"
        made = "" if self.columns is None else "compute " + (", ".join(show(e) for _, e in self.columns) or "nothing")
        return ", ".join(p for p in (kept, made) if p) or "pass"


def compute(op: Compute, batch: Batch) -> Batch:
    """Rows for which the predicate is true, with the columns computed.

    Raises DataError where an expression has no value for a row that anyone could see.
    """
    try:
        return _computed(op, batch)
    except DataError:
        seen = settled(batch)
        if len(seen) == len(batch):
            raise
        return _computed(op, seen)


def _computed(op: Compute, batch: Batch) -> Batch:
    if op.predicate != TRUE:
        batch = batch.where(predicate_mask(op.predicate, batch.columns))
    return batch if op.columns is None else batch.with_columns(project(op.columns, batch.columns))


def project(columns: tuple[tuple[str, Expr], ...], rows: pa.RecordBatch) -> pa.RecordBatch:
    """The named expressions over the rows."""
    if not columns:
        return no_columns(rows.num_rows)
    return pa.RecordBatch.from_arrays([evaluate(e, rows) for _, e in columns], names=[n for n, _ in columns])
