"""Functions of characters, of bits and of buckets under Spark's names, computed by ``scalars`` everywhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from muntin.cql.coerce import coerce
from muntin.cql.formats import MOST_DIGITS, FormatPiece, format_pieces
from muntin.cql.number_formats import number_format
from muntin.cql.operators import TypeClash, arithmetic, choose, compare, describe, text_of
from muntin.cql.regexes import Regex, regex
from muntin.cql.takes import double, number, plain_count, plain_text, string, whole
from muntin.cql.types import family, to_spark
from muntin.plan.exprs import Call, Expr, Literal

Builder = Callable[[Sequence[Expr]], Expr]
_STRING, _INT, _BIGINT, _BOOL, _TINY = pa.string(), pa.int32(), pa.int64(), pa.bool_(), pa.int8()
_DOUBLE = pa.float64()


def _of_text(fn: str, result: pa.DataType = _STRING) -> Builder:
    return lambda args: Call(fn, (string(fn.upper(), args[0]),), result)


def _with_texts(fn: str, what: str) -> Builder:
    """A function of a text and of two plain ones."""

    def build(args: Sequence[Expr]) -> Expr:
        plain = [Literal(plain_text(fn.upper(), a, what), _STRING) for a in args[1:]]
        return Call(fn, (string(fn.upper(), args[0]), *plain), _STRING)

    return build


def _substring_index(args: Sequence[Expr]) -> Expr:
    name = "SUBSTRING_INDEX"
    by, n = plain_text(name, args[1]), plain_count(name, args[2], -(2**31) + 1, 2**31 - 1)
    return Call("substring_index", (string(name, args[0]), Literal(by, _STRING), Literal(n, _INT)), _STRING)


def _levenshtein(args: Sequence[Expr]) -> Expr:
    """levenshtein(a, b[, most]): -1 beyond ``most``."""
    found = Call("levenshtein", tuple(string("LEVENSHTEIN", a) for a in args[:2]), _INT)
    if len(args) < 3:
        return found
    most = whole("LEVENSHTEIN", args[2], _INT)
    within = choose([(compare("le", found, most), found)], Literal(-1, _INT))
    absent = Call("or", (Call("is_null", (found,), _BOOL), Call("is_null", (most,), _BOOL)), _BOOL)
    return choose([(absent, Literal(None, _INT))], within)


def _mask(args: Sequence[Expr]) -> Expr:
    """mask(s[, upper, lower, digit, other]): NULL keeps characters of a kind."""
    given = [*args[1:], *(Literal(d, _STRING) for d in ("X", "x", "n", None)[len(args) - 1 :])]
    plain: list[Expr] = []
    for e in given:
        if isinstance(e, Literal) and e.value is None:
            plain.append(Literal(None, _STRING))
            continue
        c = plain_text("MASK", e, "one plain character or NULL")
        if len(c) != 1:
            raise TypeClash(f"MASK takes one character for each kind, not {c!r}")
        plain.append(Literal(c, _STRING))
    return Call("mask", (string("MASK", args[0]), *plain), _STRING)


def _overlay(args: Sequence[Expr]) -> Expr:
    """overlay(s, new, place[, length]): ``new`` for the characters from a place."""
    text, new, at = string("OVERLAY", args[0]), string("OVERLAY", args[1]), whole("OVERLAY", args[2], _INT)
    size = Call("length", (new,), _INT)
    one, zero = Literal(1, _INT), Literal(0, _INT)
    if len(args) > 3:
        given = whole("OVERLAY", args[3], _INT)
        none = compare("lt", given, zero)
        size = choose([(none, size), (compare("ge", given, zero), given)], None)  # type: ignore[assignment]
    before = Call("substring", (text, one, arithmetic("sub", at, one)), _STRING)
    after = Call("substring", (text, arithmetic("add", at, size), Literal(2**31 - 1, _INT)), _STRING)
    return Call("concat", (before, new, after), _STRING)


# --- regular expressions ----------------------------------------------------------------------------------------------


def _pattern(name: str, e: Expr) -> Regex:
    made = regex(plain_text(name, e, "a plain regular expression"))
    if made.empty:
        raise TypeClash(f"{name} takes a pattern that no empty text fits, as 'a+' for 'a*'")
    return made


def _matched(fn: str, result: pa.DataType) -> Builder:
    def build(args: Sequence[Expr]) -> Expr:
        made = _pattern(fn.upper(), args[1])
        return Call(fn, (string(fn.upper(), args[0]), Literal(made.text, _STRING)), result)

    return build


def _extract_all(args: Sequence[Expr]) -> Expr:
    name = "REGEXP_EXTRACT_ALL"
    made = _pattern(name, args[1])
    group = plain_count(name, args[2], 0, 99) if len(args) > 2 else 1
    if group > made.groups:
        raise TypeClash(f"{name} asks for group {group} of a pattern with {made.groups}: 0 is the whole match")
    parts = (string(name, args[0]), Literal(made.text, _STRING), Literal(group, _INT))
    return Call("regexp_extract_all", parts, pa.list_(_STRING))


# --- numbers ----------------------------------------------------------------------------------------------------------


def _shift(fn: str) -> Builder:
    def build(args: Sequence[Expr]) -> Expr:
        wide = pa.types.is_integer(args[0].type) and args[0].type.bit_width == 64
        kind = _BIGINT if wide else _INT
        return Call(fn, (whole(fn.upper(), args[0], kind), whole(fn.upper(), args[1], _INT)), kind)

    return build


def _bit_get(args: Sequence[Expr]) -> Expr:
    x = args[0] if pa.types.is_integer(args[0].type) else whole("BIT_GET", args[0], _BIGINT)
    return Call("bit_get", (x, whole("BIT_GET", args[1], _INT)), _TINY)


def _bround(args: Sequence[Expr]) -> Expr:
    x = number("BROUND", args[0])
    digits = plain_count("BROUND", args[1], -400, 400) if len(args) > 1 else 0
    kind = x.type
    if pa.types.is_decimal(kind):
        scale = max(min(digits, kind.scale), 0)
        kind = pa.decimal128(min(38, kind.precision - kind.scale + 1 + scale), scale)
    return Call("bround", (x, Literal(digits, _INT)), kind)


def _width_bucket(args: Sequence[Expr]) -> Expr:
    values = [double("WIDTH_BUCKET", a) for a in args[:3]]
    return Call("width_bucket", (*values, whole("WIDTH_BUCKET", args[3], _BIGINT)), _BIGINT)


def _doubles(fn: str) -> Builder:
    return lambda args: Call(fn, (double(fn.upper(), args[0]),), _DOUBLE)


# --- numbers as texts -------------------------------------------------------------------------------------------------


def _printed(name: str, e: Expr) -> Expr:
    """A number whose digits are asked for: a DOUBLE, or exact as it is."""
    x = number(name, e)
    return coerce(x, _DOUBLE) if pa.types.is_floating(x.type) else x


def _format_number(args: Sequence[Expr]) -> Expr:
    digits = plain_count("FORMAT_NUMBER", args[1], -MOST_DIGITS, MOST_DIGITS)
    return Call("format_number", (_printed("FORMAT_NUMBER", args[0]), Literal(digits, _INT)), _STRING)


def _format_string(args: Sequence[Expr]) -> Expr:
    """format_string('%s has %05d of %.2f', ...): NULL is written null."""
    text = plain_text("FORMAT_STRING", args[0], "a plain format")
    pieces, values = [p for p in format_pieces(text) if p.kind], args[1:]
    if len(pieces) > len(values):
        raise TypeClash(f"FORMAT_STRING has no value for {pieces[len(values)].text}")
    given = [_formatted(p, e) for p, e in zip(pieces, values, strict=False)]
    return Call("format_string", (Literal(text, _STRING), *given), _STRING)


def _formatted(piece: FormatPiece, e: Expr) -> Expr:
    t = e.type
    match piece.kind:
        case "d":
            return whole("FORMAT_STRING with %d", e, _BIGINT)
        case "f":
            x = number("FORMAT_STRING with %f", e)
            if not pa.types.is_floating(x.type):
                raise TypeClash(f"{piece.text} takes a DOUBLE, not {describe(e)}: CAST it")
            return coerce(x, _DOUBLE)
        case "s":
            plain = pa.types.is_integer(t) or pa.types.is_floating(t) or family(t) in ("string", "boolean", "null")
            if not plain:
                raise TypeClash(f"%s takes a STRING, a whole number, a DOUBLE or a BOOLEAN, not {describe(e)}: CAST it")
            return text_of(e)
        case _:
            if not pa.types.is_integer(t):
                raise TypeClash(f"%x takes a whole number, not {describe(e)}")
            return e


def _typeof(args: Sequence[Expr]) -> Expr:
    name = to_spark(args[0].type).lower().replace(", ", ",").replace(": ", ":")
    return Literal(name, _STRING)


_CASTS = (("tinyint", _TINY), ("smallint", pa.int16()), ("bigint", _BIGINT), ("decimal", pa.decimal128(10, 0)))


def _as(name: str, kind: pa.DataType) -> Builder:
    """bigint(x) and its like: CAST under the name of the type."""

    def build(args: Sequence[Expr]) -> Expr:
        if family(args[0].type) not in ("number", "string", "boolean", "null"):
            raise TypeClash(f"{name.upper()} takes a number, a STRING or a BOOLEAN, not {describe(args[0])}")
        return coerce(args[0], kind)

    return build


def _to_number(args: Sequence[Expr]) -> Expr:
    text = plain_text("TO_NUMBER", args[1], "a plain format").upper()
    made = number_format(text)
    value = string("TO_NUMBER", args[0])
    return Call("to_number", (value, Literal(text, _STRING)), pa.decimal128(made.precision, made.scale))


def _try_to_number(args: Sequence[Expr]) -> Expr:
    e = _to_number(args)
    return Call("try", (e,), e.type)


TABLE: dict[str, tuple[int, int, Builder]] = {
    "initcap": (1, 1, _of_text("initcap")),
    "translate": (3, 3, _with_texts("translate", "plain characters")),
    "mask": (1, 5, _mask),
    "overlay": (3, 4, _overlay),
    "substring_index": (3, 3, _substring_index),
    "levenshtein": (2, 3, _levenshtein),
    "soundex": (1, 1, _of_text("soundex")),
    "ascii": (1, 1, _of_text("ascii", _INT)),
    **dict.fromkeys(("chr", "char"), (1, 1, lambda args: Call("chr", (whole("CHR", args[0], _BIGINT),), _STRING))),
    "luhn_check": (1, 1, _of_text("luhn_check", _BOOL)),
    "regexp_count": (2, 2, _matched("regexp_count", _INT)),
    "regexp_substr": (2, 2, _matched("regexp_substr", _STRING)),
    "regexp_instr": (2, 2, _matched("regexp_instr", _INT)),
    "regexp_extract_all": (2, 3, _extract_all),
    "shiftleft": (2, 2, _shift("shiftleft")),
    "shiftright": (2, 2, _shift("shiftright")),
    "shiftrightunsigned": (2, 2, _shift("shiftrightunsigned")),
    "bit_count": (1, 1, lambda args: Call("bit_count", (whole("BIT_COUNT", args[0], _BIGINT),), _INT)),
    **dict.fromkeys(("bit_get", "getbit"), (2, 2, _bit_get)),
    "bround": (1, 2, _bround),
    "factorial": (1, 1, lambda args: Call("factorial", (whole("FACTORIAL", args[0], _INT),), _BIGINT)),
    "width_bucket": (4, 4, _width_bucket),
    **{name: (1, 1, _doubles(name)) for name in ("asinh", "acosh", "atanh", "cot", "sec", "csc")},
    "format_number": (2, 2, _format_number),
    **dict.fromkeys(("format_string", "printf"), (1, 1_000, _format_string)),
    "to_number": (2, 2, _to_number),
    "try_to_number": (2, 2, _try_to_number),
    "typeof": (1, 1, _typeof),
    **{name: (1, 1, _as(name, kind)) for name, kind in _CASTS},
}
"""By name: the least and the most arguments, and the builder."""
