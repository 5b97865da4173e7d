"""Functions of Spark's over the characters of texts: whole columns at a time over code points or bytes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.cql.formats import FormatPiece, format_pieces
from muntin.cql.number_formats import number_format
from muntin.cql.regexes import python_of
from muntin.kernels.text_distances import levenshtein, soundex
from muntin.scalars.buffers import (
    Bytes,
    Ints,
    by_point,
    columns,
    counted,
    distinct_points,
    kept,
    nulls,
    of_points,
    packed,
    points,
    raw,
    rows_of,
    spread_by_point,
    text_column,
)
from muntin.scalars.cast import cast_value
from muntin.scalars.cast_rules import Value, by_value, convert
from muntin.scalars.clocks import constant
from muntin.scalars.encodings import hexadecimal
from muntin.scalars.nested import inside
from muntin.scalars.spark_names import marked

Function = Callable[[Sequence[Value], pa.DataType], Value]
_LATIN_1 = pa.array([chr(n) for n in range(256)])


def _initcap(args: Sequence[Value], kind: pa.DataType) -> Value:
    """The first character of each word in title case, the others in lower case; words end at spaces."""
    text = text_column(args[0])
    found, starts = points(text)
    first = np.ones(len(found), np.bool_)
    first[1:] = found[:-1] == ord(" ")
    first[starts[:-1][np.diff(starts) > 0]] = True
    return of_points(*spread_by_point(found, starts, first, str.title, str.lower), nulls(text))


def _translate(args: Sequence[Value], kind: pa.DataType) -> Value:
    """Characters of one text as those at the same place of another; without one there they are left out."""
    text = text_column(args[0])
    old, new = constant(args[1]) or "", constant(args[2]) or ""
    by = {ord(c): ord(new[i]) if i < len(new) else -1 for i, c in reversed([*enumerate(old)])}
    found, starts = points(text)
    known, which = distinct_points(found)
    table = np.array([by.get(int(c), int(c)) for c in known], np.int64)
    made = table[which] if len(known) else found.astype(np.int64)
    left, begins = kept(made, starts, made >= 0)
    return of_points(left.astype(np.uint32), begins, nulls(text))


def _mask(args: Sequence[Value], kind: pa.DataType) -> Value:
    """Upper case, lower case, digits and all others as one character each; NULL keeps them."""
    text = text_column(args[0])
    upper, lower, digit, other = (constant(a) for a in args[1:])

    def masked(c: str) -> str:
        by = upper if c.isupper() else lower if c.islower() else digit if c.isdecimal() else other
        return c if by is None else by

    found, starts = points(text)
    return of_points(by_point(found, masked), starts, nulls(text))


def _substring_index(args: Sequence[Value], kind: pa.DataType) -> Value:
    """What stands before the n-th delimiter, or behind the n-th from the end; the whole text where there are fewer."""
    text, by, n = text_column(args[0]), (constant(args[1]) or "").encode(), constant(args[2]) or 0
    data, starts = raw(text)
    low, high = starts[:-1], starts[1:]
    if not by or not n:
        return packed(data[:0], np.zeros_like(starts), kind, nulls(text))
    places = _occurrences(data, starts, by)
    first, end = np.searchsorted(places, low), np.searchsorted(places, high)
    enough = end - first >= abs(n)
    at = np.append(places, 0)[np.where(enough, first + n - 1 if n > 0 else end + n, len(places))]
    if n > 0:
        high = np.where(enough, at, high)
    else:
        low = np.where(enough, at + len(by), low)
    return packed(data[inside(low, high)[0]], np.concatenate([[0], np.cumsum(high - low)]), kind, nulls(text))


def _occurrences(data: Bytes, starts: Ints, part: bytes) -> Ints:
    """Where the part begins in the bytes of a row, overlapping ones too."""
    if len(data) < len(part):
        return np.zeros(0, np.int64)
    size = len(data) - len(part) + 1
    same = np.ones(size, np.bool_)
    for k, byte in enumerate(part):
        same &= data[k : k + size] == byte
    found = np.flatnonzero(same)
    return found[found + len(part) <= starts[1:][rows_of(starts)[found]]]


def _levenshtein(args: Sequence[Value], kind: pa.DataType) -> Value:
    a, b = (text_column(c) for c in columns(args))
    found = np.zeros(len(a), np.int64)
    levenshtein(*points(a), *points(b), found)
    return pa.array(found.astype(np.int32), kind, mask=nulls(a) | nulls(b))


def _soundex(args: Sequence[Value], kind: pa.DataType) -> Value:
    text = text_column(args[0])
    data, starts = raw(text)
    codes = np.zeros(4 * len(text), np.uint8)
    soundex(data, starts, codes)
    coded = codes[::4] > 0
    return pc.if_else(pa.array(coded & ~nulls(text)), packed(codes, 4 * np.arange(len(text) + 1), kind), text)


def _ascii(args: Sequence[Value], kind: pa.DataType) -> Value:
    """The number of the first character; 0 of the empty text."""
    text = text_column(args[0])
    found, starts = points(text)
    first = np.where(np.diff(starts) > 0, np.append(found, 0)[starts[:-1]], 0)
    return pa.array(first.astype(np.int32), kind, mask=nulls(text))


def _chr(args: Sequence[Value], kind: pa.DataType) -> Value:
    """The character of the lowest byte in ISO 8859-1; the empty text below 0."""
    n = columns(args)[0]
    letters = _LATIN_1.take(pc.bit_wise_and(n, pa.scalar(255, n.type)))
    return pc.if_else(pc.less(n, pa.scalar(0, n.type)), pa.scalar("", kind), letters)


def _luhn(args: Sequence[Value], kind: pa.DataType) -> Value:
    """Whether a text of digits ends with its check digit (H. P. Luhn, US patent 2,950,048)."""
    text = text_column(args[0])
    data, starts = raw(text)
    row = rows_of(starts)
    digit = data.astype(np.int64) - ord("0")
    plain = (digit >= 0) & (digit <= 9)
    doubled = (starts[1:][row] - np.arange(len(data))) % 2 == 0
    worth = np.where(doubled, 2 * digit - 9 * (digit > 4), digit)
    sums = np.bincount(row, worth, len(text)).astype(np.int64)
    fine = (counted(plain, starts) == np.diff(starts)) & (np.diff(starts) > 0) & (sums % 10 == 0)
    return pa.array(fine, kind, mask=nulls(text))


# --- regular expressions ----------------------------------------------------------------------------------------------


def _regexp_count(args: Sequence[Value], kind: pa.DataType) -> Value:
    return convert(pc.count_substring_regex(text_column(args[0]), pattern=constant(args[1]) or ""), kind)


def _regexp_substr(args: Sequence[Value], kind: pa.DataType) -> Value:
    """The first match; NULL where there is none."""
    return pc.struct_field(pc.extract_regex(text_column(args[0]), pattern=marked(constant(args[1]) or "", 0)), 0)


def _regexp_instr(args: Sequence[Value], kind: pa.DataType) -> Value:
    """Characters before the first match, and 1; 0 where there is none."""
    text = text_column(args[0])
    at = pc.find_substring_regex(text, pattern=constant(args[1]) or "")
    place = at.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    data, starts = raw(text)
    before = np.concatenate([[0], np.cumsum((data & 0xC0) != 0x80)])
    found = before[starts[:-1] + np.maximum(place, 0)] - before[starts[:-1]] + 1
    return pa.array(np.where(place < 0, 0, found).astype(np.int32), kind, mask=nulls(text))


def _regexp_extract_all(args: Sequence[Value], kind: pa.DataType) -> Value:
    """The group of every match, in Python once for each distinct text: Arrow finds the first match alone."""
    pattern, group = re.compile(python_of(constant(args[1]) or "")), constant(args[2]) or 0
    return by_value(text_column(args[0]), kind, lambda s: [m.group(group) or "" for m in pattern.finditer(s)])


# --- numbers as texts -------------------------------------------------------------------------------------------------


def _format_number(args: Sequence[Value], kind: pa.DataType) -> Value:
    """#,###.##, rounded half to even, once for each distinct number in Python: Arrow has no such format."""
    value, digits = columns(args[:1])[0], constant(args[1])
    if digits is None or digits < 0:
        return pa.nulls(len(value), kind)
    return by_value(value, kind, lambda x: grouped(x, digits))


