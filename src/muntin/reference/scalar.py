"""Scalar expressions over one row: three-valued logic and Spark's rules without ANSI mode, one function at a time."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from muntin.plan.exprs import Call, Column, Expr, Literal
from muntin.reference.casts import cast
from muntin.reference.times import TIMES
from muntin.reference.values import NAN, canonical, coerce, compare, is_nan

_LONG_MAX = 2**63 - 1
_LONG_MIN = -(2**63)


def eval_expr(expr: Expr, row: Mapping[str, Any]) -> Any:
    """The value of ``expr`` over ``row`` (column name -> value); None is NULL.

    Raises DataError when an integer or decimal result does not fit its type.
    """
    match expr:
        case Column(name, _):
            return row[name]
        case Literal(value, type_):
            return coerce(value, type_)
        case Call(fn, args) if fn in _LAZY:
            return coerce(_LAZY[fn](args, row), expr.type)
        case Call("cast", (arg,)):
            value = eval_expr(arg, row)
            return None if value is None else cast(value, arg.type, expr.type)
        case Call(fn, args):
            return _apply(fn, [eval_expr(a, row) for a in args], expr.type)
    raise TypeError(f"not an expression: {expr!r}")


def _apply(fn: str, values: list[Any], type_: pa.DataType) -> Any:
    if fn in _SEE_NULL:
        return coerce(_SEE_NULL[fn](*values), type_)
    if any(v is None for v in values):
        return None
    if fn in _TEST:
        return _TEST[fn](compare(*values))
    return coerce(_STRICT[fn](type_, *values), type_)


# --- logic and choice -------------------------------------------------------------------------------------------------


def _and(args: tuple[Expr, ...], row: Mapping[str, Any]) -> bool | None:
    return _until(False, args, row)


def _or(args: tuple[Expr, ...], row: Mapping[str, Any]) -> bool | None:
    return _until(True, args, row)


def _until(decisive: bool, args: tuple[Expr, ...], row: Mapping[str, Any]) -> bool | None:
    """``decisive`` as soon as an argument has that value; else NULL if one is NULL, else the other truth value."""
    unknown = False
    for arg in args:
        value = eval_expr(arg, row)
        if value is decisive:
            return decisive
        unknown |= value is None
    return None if unknown else not decisive


def _case(args: tuple[Expr, ...], row: Mapping[str, Any]) -> Any:
    """The value after the first condition that is true; the last argument when it stands alone; else NULL."""
    for i in range(0, len(args) - 1, 2):
        if eval_expr(args[i], row) is True:
            return eval_expr(args[i + 1], row)
    return eval_expr(args[-1], row) if len(args) % 2 else None


def _eq_null_safe(a: Any, b: Any) -> bool:
    return a is b if a is None or b is None else compare(a, b) == 0


def _coalesce(args: tuple[Expr, ...], row: Mapping[str, Any]) -> Any:
    return next((v for v in (eval_expr(a, row) for a in args) if v is not None), None)


_LAZY: dict[str, Callable[[tuple[Expr, ...], Mapping[str, Any]], Any]] = {
    "and": _and,
    "or": _or,
    "case": _case,
    "only": _case,
    "coalesce": _coalesce,
}
"""Functions that look at an argument only when those before it have not decided (its overflow does not matter then)."""


def _nullif(a: Any, b: Any) -> Any:
    return None if a is not None and b is not None and compare(a, b) == 0 else a


def _extreme(sign: int) -> Callable[..., Any]:
    def pick(*values: Any) -> Any:
        best = None
        for v in values:
            if v is not None and (best is None or compare(v, best) * sign > 0):
                best = v
        return best

    return pick


def _in(x: Any, *values: Any) -> bool | None:
    if x is None:
        return None
    if any(v is not None and compare(x, v) == 0 for v in values):
        return True
    return None if None in values else False


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


_SEE_NULL: dict[str, Callable[..., Any]] = {
    "not": _not,
    "is_null": lambda v: v is None,
    "is_not_null": lambda v: v is not None,
    "eq_null_safe": _eq_null_safe,
    "nullif": _nullif,
    "greatest": _extreme(1),
    "least": _extreme(-1),
    "in": _in,
    "pair": lambda *xs: tuple(canonical(x) for x in xs),
}

_TEST: dict[str, Callable[[int], bool]] = {
    "eq": lambda c: c == 0,
    "ne": lambda c: c != 0,
    "lt": lambda c: c < 0,
    "le": lambda c: c <= 0,
    "gt": lambda c: c > 0,
    "ge": lambda c: c >= 0,
}


# --- arithmetic -------------------------------------------------------------------------------------------------------


def _numbers(type_: pa.DataType, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments in the arithmetic of the result: doubles if it is one, else exact."""
    return tuple(float(v) for v in values) if pt.is_floating(type_) else values


