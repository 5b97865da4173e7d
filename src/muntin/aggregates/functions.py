"""Which accumulator computes which aggregate function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa

from muntin.aggregates.accumulators import (
    Accumulator,
    CountRows,
    CountValues,
    SumExact,
    SumFloat,
    Variance,
)
from muntin.aggregates.distinct_values import CountDistinct, OfDistinct
from muntin.aggregates.extremes import Extreme
from muntin.aggregates.multisets import Collect, OrderStatistic
from muntin.aggregates.panes import partial_name
from muntin.aggregates.user_defined import MergedStates, RunningState, UserDefined
from muntin.plan.aggregates import Evaluate
from muntin.plan.exprs import Agg

Functions = Mapping[str, Evaluate]
"""The code of user-defined aggregates by name."""


def partial_accumulator(name: str, agg: Agg, arg: str, functions: Functions) -> Accumulator:
    """The accumulator of an aggregate over pane partials; ``arg``: its argument's column before they were folded."""
    match agg.fn:
        case "count":
            return CountValues(name, partial_name(arg, "count"), partial_name(arg, "count"))
        case "sum":
            return SumExact(name, partial_name(arg, "sum"), "sum", agg.type)
        case "avg":
            return SumExact(name, partial_name(arg, "sum"), "avg", agg.type, partial_name(arg, "count"))
        case "min" | "max":
            return Extreme(name, partial_name(arg, agg.fn), agg.fn)
        case fn if fn.startswith("udaf:"):
            return MergedStates(name, partial_name(arg, fn), functions[fn.removeprefix("udaf:")], agg.type)
        case _:
            raise ValueError(f"aggregate {agg.fn!r} has no partials")


def accumulator(name: str, agg: Agg, arg: str, signed: bool, functions: Functions) -> Accumulator:
    """The accumulator of an aggregate, kept under ``name``; ``arg``: its argument's column ("" for COUNT(*)).

    ``signed``: rows may be taken away before their expiry, so MIN and MAX must remember every value.
    """
    if agg.distinct and agg.base != "count":
        return OfDistinct(name, arg, accumulator(f"{name}.once", replace(agg, fn=agg.base), arg, signed, functions))
    match agg.fn:
        case "count":
            return CountRows() if agg.arg is None else CountValues(name, arg)
        case "count_distinct":
            return CountDistinct(name, arg)
        case "sum" | "avg":
            if agg.arg is not None and pa.types.is_floating(agg.arg.type):
                return SumFloat(name, arg, agg.fn)
            return SumExact(name, arg, agg.fn, agg.type)
        case "min" | "max" if not signed:
            return Extreme(name, arg, agg.fn)
        case "min" | "max":
            return OrderStatistic(name, arg, 0.0 if agg.fn == "min" else 1.0)
        case "single":
            return OrderStatistic(name, arg, 0.0)
        case "median" | "quantile":
            return OrderStatistic(name, arg, 0.5 if agg.param is None else agg.param, blend=True)
        case "var_samp" | "var_pop" | "stddev_samp" | "stddev_pop":
            return Variance(name, arg, agg.fn.endswith("samp"), agg.fn.startswith("stddev"))
        case "collect":
            return Collect(name, arg)
        case "first" | "last":
            return OrderStatistic(name, "value", 0.0 if agg.fn == "first" else 1.0, pair=arg)
        case fn if fn.startswith("udaf:"):
            how = RunningState if agg.inverse else UserDefined
            return how(name, arg, functions[fn.removeprefix("udaf:")], agg.type)
        case _:
            raise ValueError(f"unknown aggregate {agg.fn!r}")
