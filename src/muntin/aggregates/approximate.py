"""APPROX_*: answers that may be near, with bounds, for state that does not grow with what a window holds.

Where a window of time slides over a stream and whole answers are shown, they come from sketches by pane
(``operators.synopsis_sketches``); everywhere else, and over few values, they are exact. Each has a form ``_BOUNDS``, a
struct of the estimate with ``low`` and ``high``, between which the exact answer is (equal: the estimate is exact).

* APPROX_COUNT_DISTINCT(x [, error]): HyperLogLog (Flajolet et al. 2007). ``error`` is the relative standard error,
  0.016 unless given; bounds are three standard errors (Apache DataSketches): three answers in a thousand are outside.
* APPROX_QUANTILE(x, q [, accuracy]), APPROX_PERCENTILE, PERCENTILE_APPROX, APPROX_MEDIAN(x [, accuracy]): the first
  value with the share q of the values up to it, of which the rank is wrong by at most 1 / accuracy of the values
  (10,000 unless given, as in Spark). Bounds always hold.
* APPROX_TOP_K(x, k [, items]): the k values that occur most, with ``count``, which they occur at least, and
  ``at_most``. Of a pane the ``items`` most frequent values are kept (10,000 unless given, as in Spark).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import pyarrow as pa

from muntin.aggregates.accumulators import Accumulator, Replay
from muntin.aggregates.count import CountDistinct
from muntin.aggregates.description import ORDERED, Aggregate, Build, Functions, Keeps, Parameter, same
from muntin.aggregates.frequent import MOST_K, FrequentExact, answer_type
from muntin.aggregates.multisets import OrderStatistic
from muntin.plan.exprs import Agg

ACCURACY, ITEMS = 10_000, 10_000
"""Where nothing else is asked for; Spark's."""

SMALLEST, USUAL, LARGEST = 7, 12, 18
"""Logarithms of the registers of a HyperLogLog sketch."""

BOUNDS = "_bounds"


def registers(agg: Agg) -> int:
    """The logarithm of how many registers the asked standard error takes."""
    if agg.share is None:
        return USUAL
    return min(max(math.ceil(math.log2((1.04 / agg.share) ** 2)), SMALLEST), LARGEST)


def accuracy(agg: Agg) -> int:
    """One by the part of the values by which a rank may be wrong."""
    return ACCURACY if agg.share is None else int(agg.share)


def items(agg: Agg) -> int:
    """How many values of a pane are kept: at least those that are shown."""
    return max(ITEMS if agg.share is None else int(agg.share), int(agg.param or 1))


def sketch_of(agg: Agg) -> str:
    """What is kept of a pane for an aggregate: the same text for what is the same; "" for one that is exact."""
    match agg.fn.removesuffix(BOUNDS):
        case "approx_count":
            return f"hashes{registers(agg)}"
        case "approx_quantile" | "approx_median":
            return f"ranks{accuracy(agg)}"
        case "approx_top_k":
            return f"tops{items(agg)}"
        case _:
            return ""


def share_of(agg: Agg) -> Fraction:
    """The share of a quantile, exactly."""
    return Fraction(str(0.5 if agg.param is None else agg.param)).limit_denominator(10**9)


def bounded(name: str, value: pa.DataType) -> pa.DataType:
    """An answer with its bounds."""
    return pa.struct([(name, value), ("low", value), ("high", value)])


def top_type(item: pa.DataType) -> pa.DataType:
    """The answers of APPROX_TOP_K: at most k values, the most frequent first."""
    return pa.list_(pa.struct([("item", item), ("count", pa.int64()), ("at_most", pa.int64())]))


def top_item(answer: pa.DataType) -> pa.DataType:
    """The type of the values in it."""
    return answer.value_type.field("item").type


@dataclass(frozen=True)
class Exactly:
    """The exact answer in the form of an approximate one."""

    inner: Accumulator
    form: Callable[[pa.Array], pa.Array]

    def values(self, replay: Replay) -> pa.Array:
        return self.form(self.inner.values(replay))


