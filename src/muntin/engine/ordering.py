"""The order in which the results of one instant leave: that of the query's ORDER BY."""

from __future__ import annotations

import numpy as np

from muntin.aggregates.order import sort_keys
from muntin.core.batch import Batch
from muntin.cql.types import family
from muntin.dataflow.graph import OrderKeys


def in_order(rows: Batch, order: OrderKeys) -> Batch:
    """The rows by instant, those that leave before those that come, then by the keys and, as the first k are chosen
    (``operators.top_rows``), by all columns. Cost: one sort."""
    keys = [rows.ts] if rows.sign is None else [rows.ts, rows.sign.astype(np.int64)]
    for name, descending, nulls_first in order:
        keys += sort_keys(rows.columns.column(name), descending, nulls_first)
    for column in rows.columns.columns:
        if family(column.type) != "nested":
            keys += sort_keys(column, descending=False, nulls_first=True)
    return rows.take(np.lexsort(keys[::-1]))