def grouped(x: float | int | Decimal, digits: int) -> str:
    """A number with so many digits behind the point, and a comma before every three before it (``DecimalFormat``)."""
    shown = Decimal(repr(x)) if isinstance(x, float) else Decimal(x)
    if shown.is_nan():
        return "NaN"
    minus = "-" if shown.is_signed() else ""
    if shown.is_infinite():
        return f"{minus}\u221e"
    unit = Decimal(1).scaleb(-digits)
    cut = -int(shown.as_tuple().exponent) > digits
    exact = Decimal(x) if cut else shown  # a double's shortest digits, rounded by what it is exactly
    return f"{minus}{exact.copy_abs().quantize(unit, ROUND_HALF_EVEN, Context(prec=800)):,f}"


def fixed(x: float | Decimal, digits: int) -> str:
    """A number with so many digits behind the point."""
    exact = Decimal(repr(x) if isinstance(x, float) else x)
    if exact.is_nan() or exact.is_infinite():
        return "NaN" if exact.is_nan() else "-Infinity" if exact < 0 else "Infinity"
    return format(exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, Context(prec=800)), "f")


def _format_string(args: Sequence[Value], kind: pa.DataType) -> Value:
    """The pieces of the format side by side. Doubles are written once a distinct one in Python, all else by Arrow."""
    given = iter(columns(args[1:]))
    parts = [_piece(p, next(given)) if p.kind else p.text for p in format_pieces(constant(args[0]) or "")]
    rows = max((len(a) for a in args if isinstance(a, pa.Array)), default=1)
    return pc.binary_join_element_wise(pa.repeat("", rows), *parts, "")


