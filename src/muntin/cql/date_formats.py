"""``DATE_FORMAT(t, 'yyyy-MM-dd')``: Spark's letters, written out as parts of the date and of the clock.

A format is a plain text, so a call becomes a concatenation of functions that are there already and that mean the same
wherever they are computed; names of months and days are English, as in Spark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pyarrow as pa

from muntin.cql.coerce import coerce
from muntin.cql.operators import TypeClash, arithmetic, choose, compare, logic
from muntin.cql.time_functions import date_trunc
from muntin.cql.types import TIMESTAMP_NTZ
from muntin.plan.exprs import Call, Expr, Literal

_INT, _STRING = pa.int32(), pa.string()
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_ALLOWED = (
    "letters are yyyy, yy, y (year), G (era), QQQQ, QQQ, QQ, Q (quarter), MMMM, MMM, MM, M (month), dd, d (day), DDD, "
    "D (day of the year), EEEE, EEE, E (weekday), HH, H (0-23), kk, k (1-24), hh, h (1-12), KK, K (0-11), a (AM, PM), "
    "mm, m (minute), ss, s (second), S to SSSSSSSSS (fraction); other letters stand between single quotes"
)
_PIECES = re.compile(r"'(?:[^']|'')*'|([A-Za-z])\1*|[^A-Za-z']+|'")


def date_format(at: Expr, pattern: str) -> Expr:
    """The text of a timestamp, as its clock shows it.

    Raises:
        TypeClash: a letter that is not here, or a quote that is not closed.
    """
    shown = coerce(at, TIMESTAMP_NTZ)
    parts = [_piece(found[0], shown) for found in _PIECES.finditer(pattern)]
    if not parts:
        raise TypeClash(f"DATE_FORMAT takes a format, as in DATE_FORMAT(t, 'yyyy-MM-dd HH:mm'); {_ALLOWED}")
    return Call("concat", tuple(parts), _STRING) if len(parts) > 1 else parts[0]


def _piece(piece: str, at: Expr) -> Expr:
    if piece == "'":
        raise TypeClash(f"a quote of the format of DATE_FORMAT is not closed; {_ALLOWED}")
    if piece[0] == "'":
        return _text(piece[1:-1].replace("''", "'") or "'", at)
    if not piece[0].isalpha():
        if odd := next((c for c in piece if c in "[]{}#"), None):
            raise TypeClash(f"{odd} in the format of DATE_FORMAT stands between single quotes")
        return _text(piece, at)
    build = _LETTERS.get(piece)
    if build is None:
        raise TypeClash(f"there is no {piece} in the formats of DATE_FORMAT: {_ALLOWED}")
    return build(at)


def _text(text: str, at: Expr) -> Expr:
    """The text, NULL where the timestamp is."""
    return choose([(_there(at), Literal(text, _STRING))], None)


def _there(at: Expr) -> Expr:
    return logic("not", Call("is_null", (at,), pa.bool_()))


def _part(name: str, at: Expr) -> Expr:
    of = coerce(at, pa.date32()) if name in ("year", "quarter", "month", "day", "dayofyear", "dayofweek") else at
    return Call(name, (of,), _INT)


def _digits(e: Expr, width: int) -> Expr:
    """The last ``width`` digits of a number that is not negative, zeros before it."""
    padded = Call("concat", (Literal("0" * (width - 1), _STRING), coerce(e, _STRING)), _STRING)
    return Call("substring", (padded, Literal(-width, _INT)), _STRING)


def _number(name: str, width: int = 1) -> Callable[[Expr], Expr]:
    def build(at: Expr) -> Expr:
        e = _part(name, at)
        return coerce(e, _STRING) if width == 1 else _digits(e, width)

    return build


def _year(at: Expr) -> Expr:
    """Four digits; a sign before more of them, and before years before Christ."""
    year = _part("year", at)
    size = Call("abs", (year,), _INT)
    wide = compare("gt", size, Literal(9999, _INT))
    text = choose([(wide, coerce(size, _STRING))], _digits(size, 4))
    before = compare("lt", year, Literal(0, _INT))
    sign = choose([(before, Literal("-", _STRING)), (wide, Literal("+", _STRING))], Literal("", _STRING))
    return Call("concat", (sign, text), _STRING)


def _two_digits_of_year(at: Expr) -> Expr:
    return _digits(arithmetic("mod", Call("abs", (_part("year", at),), _INT), Literal(100, _INT)), 2)


def _name(part: str, names: Sequence[str], length: int | None) -> Callable[[Expr], Expr]:
    def build(at: Expr) -> Expr:
        e = _part(part, at)
        branches = [(compare("eq", e, Literal(i, _INT)), Literal(n[:length], _STRING)) for i, n in enumerate(names, 1)]
        return choose(branches, None)

    return build


def _twelve(width: int) -> Callable[[Expr], Expr]:
    """The hour of a clock of twelve hours, 1 to 12."""

    def build(at: Expr) -> Expr:
        past = arithmetic("mod", arithmetic("add", _part("hour", at), Literal(11, _INT)), Literal(12, _INT))
        hour = coerce(arithmetic("add", past, Literal(1, _INT)), _INT)
        return coerce(hour, _STRING) if width == 1 else _digits(hour, width)

    return build


def _one_to_24(width: int) -> Callable[[Expr], Expr]:
    def build(at: Expr) -> Expr:
        hour = _part("hour", at)
        shown = choose([(compare("eq", hour, Literal(0, _INT)), Literal(24, _INT))], hour)
        return coerce(shown, _STRING) if width == 1 else _digits(shown, width)

    return build


def _to_11(width: int) -> Callable[[Expr], Expr]:
    def build(at: Expr) -> Expr:
        hour = coerce(arithmetic("mod", _part("hour", at), Literal(12, _INT)), _INT)
        return coerce(hour, _STRING) if width == 1 else _digits(hour, width)

    return build


def _quarter(names: Sequence[str]) -> Callable[[Expr], Expr]:
    return _name("quarter", names, None)


def _era(after: str, before: str) -> Callable[[Expr], Expr]:
    def build(at: Expr) -> Expr:
        late = compare("gt", _part("year", at), Literal(0, _INT))
        return choose([(late, Literal(after, _STRING)), (_there(at), Literal(before, _STRING))], None)

    return build


def _half(at: Expr) -> Expr:
    morning = compare("lt", _part("hour", at), Literal(12, _INT))
    return choose([(morning, Literal("AM", _STRING)), (_there(at), Literal("PM", _STRING))], None)


def _fraction(digits: int) -> Callable[[Expr], Expr]:
    """Digits behind the second, from the text of the same fraction in 1970: a cast leaves out zeros at the end."""

    def build(at: Expr) -> Expr:
        rest = arithmetic("sub", at, coerce(date_trunc("second", at), TIMESTAMP_NTZ))
        moved = coerce(arithmetic("add", Literal(0, TIMESTAMP_NTZ), rest), _STRING)
        tail = Call("substring", (moved, Literal(21, _INT)), _STRING)
        padded = Call("concat", (tail, Literal("000000000", _STRING)), _STRING)
        return Call("substring", (padded, Literal(1, _INT), Literal(digits, _INT)), _STRING)

    return build


_SHORT = tuple(f"Q{n}" for n in range(1, 5))
_LONG = ("1st quarter", "2nd quarter", "3rd quarter", "4th quarter")
_LETTERS: dict[str, Callable[[Expr], Expr]] = {
    "yyyy": _year, "yy": _two_digits_of_year, "y": _number("year"),
    "MMMM": _name("month", _MONTHS, None), "MMM": _name("month", _MONTHS, 3), "MM": _number("month", 2),
    "M": _number("month"), "dd": _number("day", 2), "d": _number("day"), "DDD": _number("dayofyear", 3),
    "D": _number("dayofyear"), "EEEE": _name("dayofweek", _DAYS, None),
    **dict.fromkeys(("EEE", "EE", "E"), _name("dayofweek", _DAYS, 3)),
    "HH": _number("hour", 2), "H": _number("hour"), "hh": _twelve(2), "h": _twelve(1), "a": _half,
    "kk": _one_to_24(2), "k": _one_to_24(1), "KK": _to_11(2), "K": _to_11(1),
    **{c * n: _number("quarter", n) for c in "Qq" for n in (1, 2)}, "QQQ": _quarter(_SHORT), "QQQQ": _quarter(_LONG),
    "mm": _number("minute", 2), "m": _number("minute"), "ss": _number("second", 2), "s": _number("second"),
    **{"S" * n: _fraction(n) for n in range(1, 10)},
    **dict.fromkeys(("G", "GG", "GGG"), _era("AD", "BC")), "GGGG": _era("Anno Domini", "Before Christ"),
}  # fmt: skip
_LETTERS |= {letters.replace("M", "L"): build for letters, build in _LETTERS.items() if letters.startswith("M")}
_LETTERS |= {letters.lower(): _LETTERS[letters] for letters in ("QQQ", "QQQQ")}
