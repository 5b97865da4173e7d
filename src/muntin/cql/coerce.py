"""Spark's implicit type rules: common types, decimal precision, and the casts that they put into a bound tree."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from muntin.cql.types import family
from muntin.plan.exprs import Call, Expr, Literal

_INT_DIGITS = {8: 3, 16: 5, 32: 10, 64: 20}


def common_type(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """The type in which values of both compare, or None when their families differ."""
    if a == b:
        return a
    fa, fb = family(a), family(b)
    if fa == "null":
        return b
    if fb == "null":
        return a
    if fa == fb == "number":
        return common_number(a, b)
    if {fa, fb} <= {"timestamp", "date"}:
        zoned = next((t for t in (a, b) if family(t) == "timestamp" and t.tz is not None), None)
        return zoned or next((t for t in (a, b) if family(t) == "timestamp"), pa.date32())
    return a if fa == fb and fa != "nested" else None


def common_number(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    """Spark's tightest common number type (ANSI rules: a float with an int or bigint is a double).

    Decimals that together need more than 38 digits keep their whole digits (Spark 4's ``boundedPreferIntegralDigits``).
    """
    k = pa.types
    if k.is_floating(a) or k.is_floating(b):
        both32 = all(k.is_float32(t) or (k.is_integer(t) and t.bit_width < 32) for t in (a, b))
        return pa.float32() if both32 else pa.float64()
    if k.is_decimal(a) or k.is_decimal(b):
        whole, scale = _digits(a, b)
        return pa.decimal128(min(whole + scale, 38), min(scale, 38 - whole))
    signed = [t if k.is_signed_integer(t) else _signed(t) for t in (a, b)]
    return max(signed, key=lambda t: t.bit_width)


def _digits(a: pa.DataType, b: pa.DataType) -> tuple[int, int]:
    """Whole digits and fraction digits that hold every value of two decimal or integer types."""
    x, y = as_decimal(a), as_decimal(b)
    return max(x.precision - x.scale, y.precision - y.scale), max(x.scale, y.scale)


def loses_digits(a: pa.DataType, b: pa.DataType) -> bool:
    """Whether the common type of two types is a decimal that does not hold every value of both."""
    k = pa.types
    exact = all(k.is_decimal(t) or k.is_integer(t) for t in (a, b)) and (k.is_decimal(a) or k.is_decimal(b))
    return exact and sum(_digits(a, b)) > 38


def _signed(t: pa.DataType) -> pa.DataType:
    return {8: pa.int16(), 16: pa.int32()}.get(t.bit_width, pa.int64())


def as_decimal(t: pa.DataType) -> pa.DataType:
    """The decimal that holds every value of an integer type; decimals stay."""
    return t if pa.types.is_decimal(t) else pa.decimal128(_INT_DIGITS[t.bit_width], 0)


def bounded_decimal(precision: int, scale: int) -> pa.DataType:
    """Spark's ``adjustPrecisionScale``: at most 38 digits; whole digits win over fraction digits beyond the sixth."""
    if precision <= 38:
        return pa.decimal128(precision, scale)
    whole = precision - scale
    return pa.decimal128(38, max(38 - whole, min(scale, 6)))


def decimal_result(fn: str, a: pa.DataType, b: pa.DataType) -> pa.DataType:
    """Result type of arithmetic on two decimals (Spark, ``DecimalPrecision``)."""
    p1, s1, p2, s2 = a.precision, a.scale, b.precision, b.scale
    match fn:
        case "mul":
            return bounded_decimal(p1 + p2 + 1, s1 + s2)
        case "div":
            scale = max(6, s1 + p2 + 1)
            return bounded_decimal(p1 - s1 + s2 + scale, scale)
        case "mod":
            scale = max(s1, s2)
            return bounded_decimal(min(p1 - s1, p2 - s2) + scale, scale)
        case _:
            scale = max(s1, s2)
            return bounded_decimal(max(p1 - s1, p2 - s2) + scale + 1, scale)


def coerce(e: Expr, to: pa.DataType) -> Expr:
    """``e`` as ``to``: itself when it is, a literal of that type where the value allows it, else a cast."""
    if e.type == to or (family(e.type) == family(to) == "string"):
        return e
    if isinstance(e, Literal):
        if e.value is None:
            return Literal(None, to)
        value = _literal_value(e, to)
        if value is not None:
            return Literal(value, to)
    return Call("cast", (e,), to)


def _literal_value(e: Literal, to: pa.DataType) -> Any:
    """The literal's value in another number type, or None where only a run-time cast can tell."""
    if family(e.type) != "number" or family(to) != "number":
        return None
    k = pa.types
    if k.is_floating(to):
        value = float(e.value)
        return float(np.float32(value)) if k.is_float32(to) else value
    if k.is_integer(to) and not k.is_floating(e.type) and e.value == int(e.value):
        return int(e.value) if -(2 ** (to.bit_width - 1)) <= e.value < 2 ** (to.bit_width - 1) else None
    if k.is_decimal(to) and not k.is_floating(e.type):
        return _as_decimal_value(Decimal(e.value), to)
    return None


def _as_decimal_value(value: Decimal, to: pa.DataType) -> Decimal | None:
    """The value with exactly the type's scale, or None when digits would be lost or do not fit."""
    sign, digits, exponent = value.as_tuple()
    whole = int("".join(map(str, digits)) or "0")
    shift = to.scale + int(exponent)
    if shift < 0 and whole % 10**-shift:
        return None
    unscaled = whole * 10**shift if shift >= 0 else whole // 10**-shift
    if unscaled >= 10**to.precision:
        return None
    return Decimal((sign, tuple(map(int, str(unscaled))), -to.scale))


def literal_decimal(e: Expr) -> Expr:
    """An integer literal as the narrowest decimal that holds it, as Spark takes it beside a decimal; others by type."""
    if isinstance(e, Literal) and isinstance(e.value, int) and pa.types.is_integer(e.type):
        return coerce(e, pa.decimal128(max(len(str(abs(e.value))), 1), 0))
    return coerce(e, as_decimal(e.type))
