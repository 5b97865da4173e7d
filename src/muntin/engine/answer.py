"""The present answer of a query that shows changes, the materialised view (Golab 2006, section 2.1), and the order in
which result rows are shown."""

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


def ordered(rows: pa.Table, plan: QueryPlan) -> pa.Table:
    """Rows in order of time, '-' before '+', then as the query orders them (ORDER BY ... LIMIT), else by the columns
    from left to right, NULLs first: the same answer always prints the same. Nested columns break no ties. Cost: a
    sort."""
    if plan.order or not len(rows):
        return rows
    time, sign = plan.time_column, plan.op_column
    keys: list[tuple[pa.ChunkedArray, str]] = [(rows.column(time), "ascending")]
    if sign is not None:
        keys.append((rows.column(sign), "descending"))  # '+' sorts before '-', but rows leave before others enter
    for field in rows.schema:
        if field.name not in (time, sign) and not (pa.types.is_nested(field.type) or pa.types.is_null(field.type)):
            column = rows.column(field.name)
            keys += [(pc.cast(column.is_valid(), pa.int8()), "ascending"), (_comparable(column), "ascending")]
    table = pa.table([column for column, _ in keys], names=[f"k{i}" for i in range(len(keys))])
    places = pc.sort_indices(table, [(f"k{i}", direction) for i, (_, direction) in enumerate(keys)])
    return rows.combine_chunks().take(places)


def _comparable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column
