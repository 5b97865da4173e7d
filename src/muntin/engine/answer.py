"""The present answer of a query that shows changes: the materialised view (Golab 2006, section 2.1)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.core.errors import ConfigError, DataError
from muntin.dataflow.graph import QueryPlan
from muntin.kernels.keys import key_ids


def present_answer(plan: QueryPlan, changes: pa.Table) -> pa.Table:
    """The rows that are in the answer after ``changes`` (all of the query's result rows so far, in any order): its
    columns without time and sign, equal rows as often as they are there.

    Raises ConfigError where the query shows no changes, DataError where something is taken away that is not there:
    the changes are not all. Cost: the changes.
    """
    if not plan.shows_op:
        raise ConfigError(
            "a present answer is added up from changes ('+' and '-'), and this query shows insertions, deletions or "
            "whole answers alone: leave out Istream(...), Dstream(...), Rstream(...) and SLIDE"
        )
    rows = changes.combine_chunks().to_batches()
    whole = rows[0] if rows else pa.RecordBatch.from_pylist([], plan.result_schema.to_arrow())
    columns = whole.select(whole.schema.names[: len(plan.schema)])
    come = np.asarray(pc.equal(whole.column(len(plan.schema) + 1), "+").to_numpy(zero_copy_only=False), bool)
    ids, count, first = key_ids(columns.columns, whole.num_rows)
    there = np.bincount(ids, weights=np.where(come, 1, -1), minlength=count).astype(np.int64)
    if (there < 0).any():
        raise DataError(
            f"the changes take away {columns.take(pa.array(first[there < 0][:1])).to_pylist()[0]}, which they never "
            "brought: they are not all of the query's result rows from its first batch on"
        )
    return pa.Table.from_batches([columns.take(pa.array(np.repeat(first, there)))])
