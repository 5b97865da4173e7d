"""Aggregates over the values of one group, each from scratch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from muntin.reference.values import NAN, canonical, checked_int, compare, fit_decimal, is_nan


def aggregate(fn: str, values: Sequence[Any], type_: pa.DataType) -> Any:
    """``fn`` over ``values`` (NULLs already left out; for COUNT(*) anything); ``type_`` is the result's.

    Over no values a count is 0 and the others are NULL. Raises DataError when a SUM of integers overflows.
    """
    match fn:
        case "count":
            return len(values)
        case "count_distinct":
            return len({canonical(v) for v in values})
    return canonical(_OVER_SOME[fn](values, type_)) if values else None


def _sum(values: Sequence[Any], type_: pa.DataType) -> Any:
    if pt.is_floating(type_):
        return float_sum([float(v) for v in values])
    if pt.is_decimal(type_):
        with localcontext() as exact:
            exact.prec = 80
            return fit_decimal(sum(values, Decimal(0)), type_)
    return checked_int(sum(values), type_)


def _avg(values: Sequence[Any], type_: pa.DataType) -> float:
    if isinstance(values[0], float):
        total = float_sum(values)
        return total / len(values)
    return float(sum((Fraction(v) for v in values), Fraction(0)) / len(values))


def float_sum(values: Sequence[float]) -> float:
    """The sum, rounded once, whatever the order; NaN and infinities as IEEE 754 adds them."""
    if any(is_nan(v) for v in values):
        return NAN
    infinities = {v for v in values if math.isinf(v)}
    if infinities:
        return infinities.pop() if len(infinities) == 1 else NAN
    try:
        return math.fsum(values)
    except OverflowError:
        exact = sum((Fraction(v) for v in values), Fraction(0))
        return math.inf if exact > 0 else -math.inf


def _extreme(sign: int) -> Callable[[Sequence[Any], pa.DataType], Any]:
    def pick(values: Sequence[Any], type_: pa.DataType) -> Any:
        best = values[0]
        for v in values[1:]:
            if compare(v, best) * sign > 0:
                best = v
        return best

    return pick


_OVER_SOME: dict[str, Callable[[Sequence[Any], pa.DataType], Any]] = {
    "sum": _sum,
    "avg": _avg,
    "min": _extreme(-1),
    "max": _extreme(1),
}
