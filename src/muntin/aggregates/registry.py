"""The aggregate functions that there are, and what others ask about them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from muntin.aggregates.accumulators import Accumulator
from muntin.aggregates.approximate import (
    APPROX_COUNT_DISTINCT,
    APPROX_COUNT_DISTINCT_BOUNDS,
    APPROX_MEDIAN,
    APPROX_MEDIAN_BOUNDS,
    APPROX_QUANTILE,
    APPROX_QUANTILE_BOUNDS,
    APPROX_TOP_K,
)
from muntin.aggregates.arg_max import ARG_MAX, ARG_MIN
from muntin.aggregates.collect import COLLECT, COLLECT_SET
from muntin.aggregates.count import COUNT, COUNT_IF
from muntin.aggregates.description import Aggregate, Functions
from muntin.aggregates.distinct_values import OfDistinct
from muntin.aggregates.extremes import BOOL_AND, BOOL_OR, EVERY, MAX, MIN
from muntin.aggregates.first_last import FIRST, LAST
from muntin.aggregates.frequent import FREQUENT, FREQUENT_LISTS, FREQUENT_SKETCH
from muntin.aggregates.quantile import MEDIAN, PERCENTILE_DISC, QUANTILE
from muntin.aggregates.regression import REGRESSION
from muntin.aggregates.single import SINGLE
from muntin.aggregates.sum import AVG, SUM, TRY_AVG, TRY_SUM
from muntin.aggregates.user_defined import PREFIX, USER_DEFINED, name_of
from muntin.aggregates.variance import STDDEV_POP, STDDEV_SAMP, VAR_POP, VAR_SAMP
from muntin.plan.exprs import Agg

AGGREGATES: tuple[Aggregate, ...] = (
    COUNT, SUM, AVG, MIN, MAX, MEDIAN, QUANTILE, PERCENTILE_DISC, APPROX_COUNT_DISTINCT, APPROX_COUNT_DISTINCT_BOUNDS,
    APPROX_QUANTILE, APPROX_QUANTILE_BOUNDS, APPROX_MEDIAN, APPROX_MEDIAN_BOUNDS, APPROX_TOP_K, STDDEV_SAMP,
    STDDEV_POP, VAR_SAMP, VAR_POP, *REGRESSION, FIRST, LAST, ARG_MAX, ARG_MIN, COLLECT, COLLECT_SET, FREQUENT,
    FREQUENT_LISTS, FREQUENT_SKETCH, COUNT_IF, BOOL_OR, BOOL_AND, EVERY, TRY_SUM,
    TRY_AVG, SINGLE,
)  # fmt: skip
"""In the order in which messages list them; of one ``fn`` the first says how it is computed."""

_BY_FN = {a.fn: a for a in reversed(AGGREGATES)}


def described(agg: Agg) -> Aggregate:
    """The function of an aggregate."""
    return of_fn(agg.base)


def of_fn(fn: str) -> Aggregate:
    """The function that ``Agg.fn`` names, without ``_distinct``. Raises ValueError for no function's name."""
    if fn.startswith(PREFIX):
        return USER_DEFINED
    found = _BY_FN.get(fn)
    if found is None:
        raise ValueError(f"unknown aggregate {fn!r}")
    return found


def is_name(name: str) -> bool:
    """Whether SQL calls one of the functions so; case does not matter."""
    return any(name.lower() in a.names for a in AGGREGATES)


def listed() -> str:
    """The aggregates of the language, for messages."""
    return ", ".join(a.shown if a.listed is None else a.listed for a in AGGREGATES if a.listed != "")


def called() -> list[str]:
    """The names by which SQL calls them."""
    return [name for a in AGGREGATES for name in a.names]


def spark_name(agg: Agg) -> str:
    """What Spark SQL calls the function; empty: no call, the bare argument."""
    what = described(agg)
    if what is USER_DEFINED:
        return name_of(agg.fn)
    return what.fn.upper() if what.spark is None else what.spark


def folds(aggs: Iterable[Agg]) -> bool:
    """Whether partials can stand for the rows of a pane, in all of them."""
    return all(not a.distinct and described(a).parts(a) for a in aggs)


def partial_accumulator(name: str, agg: Agg, arg: str, functions: Functions) -> Accumulator:
    """The accumulator of an aggregate over pane partials; ``arg``: its argument's column before they were folded."""
    merged = described(agg).merged
    if merged is None:
        raise ValueError(f"aggregate {agg.fn!r} has no partials")
    return merged(name, agg, arg, functions)


def accumulator(name: str, agg: Agg, arg: str, signed: bool, functions: Functions) -> Accumulator:
    """The accumulator of an aggregate, kept under ``name``; ``arg``: its argument's column ("" for COUNT(*)).

    ``signed``: rows may be taken away before their expiry.
    """
    what = described(agg)
    if not agg.distinct:
        build = what.signed if signed and what.signed is not None else what.build
        return build(name, agg, arg, functions)
    if what.of_distinct is not None:
        return what.of_distinct(name, agg, arg, functions)
    inner = accumulator(f"{name}.once", replace(agg, fn=agg.base), arg, signed, functions)
    return OfDistinct(name, arg, inner)
