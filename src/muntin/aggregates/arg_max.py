"""ARG_MAX(x, y) and ARG_MIN(x, y): the x of the row with the greatest or the least y.

A row whose y is NULL is left out; a NULL x is an answer like another. Of rows with the same y the greatest x is shown
(ARG_MIN: the least), NULL below all others, so that the answer depends on the rows alone.
"""

from __future__ import annotations

from dataclasses import replace

from muntin.aggregates.accumulators import Accumulator
from muntin.aggregates.description import ORDERED, Aggregate, Functions, Keeps, same
from muntin.aggregates.multisets import OrderStatistic
from muntin.plan.exprs import Agg


def _build(name: str, agg: Agg, arg: str, functions: Functions) -> Accumulator:
    return OrderStatistic(name, "value", 0.0 if agg.fn == "arg_min" else 1.0, pair=arg)


ARG_MAX = Aggregate(
    "arg_max",
    ("arg_max", "argmax", "max_by"),
    spark="MAX_BY",
    takes=ORDERED,
    by=ORDERED,
    type=same,
    build=_build,
    keeps=Keeps.MULTISET,
)
ARG_MIN = replace(ARG_MAX, fn="arg_min", names=("arg_min", "argmin", "min_by"), spark="MIN_BY")
