"""FIRST and LAST: by event time, of rows of one instant by value with NULL least. A NULL counts as a value."""

from __future__ import annotations

from dataclasses import replace

from muntin.aggregates.accumulators import Accumulator
from muntin.aggregates.description import VALUES, Aggregate, Functions, Keeps, same
from muntin.aggregates.multisets import OrderStatistic
from muntin.plan.exprs import Agg


def _build(name: str, agg: Agg, arg: str, functions: Functions) -> Accumulator:
    return OrderStatistic(name, "value", 0.0 if agg.fn == "first" else 1.0, pair=arg)


FIRST = Aggregate(
    "first",
    ("first", "first_value", "any_value"),
    takes=VALUES,
    type=same,
    build=_build,
    keeps=Keeps.MULTISET,
    nulls=True,
    dated=True,
    ordered=True,
)
LAST = replace(FIRST, fn="last", names=("last", "last_value"))