def with_bounds(value: pa.Array, low: pa.Array, high: pa.Array, type: pa.DataType) -> pa.Array:
    """Answers with their bounds; NULL where there is none."""
    return pa.StructArray.from_arrays([value, low, high], names=type.names, mask=value.is_null()).cast(type)


def _distinct(name: str, agg: Agg, arg: str, functions: Functions) -> Accumulator:
    return CountDistinct(name, arg)


def _quantile(name: str, agg: Agg, arg: str, functions: Functions) -> Accumulator:
    return OrderStatistic(name, arg, float(share_of(agg)), share=share_of(agg))


def _top(name: str, agg: Agg, arg: str, functions: Functions) -> Accumulator:
    exact = replace(agg, fn="frequent", type=answer_type(top_item(agg.type)), share=None)
    return Exactly(FrequentExact(name, arg, exact), lambda found: found.flatten()[0].cast(agg.type))


def _with_bounds(build: Build) -> Build:
    def made(name: str, agg: Agg, arg: str, functions: Functions) -> Accumulator:
        return Exactly(build(name, agg, arg, functions), lambda v: with_bounds(v, v, v, agg.type))

    return made


_ERROR = Parameter(2e-3, 1.0, "a relative standard error from 0.002 to 1 as its second argument")
_ACCURACY = "a whole number from 1 as its {} argument: ranks are wrong by at most 1 / accuracy of the values"
_LAST = Parameter(1, 2**31 - 1, _ACCURACY.format("third"), whole=True)

APPROX_COUNT_DISTINCT = Aggregate(
    "approx_count",
    ("approx_count_distinct", "approx_distinct"),
    spark="APPROX_COUNT_DISTINCT",
    takes=ORDERED,
    share=_ERROR,
    type=lambda t: pa.int64(),
    build=_distinct,
    keeps=Keeps.MULTISET,
    empty=0,
    known="always",
    exact=False,
)
APPROX_COUNT_DISTINCT_BOUNDS = replace(
    APPROX_COUNT_DISTINCT,
    fn=f"approx_count{BOUNDS}",
    names=(f"approx_count_distinct{BOUNDS}",),
    spark="APPROX_COUNT_DISTINCT_BOUNDS",
    listed="",
    type=lambda t: bounded("estimate", pa.int64()),
    build=_with_bounds(_distinct),
    empty=(0, 0, 0),
)
APPROX_QUANTILE = Aggregate(
    "approx_quantile",
    ("approx_quantile", "percentile_approx", "approx_percentile"),
    spark="PERCENTILE_APPROX",
    takes=ORDERED,
    parameter=Parameter(0.0, 1.0, "a number from 0 to 1 as its second argument, as in APPROX_QUANTILE(x, 0.95)"),
    share=_LAST,
    type=same,
    build=_quantile,
    keeps=Keeps.MULTISET,
    exact=False,
)
APPROX_QUANTILE_BOUNDS = replace(
    APPROX_QUANTILE,
    fn=f"approx_quantile{BOUNDS}",
    names=(f"approx_quantile{BOUNDS}", f"approx_percentile{BOUNDS}"),
    listed="",
    spark=None,
    type=lambda t: bounded("value", t),
    build=_with_bounds(_quantile),
)
APPROX_MEDIAN = replace(
    APPROX_QUANTILE,
    fn="approx_median",
    names=("approx_median",),
    spark=None,
    parameter=None,
    share=replace(_LAST, words=_ACCURACY.format("second")),
)
APPROX_MEDIAN_BOUNDS = replace(
    APPROX_MEDIAN,
    fn=f"approx_median{BOUNDS}",
    names=(f"approx_median{BOUNDS}",),
    listed="",
    type=lambda t: bounded("value", t),
    build=_with_bounds(_quantile),
)
APPROX_TOP_K = Aggregate(
    "approx_top_k",
    ("approx_top_k",),
    takes=ORDERED,
    parameter=Parameter(1, MOST_K, "how many items as its second argument, as in APPROX_TOP_K(x, 10)", whole=True),
    share=Parameter(1, 10**6, "how many items of a pane are kept as its third argument", whole=True),
    type=top_type,
    build=_top,
    keeps=Keeps.MULTISET,
    exact=False,
)
