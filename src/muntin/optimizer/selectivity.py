"""Shares of rows that conditions keep: the textbook guesses where nothing is known."""

from __future__ import annotations

from collections.abc import Mapping

from muntin.cql.unparse import plain_text
from muntin.optimizer.statistics import Statistics
from muntin.plan.exprs import Call, Column, Expr, Literal

RANGE, LIKE, NULL, OTHER = 1 / 3, 0.25, 0.05, 0.5
Distinct = Mapping[str, float]


def selectivity(e: Expr, distinct: Distinct, statistics: Statistics) -> float:
    """The share of rows for which the condition is true; ``distinct``: distinct values by column."""
    if statistics.selectivities:
        given = statistics.selectivities.get(plain_text(e))
        if given is not None:
            return given
    match e:
        case Literal(value, _):
            return 1.0 if value else 0.0
        case Call("and", args):
            share = 1.0
            for a in args:
                share *= selectivity(a, distinct, statistics)
            return share
        case Call("or", args):
            left_out = 1.0
            for a in args:
                left_out *= 1 - selectivity(a, distinct, statistics)
            return 1 - left_out
        case Call("not", (arg,)):
            return 1 - selectivity(arg, distinct, statistics)
        case Call("eq" | "eq_null_safe", (a, b)):
            return 1 / max(values_of(a, distinct), values_of(b, distinct), 1.0)
        case Call("ne", (a, b)):
            return 1 - 1 / max(values_of(a, distinct), values_of(b, distinct), 2.0)
        case Call("in", (x, *members)):
            return min(1.0, len(members) / max(values_of(x, distinct), 1.0))
        case Call("lt" | "le" | "gt" | "ge", _):
            return RANGE
        case Call("like", _):
            return LIKE
        case Call("is_null", _):
            return NULL
        case Call("is_not_null", _):
            return 1 - NULL
        case _:
            return OTHER


def values_of(e: Expr, distinct: Distinct) -> float:
    """Distinct values of an expression: of a column as known, of a constant one, of a function its columns' product."""
    match e:
        case Column(name, _):
            return distinct.get(name, 1.0)
        case Literal():
            return 1.0
        case Call(_, args):
            product = 1.0
            for a in args:
                product *= values_of(a, distinct)
            return product
