"""The value of a scalar sub-query: that of at most one row. No name calls it."""

from __future__ import annotations

from muntin.aggregates.description import VALUES, Aggregate, Keeps, same
from muntin.aggregates.multisets import OrderStatistic

SINGLE = Aggregate(
    "single",
    (),
    listed="",
    spark="",
    takes=VALUES,
    type=same,
    build=lambda name, agg, arg, functions: OrderStatistic(name, arg, 0.0),
    keeps=Keeps.MULTISET,
)
