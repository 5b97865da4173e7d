"""Typed construction of calls: arithmetic, comparison, choice, with the casts that Spark would put in.

Functions take bound arguments and raise ``TypeClash`` with a message; the caller knows the place.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import pyarrow as pa

from muntin.cql.coerce import (
    as_decimal,
    coerce,
    common_number,
    common_type,
    decimal_result,
    literal_decimal,
    loses_digits,
)
from muntin.cql.types import DURATION, family, to_spark
from muntin.plan.exprs import Call, Column, Expr, Literal

BOOL = pa.bool_()


class TypeClash(Exception):
    """Types that do not go together; the message says which and what would."""


def describe(e: Expr) -> str:
    """``w.origin (STRING)`` for a message."""
    match e:
        case Column(name, t):
            return f"{name} ({to_spark(t)})"
        case Literal(None, _):
            return "NULL"
        case Literal(value, t) if family(t) in ("number", "string", "boolean"):
            return f"{value!r} ({to_spark(t)})"
        case _:
            return f"an expression of type {to_spark(e.type)}"


def negate(e: Expr) -> Expr:
    """Unary minus; a number literal is folded."""
    if isinstance(e, Literal) and e.value is not None and family(e.type) in ("number", "duration"):
        return Literal(-e.value, e.type)
    if family(e.type) not in ("number", "duration", "null"):
        raise TypeClash(f"minus takes a number, not {describe(e)}")
    return Call("neg", (e,), e.type)


def arithmetic(fn: str, a: Expr, b: Expr) -> Expr:
    """``add``, ``sub``, ``mul``, ``div``, ``intdiv`` or ``mod`` of two numbers, or time with a duration."""
    if fn in ("add", "sub") and {family(a.type), family(b.type)} & {"timestamp", "date", "duration"}:
        return _time_arithmetic(fn, a, b)
    for e in (a, b):
        if family(e.type) not in ("number", "null"):
            raise TypeClash(
                f"{_SIGNS[fn]} takes numbers, not {describe(e)}; write CAST(... AS DOUBLE) if it holds some"
            )
    a, b = _null_as(a, b), _null_as(b, a)
    kinds = [e.type for e in (a, b)]
    decimals = any(map(pa.types.is_decimal, kinds)) and not any(map(pa.types.is_floating, kinds))
    if decimals and fn != "intdiv":
        x, y = literal_decimal(a), literal_decimal(b)
        return Call(fn, (x, y), decimal_result(fn, x.type, y.type))
    if fn == "div":
        return Call(fn, (coerce(a, pa.float64()), coerce(b, pa.float64())), pa.float64())
    if fn == "intdiv":
        return _intdiv(a, b)
    t = common_number(a.type, b.type)
    return Call(fn, (coerce(a, t), coerce(b, t)), t)


def _null_as(e: Expr, beside: Expr) -> Expr:
    """A bare NULL takes the number type of its neighbour."""
    if family(e.type) != "null":
        return e
    return coerce(e, beside.type if family(beside.type) == "number" else pa.float64())


def _intdiv(a: Expr, b: Expr) -> Expr:
    if any(pa.types.is_floating(e.type) for e in (a, b)):
        raise TypeClash(f"DIV takes integers or decimals, not {describe(a)} and {describe(b)}; use / or CAST")
    t = common_number(a.type, b.type)
    t = t if pa.types.is_decimal(t) else pa.int64()
    return Call("intdiv", (coerce(a, t), coerce(b, t)), pa.int64())


_SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "intdiv": "DIV", "mod": "%"}


def _time_arithmetic(fn: str, a: Expr, b: Expr) -> Expr:
    match family(a.type), family(b.type):
        case "timestamp", "duration":
            return Call(fn, (a, b), a.type)
        case "duration", "timestamp" if fn == "add":
            return Call(fn, (b, a), b.type)
        case "duration", "duration":
            if isinstance(a, Literal) and isinstance(b, Literal):
                return Literal(a.value + b.value if fn == "add" else a.value - b.value, DURATION)
            return Call(fn, (a, b), DURATION)
        case "timestamp", "timestamp" if fn == "sub":
            t = common_type(a.type, b.type)
            assert t is not None
            return Call("sub", (coerce(a, t), coerce(b, t)), DURATION)
    hint = "supported are timestamp + INTERVAL, timestamp - INTERVAL and timestamp - timestamp"
    kinds = {family(a.type), family(b.type)}
    if kinds == {"date", "duration"} or kinds == {"date"}:
        hint = "a date is no instant: write CAST(... AS TIMESTAMP)" + (
            " around both, or DATEDIFF(a, b) for whole days" if kinds == {"date"} else "; for whole days DATE_ADD(d, 3)"
        )
    elif kinds == {"date", "number"}:
        hint = "DATE_ADD(d, n) and d + n take whole days, as INT: write CAST(n AS INT)"
    elif "number" in kinds:
        hint = "a number has no unit of time: beside a number write a plain number instead of INTERVAL"
    raise TypeClash(f"cannot compute {describe(a)} {_SIGNS[fn]} {describe(b)}: {hint}")


def compare(fn: str, a: Expr, b: Expr) -> Expr:
    """A comparison of two values of one family, cast to their common type."""
    t = common_type(a.type, b.type)
    if t is None or family(t) == "nested":
        raise TypeClash(_clash(fn, a, b))
    if loses_digits(a.type, b.type):
        return _compare_wide(fn, a, b)
    return Call(fn, (coerce(a, t), coerce(b, t)), BOOL)


_MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}


def _compare_wide(fn: str, a: Expr, b: Expr) -> Expr:
    """A comparison of decimals that have no common type of 38 digits, without rounding either.

    With the fewer fraction digits on the left: it is beyond every value of the right, or fits a type with the right's
    fraction.
    """
    x, y = as_decimal(a.type), as_decimal(b.type)
    if x.scale > y.scale:
        return _compare_wide(_MIRRORED.get(fn, fn), b, a)
    whole = 38 - y.scale
    a, wide = coerce(a, x), pa.decimal128(38, y.scale)
    edge, low = (Literal(Decimal(sign * 10**whole), pa.decimal128(whole + 1, 0)) for sign in (1, -1))
    both_null: Expr = Call("is_null", (a,), BOOL) if fn == "eq_null_safe" else Literal(None, BOOL)
    return choose(
        [
            (Call("is_null", (b,), BOOL), both_null),
            (compare("ge", a, edge), Literal(fn in ("gt", "ge", "ne"), BOOL)),
            (compare("le", a, low), Literal(fn in ("lt", "le", "ne"), BOOL)),
        ],
        Call(fn, (coerce(a, wide), coerce(b, wide)), BOOL),
    )


def _clash(fn: str, a: Expr, b: Expr) -> str:
    if "nested" in (family(a.type), family(b.type)):
        return f"cannot compare {describe(a)} with {describe(b)}: values of nested types have no comparison here"
    key = fn in ("eq", "eq_null_safe") and isinstance(a, Column) and isinstance(b, Column) and _alias(a) != _alias(b)
    rule = "the two sides of a join key must be of one kind" if key else "only values of one kind compare"
    return (
        f"type mismatch: cannot compare {describe(a)} with {describe(b)}; {rule} "
        "(numbers, strings, booleans, timestamps). "
        f"Write CAST(... AS {to_spark(b.type)}) or CAST(... AS {to_spark(a.type)})"
    )


def _alias(c: Column) -> str:
    return c.name.split(".", 1)[0]


def unify(what: str, values: Sequence[Expr]) -> list[Expr]:
    """All values as their common type."""
    t = values[0].type
    for e in values[1:]:
        wider = common_type(t, e.type)
        if wider is None:
            first = next(v for v in values if family(v.type) != "null")
            raise TypeClash(f"{what} needs values of one kind, but has {describe(first)} and {describe(e)}")
        t = wider
    return [coerce(e, t) for e in values]


def condition(e: Expr, what: str) -> Expr:
    """``e`` as a condition: boolean, or NULL."""
    if family(e.type) not in ("boolean", "null"):
        raise TypeClash(f"{what} takes a condition (BOOLEAN), not {describe(e)}")
    return coerce(e, BOOL)


def logic(fn: str, *args: Expr) -> Expr:
    """``and``, ``or`` or ``not`` of conditions."""
    return Call(fn, tuple(condition(a, fn.upper()) for a in args), BOOL)


def member(x: Expr, values: Sequence[Expr]) -> Expr:
    """``x IN (values)``."""
    for v in values:
        if common_type(x.type, v.type) is None or family(x.type) == "nested":
            raise TypeClash(_clash("eq", x, v))
    if any(loses_digits(x.type, v.type) for v in values):
        same = [compare("eq", x, v) for v in values]
        return same[0] if len(same) == 1 else logic("or", *same)
    return Call("in", tuple(unify("IN", [x, *values])), BOOL)


def choose(branches: Sequence[tuple[Expr, Expr]], otherwise: Expr | None) -> Expr:
    """CASE WHEN: conditions with values, then ELSE (NULL when absent)."""
    last = otherwise if otherwise is not None else Literal(None, pa.null())
    values = unify("CASE", [*(v for _, v in branches), last])
    flat = [e for (c, _), v in zip(branches, values, strict=False) for e in (condition(c, "WHEN"), v)]
    return Call("case", (*flat, values[-1]), values[-1].type)


def text_of(e: Expr) -> Expr:
    """``e`` as a string, cast as ``||`` and CONCAT do."""
    if family(e.type) == "nested":
        raise TypeClash(f"cannot make text of {describe(e)}")
    return coerce(e, pa.string())
