"""Which accumulator computes which aggregate function."""

from __future__ import annotations

import pyarrow as pa

from muntin.physical.operators.accumulators import (
    Accumulator,
    CountDistinct,
    CountRows,
    CountValues,
    SumExact,
    SumFloat,
)
from muntin.physical.operators.extremes import Extreme
from muntin.plan.exprs import Agg


def accumulator(name: str, agg: Agg, arg: str) -> Accumulator:
    """The accumulator of an aggregate, kept under ``name``; ``arg``: its argument's column ("" for COUNT(*))."""
    match agg.fn:
        case "count":
            return CountRows() if agg.arg is None else CountValues(name, arg)
        case "count_distinct":
            return CountDistinct(name, arg)
        case "sum" | "avg":
            if agg.arg is not None and pa.types.is_floating(agg.arg.type):
                return SumFloat(name, arg, agg.fn)
            return SumExact(name, arg, agg.fn, agg.type)
        case "min" | "max":
            return Extreme(name, arg, agg.fn)
        case _:
            raise ValueError(f"unknown aggregate {agg.fn!r}")
