"""MEDIAN and QUANTILE: the value at a rank, linear between neighbours (a mean in proportion); PERCENTILE_DISC: the
first value with a share of the values up to it."""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa

from muntin.aggregates.accumulators import Accumulator
from muntin.aggregates.description import NUMBERS, ORDERED, Aggregate, Functions, Keeps, Parameter, same
from muntin.aggregates.multisets import OrderStatistic
from muntin.plan.exprs import Agg


def _build(name: str, agg: Agg, arg: str, functions: Functions) -> Accumulator:
    return OrderStatistic(name, arg, 0.5 if agg.param is None else agg.param, blend=True)


def _discrete(name: str, agg: Agg, arg: str, functions: Functions) -> Accumulator:
    q = 0.5 if agg.param is None else agg.param
    return OrderStatistic(name, arg, q, share=Fraction(str(q)).limit_denominator(10**9))


MEDIAN = Aggregate(
    "median",
    ("median",),
    takes=NUMBERS,
    type=lambda t: pa.float64(),
    build=_build,
    keeps=Keeps.MULTISET,
    distinct="yes",
)
QUANTILE = Aggregate(
    "quantile",
    ("quantile", "percentile"),
    spark="PERCENTILE",
    takes=NUMBERS,
    parameter=Parameter(0.0, 1.0, "a number from 0 to 1 as its second argument, as in QUANTILE(x, 0.95)"),
    type=lambda t: pa.float64(),
    build=_build,
    keeps=Keeps.MULTISET,
)
PERCENTILE_DISC = Aggregate(
    "percentile_disc",
    ("percentile_disc",),
    takes=ORDERED,
    parameter=Parameter(0.0, 1.0, "a number from 0 to 1 as its second argument, as in PERCENTILE_DISC(x, 0.95)"),
    type=same,
    build=_discrete,
    keeps=Keeps.MULTISET,
)
