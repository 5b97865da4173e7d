"""Scalar functions by name: how many arguments, of which kinds, and the type that results (Spark's rules)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pyarrow as pa

from muntin.cql import arrays, characters, encodings, json_calls, nested, spark_names, times_made
from muntin.cql.coerce import coerce, common_type
from muntin.cql.date_formats import date_format
from muntin.cql.operators import (
    BOOL,
    TypeClash,
    arithmetic,
    choose,
    compare,
    condition,
    logic,
    text_of,
    unify,
)
from muntin.cql.takes import double, number, plain_text, string, whole
from muntin.cql.time_functions import (
    CLOCK_PARTS,
    DATE_PARTS,
    at_time_zone,
    convert_timezone,
    from_utc_timestamp,
    part,
    time_of,
    to_utc_timestamp,
)
from muntin.cql.types import family
from muntin.plan.exprs import Call, Expr, Literal
from muntin.plan.failing import may_fail

Builder = Callable[[Sequence[Expr]], Expr]
_DOUBLE, _STRING, _INT, _BIGINT = pa.float64(), pa.string(), pa.int32(), pa.int64()


def _abs(args: Sequence[Expr]) -> Expr:
    x = number("ABS", args[0])
    return Call("abs", (x,), x.type)


def _round(args: Sequence[Expr]) -> Expr:
    x = number("ROUND", args[0])
    digits = whole("ROUND", args[1], _INT) if len(args) > 1 else Literal(0, _INT)
    if not isinstance(digits, Literal) or digits.value is None:
        raise TypeClash("ROUND takes a plain number of digits")
    if not pa.types.is_decimal(x.type):
        return Call("round", (x, digits), x.type)
    scale = max(min(digits.value, x.type.scale), 0)
    before = x.type.precision - x.type.scale + 1
    return Call("round", (x, digits), pa.decimal128(min(38, before + scale), scale))


def _to_whole(fn: str) -> Builder:
    def build(args: Sequence[Expr]) -> Expr:
        x = number(fn.upper(), args[0])
        if pa.types.is_decimal(x.type):
            return Call(fn, (x,), pa.decimal128(min(38, x.type.precision - x.type.scale + 1), 0))
        return coerce(x, _BIGINT) if pa.types.is_integer(x.type) else Call(fn, (coerce(x, _DOUBLE),), _BIGINT)

    return build


def _doubles(fn: str) -> Builder:
    def build(args: Sequence[Expr]) -> Expr:
        return Call(fn, tuple(double(fn.upper(), a) for a in args), _DOUBLE)

    return build


def _text(fn: str, result: pa.DataType = _STRING) -> Builder:
    def build(args: Sequence[Expr]) -> Expr:
        return Call(fn, tuple(string(fn.upper(), a) for a in args), result)

    return build


def _substring(args: Sequence[Expr]) -> Expr:
    rest = [whole("SUBSTRING", a, _INT) for a in args[1:]]
    return Call("substring", (string("SUBSTRING", args[0]), *rest), _STRING)


def _concat(args: Sequence[Expr]) -> Expr:
    if nested.is_array(args[0].type):
        return arrays.concat(args)
    return Call("concat", tuple(text_of(a) for a in args), _STRING)


def _unified(fn: str) -> Builder:
    def build(args: Sequence[Expr]) -> Expr:
        values = tuple(unify(fn.upper(), args))
        return Call(fn, values, values[0].type)

    return build


def _nullif(args: Sequence[Expr]) -> Expr:
    a, b = args
    if family(b.type) == "null":
        return a
    if common_type(a.type, b.type) == a.type:
        return Call("nullif", (a, coerce(b, a.type)), a.type)
    return choose([(compare("eq", a, b), Literal(None, a.type))], a)


def _if(args: Sequence[Expr]) -> Expr:
    return choose([(condition(args[0], "IF"), args[1])], args[2])


def _mod(args: Sequence[Expr]) -> Expr:
    return arithmetic("mod", args[0], args[1])


def _try(fn: str) -> Builder:
    """``try_add`` and its like: NULL where the call itself has no value."""
    return lambda args: trying(arithmetic(fn, args[0], args[1]))


def trying(e: Expr) -> Expr:
    """The expression with NULL where its outermost call fails."""
    return Call("try", (e,), e.type) if isinstance(e, Call) and may_fail(e) else e


def _is_null(fn: str) -> Builder:
    return lambda args: Call(fn, (args[0],), BOOL)


def _pmod(args: Sequence[Expr]) -> Expr:
    """The remainder that is not negative: ``(a % b + b) % b`` where ``a % b`` is below zero."""
    if any(pa.types.is_decimal(a.type) for a in args):
        raise TypeClash("PMOD takes integers and doubles here; write ((a % b) + b) % b")
    rest = _mod(args)
    zero = Literal(0, _INT)
    return choose([(compare("lt", rest, zero), arithmetic("mod", arithmetic("add", rest, args[1]), args[1]))], rest)


def _nvl2(args: Sequence[Expr]) -> Expr:
    return choose([(logic("not", Call("is_null", (args[0],), BOOL)), args[1])], args[2])


def _isnan(args: Sequence[Expr]) -> Expr:
    x = double("ISNAN", args[0])
    return Call("coalesce", (compare("eq", x, Literal(math.nan, _DOUBLE)), Literal(False, BOOL)), BOOL)


def _replace(args: Sequence[Expr]) -> Expr:
    texts = [Literal(plain_text("REPLACE", a), _STRING) for a in (*args[1:], Literal("", _STRING))[:2]]
    return Call("replace", (string("REPLACE", args[0]), *texts), _STRING)


def _holds(name: str, before: str, after: str) -> Builder:
    """STARTSWITH, ENDSWITH and CONTAINS of a plain text, as LIKE."""

    def build(args: Sequence[Expr]) -> Expr:
        text = "".join("\\" + c if c in "\\%_" else c for c in plain_text(name, args[1]))
        return Call("like", (string(name, args[0]), Literal(before + text + after, _STRING)), BOOL)

    return build


def _left(args: Sequence[Expr]) -> Expr:
    return Call("substring", (string("LEFT", args[0]), Literal(1, _INT), whole("LEFT", args[1], _INT)), _STRING)


def _right(args: Sequence[Expr]) -> Expr:
    n = whole("RIGHT", args[1], _INT)
    if not (isinstance(n, Literal) and isinstance(n.value, int)):
        raise TypeClash("RIGHT takes a plain number of characters")
    last = (Literal(-n.value, _INT),) if n.value > 0 else (Literal(1, _INT), Literal(0, _INT))
    return Call("substring", (string("RIGHT", args[0]), *last), _STRING)


def _date_format(args: Sequence[Expr]) -> Expr:
    return date_format(time_of(args[0], "date_format"), plain_text("DATE_FORMAT", args[1]))


_ANY = 1_000
# name: (least, most arguments, builder)
TABLE: dict[str, tuple[int, int, Builder]] = {
    "abs": (1, 1, _abs),
    "round": (1, 2, _round),
    "floor": (1, 1, _to_whole("floor")),
    "ceil": (1, 1, _to_whole("ceil")),
    "sqrt": (1, 1, _doubles("sqrt")),
    "power": (2, 2, _doubles("power")),
    "sign": (1, 1, _doubles("sign")),
    "mod": (2, 2, _mod),
    "pmod": (2, 2, _pmod),
    "lower": (1, 1, _text("lower")),
    "upper": (1, 1, _text("upper")),
    "trim": (1, 1, _text("trim")),
    "ltrim": (1, 1, _text("ltrim")),
    "rtrim": (1, 1, _text("rtrim")),
    "replace": (2, 3, _replace),
    "left": (2, 2, _left),
    "right": (2, 2, _right),
    "startswith": (2, 2, _holds("STARTSWITH", "", "%")),
    "endswith": (2, 2, _holds("ENDSWITH", "%", "")),
    "contains": (2, 2, _holds("CONTAINS", "%", "%")),
    "length": (1, 1, _text("length", _INT)),
    "substring": (2, 3, _substring),
    "concat": (1, _ANY, _concat),
    "coalesce": (1, _ANY, _unified("coalesce")),
    "greatest": (2, _ANY, _unified("greatest")),
    "least": (2, _ANY, _unified("least")),
    "nullif": (2, 2, _nullif),
    "if": (3, 3, _if),
    "nvl2": (3, 3, _nvl2),
    "isnan": (1, 1, _isnan),
    "isnull": (1, 1, _is_null("is_null")),
    "isnotnull": (1, 1, _is_null("is_not_null")),
    "try_add": (2, 2, _try("add")),
    "try_subtract": (2, 2, _try("sub")),
    "try_multiply": (2, 2, _try("mul")),
    "try_divide": (2, 2, _try("div")),
    "try_mod": (2, 2, _try("mod")),
    "at_time_zone": (2, 2, at_time_zone),
    "date_format": (2, 2, _date_format),
    "from_utc_timestamp": (2, 2, from_utc_timestamp),
    "to_utc_timestamp": (2, 2, to_utc_timestamp),
    "convert_timezone": (2, 3, convert_timezone),
    "get": (2, 2, nested.get),
    "element_at": (2, 2, nested.element_at),
    "try_element_at": (2, 2, nested.element_at),
    **dict.fromkeys(("size", "array_size", "cardinality"), (1, 1, nested.size)),
    "array_contains": (2, 2, nested.array_contains),
    "map_contains_key": (2, 2, nested.map_contains_key),
    "map_keys": (1, 1, nested.map_keys),
    "map_values": (1, 1, nested.map_values),
    "get_json_object": (2, 2, json_calls.get_json_object),
    "json_array_length": (1, 1, json_calls.array_length),
    "json_object_keys": (1, 1, json_calls.object_keys),
    "from_json": (2, 2, json_calls.from_json),
    "to_json": (1, 1, json_calls.to_json),
    "named_struct": (2, _ANY, json_calls.named_struct),
    **{name: (1, 1, part(name)) for name in DATE_PARTS + CLOCK_PARTS},
}

TABLE |= {**spark_names.TABLE, **encodings.TABLE, **characters.TABLE, **arrays.TABLE, **times_made.TABLE}

NAMES = sorted([*TABLE, "date_trunc", "extract", "struct"])
"""What messages name: the table, and the functions that syntax of their own brings."""


def build(name: str, args: Sequence[Expr]) -> Expr:
    """The bound call of a function of ``TABLE``.

    Raises:
        TypeClash: wrong number or kinds of arguments.
    """
    least, most, builder = TABLE[name]
    if not least <= len(args) <= most:
        wants = f"{least}" if least == most else f"{least} or more" if most == _ANY else f"{least} to {most}"
        raise TypeClash(f"{name.upper()} takes {wants} argument{'s' if wants != '1' else ''}, not {len(args)}")
    return builder(args)
