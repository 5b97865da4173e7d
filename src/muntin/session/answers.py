"""Rows of a batch answer in order, as a DataFrame of Spark's has none."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from muntin.dataflow.graph import QueryPlan
from muntin.spark.feeds import quoted


def first_in_order(df: Any, plan: QueryPlan, limit: int) -> pa.Table:
    """The first ``limit`` rows of a batch answer and one more if there is one (all for 0): in order of time, '-' first.

    Ties are as the query orders them (ORDER BY ... LIMIT), else by the columns from left to right, so that the same
    answer prints the same.
    """
    time, sign = plan.time_column, plan.op_column
    if plan.order:  # the rows of an instant come from one task, in their order
        place = next(n for n in (f"row{i}" for i in range(len(df.columns) + 1)) if n not in df.columns)
        placed = df.selectExpr("*", f"monotonically_increasing_id() AS `{place}`").orderBy(quoted(time), place)
        rows: pa.Table = (placed.limit(limit + 1) if limit else placed).drop(place).toArrow()
        return rows
    # Spark cannot order by maps.
    others = [n for n, kind in df.dtypes if n not in (time, sign) and "map<" not in kind]
    keys = [time, *([] if sign is None else [sign]), *others]
    # '+' sorts before '-', but inside an instant rows leave before others enter.
    sorted_ = df.orderBy(*map(quoted, keys), ascending=[k != sign for k in keys])
    rows = (sorted_.limit(limit + 1) if limit else sorted_).toArrow()
    return rows