def _piece(piece: FormatPiece, value: pa.Array) -> pa.Array:
    match piece.kind:
        case "d" if "," in piece.flags:
            text = by_value(value, pa.string(), lambda x: f"{x:,}")
        case "f":
            text = by_value(value, pa.string(), lambda x: fixed(x, 6 if piece.digits is None else piece.digits))
        case "x" | "X":
            text = hexadecimal(value)
            text = text if piece.kind == "X" else pc.ascii_lower(text)
        case _:
            text = cast_value(value, pa.string())
    if "0" in piece.flags:
        text = _zeros_before(text, piece.width)
    null = "NULL" if piece.kind == "X" else "null" if piece.digits is None else "null"[: piece.digits]
    pad = pc.utf8_rpad if "-" in piece.flags else pc.utf8_lpad
    return pad(pc.fill_null(text, null), width=piece.width, padding=" ")


def _zeros_before(text: pa.Array, width: int) -> pa.Array:
    """Between the sign and the digits; not before NaN and Infinity."""
    body = pc.utf8_ltrim(text, characters="-")
    signed = pc.binary_join_element_wise("-", pc.utf8_lpad(body, width=max(width - 1, 0), padding="0"), "")
    padded = pc.if_else(pc.starts_with(text, "-"), signed, pc.utf8_lpad(body, width=width, padding="0"))
    return pc.if_else(pc.match_substring_regex(body, "^[NI]"), text, padded)


def _to_number(args: Sequence[Value], kind: pa.DataType) -> Value:
    """The number that a text of the format is; NULL for others."""
    text = text_column(args[0])
    form = number_format(constant(args[1]) or "9")
    fits = pc.and_(pc.match_substring_regex(text, form.pattern), pc.match_substring_regex(text, "[0-9]"))
    digits = pc.utf8_rtrim(pc.replace_substring_regex(text, pattern="[^0-9.]", replacement=""), characters=".")
    plain = pc.binary_join_element_wise("0", digits, "")
    value = pc.cast(pc.if_else(fits, plain, pa.scalar(None, pa.string())), kind)
    return pc.if_else(pc.match_substring_regex(text, "[-<]"), pc.negate(value), value)


TABLE: Mapping[str, Function] = {
    "to_number": _to_number,
    "initcap": _initcap,
    "translate": _translate,
    "mask": _mask,
    "substring_index": _substring_index,
    "levenshtein": _levenshtein,
    "soundex": _soundex,
    "ascii": _ascii,
    "chr": _chr,
    "luhn_check": _luhn,
    "regexp_count": _regexp_count,
    "regexp_substr": _regexp_substr,
    "regexp_instr": _regexp_instr,
    "regexp_extract_all": _regexp_extract_all,
    "format_number": _format_number,
    "format_string": _format_string,
}
