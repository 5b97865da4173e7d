"""Scalar expressions over one row: three-valued logic and Spark's ANSI rules, one function at a time."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from muntin.core.errors import DataError
from muntin.plan.exprs import USER, Call, Column, Expr, Literal
from muntin.reference.arrays import ARRAYS
from muntin.reference.arrays import SEE_NULL as LISTS
from muntin.reference.casts import cast
from muntin.reference.characters import CHARACTERS, OF_KINDS
from muntin.reference.characters import SEE_NULL as MASKS
from muntin.reference.encodings import ENCODINGS, HASHES
from muntin.reference.json_texts import JSON, written
from muntin.reference.nested import NESTED
from muntin.reference.spark_names import STRICT as SPARK_NAMES
from muntin.reference.time_texts import TIME_TEXTS
from muntin.reference.times import TIMES
from muntin.reference.values import NAN, Failed, canonical, coerce, compare, is_nan


def eval_expr(expr: Expr, row: Mapping[str, Any]) -> Any:
    """The value of ``expr`` over ``row`` (column name -> value); None is NULL.

    Raises DataError for a call that has no value: overflow, a zero divisor, a text that is no number.
    """
    match expr:
        case Column(name, _):
            return row[name]
        case Literal(value, type_):
            return coerce(value, type_)
        case Call("try", (Call(fn) as inner,)) if fn not in _LAZY:
            return _tried(inner, row)
        case Call("try", (other,)):
            return eval_expr(other, row)
        case Call(fn, args) if fn in _LAZY:
            return coerce(_LAZY[fn](args, row), expr.type)
        case Call(fn, args) if fn.startswith(USER):
            shown = expr.code.on_null == "call"
            return _user_code(expr, [eval_expr(a, row) for a in args] if shown else _arguments(fn, args, row))
        case Call(fn, args):
            return _named(expr, _arguments(fn, args, row))
    raise TypeError(f"not an expression: {expr!r}")


def _arguments(fn: str, args: tuple[Expr, ...], row: Mapping[str, Any]) -> list[Any]:
    """The values from left to right; of a function that is NULL where an argument is, up to the first NULL."""
    values: list[Any] = []
    for arg in args:
        values.append(eval_expr(arg, row))
        if values[-1] is None and fn not in _SEE_NULL and fn not in ("concat", "struct", "format_string", *HASHES):
            return [None] * len(args)
    return values


def _tried(call: Call, row: Mapping[str, Any]) -> Any:
    values = _arguments(call.fn, call.args, row)
    try:
        return _apply(call, values)
    except Failed:
        return None


def _named(call: Call, values: list[Any]) -> Any:
    try:
        return _apply(call, values)
    except Failed as e:
        raise DataError(f"{call.fn} over {values} has no value of {call.type}: {e}") from None


def _apply(call: Call, values: list[Any]) -> Any:
    fn, type_ = call.fn, call.type
    if fn == "cast":
        zone = values[1] if len(values) > 1 else None
        return None if values[0] is None else cast(values[0], call.args[0].type, type_, zone)
    if fn == "struct":
        return {f.name: v for f, v in zip(type_, values, strict=True)}
    if fn == "to_json":
        return None if values[0] is None else written(values[0], call.args[0].type, *values[1:])
    if fn in HASHES:
        return HASHES[fn]([a.type for a in call.args], values)
    if fn == "format_string":
        return OF_KINDS[fn]([a.type for a in call.args], *values)
    if fn in _SEE_NULL:
        return coerce(_SEE_NULL[fn](*values), type_)
    if any(v is None for v in values):
        return None
    if fn in OF_KINDS:
        return OF_KINDS[fn]([a.type for a in call.args], *values)
    if fn in _TEST:
        return _TEST[fn](compare(*values))
    with localcontext() as exact:
        exact.prec = 100
        return coerce(_STRICT[fn](type_, *values), type_)


def _user_code(call: Call, values: list[Any]) -> Any:
    """A user's function, asked about one row."""
    if call.code.on_null == "null" and any(v is None for v in values):
        return None
    found = call.code(*(pa.array([v], a.type) for v, a in zip(values, call.args, strict=True)))
    plain = found if isinstance(found, pa.Array) else pa.array(found)
    timed = pt.is_timestamp(call.type)
    return canonical(plain.cast(pa.int64() if timed else call.type)[0].as_py())


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


def _nullif(args: tuple[Expr, ...], row: Mapping[str, Any]) -> Any:
    a = eval_expr(args[0], row)
    b = None if a is None else eval_expr(args[1], row)
    return None if b is not None and compare(a, b) == 0 else a


_LAZY: dict[str, Callable[[tuple[Expr, ...], Mapping[str, Any]], Any]] = {
    "and": _and,
    "or": _or,
    "case": _case,
    "only": _case,
    "coalesce": _coalesce,
    "nullif": _nullif,
    "in": lambda args, row: _in(eval_expr(args[0], row), (eval_expr(a, row) for a in args[1:])),
}
"""Functions that look at an argument only when those before it have not decided (its overflow does not matter then)."""


def _extreme(sign: int) -> Callable[..., Any]:
    def pick(*values: Any) -> Any:
        best = None
        for v in values:
            if v is not None and (best is None or compare(v, best) * sign > 0):
                best = v
        return best

    return pick


def _in(x: Any, values: Iterator[Any]) -> bool | None:
    if x is None:
        return None
    unknown = False
    for v in values:
        if v is not None and compare(x, v) == 0:
            return True
        unknown |= v is None
    return None if unknown else False


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


_SEE_NULL: dict[str, Callable[..., Any]] = {
    "not": _not,
    "is_null": lambda v: v is None,
    "is_not_null": lambda v: v is not None,
    "eq_null_safe": _eq_null_safe,
    "greatest": _extreme(1),
    "least": _extreme(-1),
    "pair": lambda *xs: tuple(canonical(x) for x in xs),
    **MASKS,
    **LISTS,
    "concat_ws": lambda by, *xs: None if by is None else by.join(x for x in xs if x is not None),
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
        return op(*_numbers(type_, (a, b)))

    return run


def _div(type_: pa.DataType, a: Any, b: Any) -> Any:
    if b == 0:
        raise Failed("division by zero")
    if pt.is_decimal(type_):
        return Decimal(a) / Decimal(b)
    return float(a) / float(b)


def _intdiv(type_: pa.DataType, a: Any, b: Any) -> Any:
    if b == 0:
        raise Failed("division by zero")
    return _truncated(a, b)


def _truncated(a: Any, b: Any) -> int:
    quotient = abs(a) // abs(b)
    return int(quotient if (a < 0) == (b < 0) else -quotient)


def _mod(type_: pa.DataType, a: Any, b: Any) -> Any:
    """The remainder with the sign of the dividend."""
    if b == 0:
        raise Failed("division by zero")
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
            if not is_nan(x):
                raise Failed(x)
            return 0
        return towards(x)

    return run


def _sqrt(type_: pa.DataType, x: Any) -> float:
    return math.sqrt(x) if x >= 0 else NAN


def _power(type_: pa.DataType, a: Any, b: Any) -> float:
    a, b = float(a), float(b)
    if is_nan(b) or (abs(a) == 1 and math.isinf(b)):
        return NAN  # Java; in C 1 to the power of anything is 1
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
    **SPARK_NAMES,
    **TIMES,
    **NESTED,
    **JSON,
    **ENCODINGS,
    **CHARACTERS,
    **ARRAYS,
    **TIME_TEXTS,
}