def _arithmetic(op: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def run(type_: pa.DataType, a: Any, b: Any) -> Any:
        with localcontext() as exact:
            exact.prec = 80
            return op(*_numbers(type_, (a, b)))

    return run


def _div(type_: pa.DataType, a: Any, b: Any) -> Any:
    if b == 0:
        return None
    if pt.is_decimal(type_):
        with localcontext() as exact:
            exact.prec = 80
            return Decimal(a) / Decimal(b)
    return float(a) / float(b)


def _intdiv(type_: pa.DataType, a: Any, b: Any) -> Any:
    return None if b == 0 else _truncated(a, b)


def _truncated(a: Any, b: Any) -> int:
    quotient = abs(a) // abs(b)
    return int(quotient if (a < 0) == (b < 0) else -quotient)


def _mod(type_: pa.DataType, a: Any, b: Any) -> Any:
    """The remainder with the sign of the dividend; NULL by zero."""
    if b == 0:
        return None
    if pt.is_floating(type_):
        a, b = float(a), float(b)
        return NAN if math.isinf(a) or is_nan(a) or is_nan(b) else math.fmod(a, b)
    return a - b * _truncated(a, b)


def _round(type_: pa.DataType, x: Any, digits: int = 0) -> Any:
    """Half away from zero, at ``digits`` decimals (negative: tens, hundreds)."""
    if isinstance(x, float) and not math.isfinite(x):
        return x
    with localcontext() as exact:
        exact.prec = 400
        return Decimal(repr(x) if isinstance(x, float) else x).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)


def _whole(towards: Callable[[Any], int]) -> Callable[..., Any]:
    def run(type_: pa.DataType, x: Any) -> Any:
        if isinstance(x, float) and not math.isfinite(x):
            if pt.is_floating(type_):
                return x
            return 0 if is_nan(x) else _LONG_MAX if x > 0 else _LONG_MIN
        return min(max(towards(x), _LONG_MIN), _LONG_MAX) if isinstance(x, float) else towards(x)

    return run


def _sqrt(type_: pa.DataType, x: Any) -> float:
    return math.sqrt(x) if x >= 0 else NAN


def _power(type_: pa.DataType, a: Any, b: Any) -> float:
    a, b = float(a), float(b)
    try:
        return math.pow(a, b)
    except OverflowError:
        return -math.inf if a < 0 and b % 2 == 1 else math.inf
    except ValueError:
        if a != 0:
            return NAN
        return math.copysign(math.inf, a) if b % 2 == 1 else math.inf


def _sign(type_: pa.DataType, x: Any) -> Any:
    return x if is_nan(x) else (x > 0) - (x < 0)


# --- strings ----------------------------------------------------------------------------------------------------------


def _substring(type_: pa.DataType, text: str, start: int, length: int | None = None) -> str:
    """SQL's substring: counted from 1 (0 is taken as 1), from the end when negative."""
    begin = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    end = len(text) if length is None else begin + length
    return text[max(begin, 0) : max(end, 0)] if end > begin else ""


def _like(type_: pa.DataType, text: str, pattern: str) -> bool:
    """LIKE with % and _; a backslash takes the next character literally."""
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    wild = {"%": ".*", "_": "."}
    expression = "".join(wild.get(p) or re.escape(p[-1]) for p in parts)
    return re.fullmatch(expression, text, re.DOTALL) is not None


_STRICT: dict[str, Callable[..., Any]] = {
    "add": _arithmetic(lambda a, b: a + b),
    "sub": _arithmetic(lambda a, b: a - b),
    "mul": _arithmetic(lambda a, b: a * b),
    "div": _div,
    "intdiv": _intdiv,
    "mod": _mod,
    "neg": lambda _, x: -x,
    "row": lambda _, *xs: tuple(canonical(x) for x in xs),
    "abs": lambda _, x: abs(x),
    "round": _round,
    "floor": _whole(math.floor),
    "ceil": _whole(math.ceil),
    "sqrt": _sqrt,
    "power": _power,
    "sign": _sign,
    "lower": lambda _, s: s.lower(),
    "upper": lambda _, s: s.upper(),
    "length": lambda _, s: len(s),
    "concat": lambda _, *parts: "".join(str(p) for p in parts),
    "substring": _substring,
    "trim": lambda _, s: s.strip(" "),
    "ltrim": lambda _, s: s.lstrip(" "),
    "rtrim": lambda _, s: s.rstrip(" "),
    "replace": lambda _, s, old, new: s.replace(old, new) if old else s,
    "like": _like,
    **TIMES,
}
