"""Which calls may have no value for arguments that are there: overflow, a zero divisor, a text that is no number.

Spark's ANSI rules: such a row is an error, in every evaluator and whatever ``spark.sql.ansi.enabled`` says, unless the
call stands in ``try``. This module only says where that can happen; each evaluator finds the rows by itself.
"""

from __future__ import annotations

import pyarrow as pa

from muntin.plan.exprs import USER, Call, Expr, Literal

_T = pa.types

NOT_STRICT = frozenset(
    ["and", "or", "is_null", "is_not_null", "eq_null_safe", "case", "only", "coalesce", "nullif", "greatest", "least"]
    + ["in", "pair", "row", "struct", "try", "concat_ws", "mask"]
    + ["hash", "xxhash64", "array", "array_repeat", "format_string"]
)
"""Functions that can have a value where an argument is NULL. The others are NULL there, and look at their arguments
from left to right until one is."""

_PARTIAL = frozenset(
    ["parse_url", "url_decode", "unbase64", "decode", "conv", "bit_get", "slice", "sequence", "map_from_arrays"]
    + ["elt", "map_from_entries", "str_to_map", "array_insert", "to_number"]
    + ["parse_time", "make_date", "make_timestamp"]
)
"""Functions that have no value for some arguments, whatever their types."""


MOST_DAYS = 3_660_000
"""So many days can be added to a date."""


def may_fail(call: Call) -> bool:
    """Whether the call itself, over arguments that are not NULL, may have no value."""
    match call.fn:
        case "add" | "sub" | "mul":
            return not _T.is_floating(call.type)
        case "div":
            return not (_T.is_floating(call.type) and _divides(call.args[1]))
        case "mod":
            return not _divides(call.args[1])
        case "intdiv":
            return _T.is_decimal(call.args[0].type) or not _divides(call.args[1], -1)
        case "neg" | "abs":
            return bool(_T.is_integer(call.type))
        case fn if fn in _PARTIAL:
            return True
        case "round" | "bround":
            digits = call.args[1] if len(call.args) > 1 else None
            return _T.is_integer(call.type) and isinstance(digits, Literal) and (digits.value or 0) < 0
        case "floor" | "ceil":
            return bool(_T.is_floating(call.args[0].type) and _T.is_integer(call.type))
        case "add_days":
            days = call.args[1]
            return not (isinstance(days, Literal) and abs(days.value or 0) <= MOST_DAYS)
        case "cast":
            return cast_may_fail(call.args[0].type, call.type)
        case fn:
            return fn.startswith(USER)  # its code may raise; a NULL that it gives is a value


def any_may_fail(e: Expr) -> bool:
    """Whether the expression or a part of it may fail."""
    return isinstance(e, Call) and ((e.fn != "try" and may_fail(e)) or any(map(any_may_fail, _parts(e))))


def _parts(e: Call) -> tuple[Expr, ...]:
    """The arguments; of ``try`` those of the call inside, whose own failure is NULL."""
    inner = e.args[0]
    return inner.args if e.fn == "try" and isinstance(inner, Call) else e.args


def _divides(divisor: Expr, *but: int) -> bool:
    """Whether the divisor is a constant by which everything can be divided."""
    return isinstance(divisor, Literal) and divisor.value is not None and divisor.value not in (0, *but)


def cast_may_fail(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether a value of one type may have none of the other."""
    if source == target or _T.is_null(source) or _text(target):
        return False
    if _text(source):
        return not _T.is_binary(target)
    if _T.is_integer(target):
        return not (_T.is_boolean(source) or (_T.is_integer(source) and source.bit_width <= target.bit_width))
    if _T.is_decimal(target):
        return not _widens(source, target)
    return bool(_T.is_timestamp(target) and not _T.is_temporal(source))


def _text(t: pa.DataType) -> bool:
    return bool(_T.is_string(t) or _T.is_large_string(t))


def _widens(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether the decimal holds every value of the type, rounding apart."""
    whole = target.precision - target.scale
    if _T.is_boolean(source):
        return bool(whole >= 1)
    if _T.is_integer(source):
        return bool(whole >= {8: 3, 16: 5, 32: 10}.get(source.bit_width, 19))
    if _T.is_decimal(source):
        carries = source.scale > target.scale
        return bool(whole >= source.precision - source.scale + carries)
    return False
