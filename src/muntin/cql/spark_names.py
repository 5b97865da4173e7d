"""Functions under Spark's names that are made of others, and those of days, of the epoch and of regular expressions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pyarrow as pa

from muntin.cql import arrays, characters, encodings, nested, times_made
from muntin.cql.coerce import coerce
from muntin.cql.date_formats import date_format
from muntin.cql.operators import BOOL, TypeClash, arithmetic, choose, compare, negate, unify
from muntin.cql.regexes import regex
from muntin.cql.takes import double, plain_count, plain_text, string, whole
from muntin.cql.time_functions import UNITS, add_months, date_of, date_trunc, part, time_of
from muntin.cql.types import TIMESTAMP, family
from muntin.plan.exprs import Call, Expr, Literal

Builder = Callable[[Sequence[Expr]], Expr]
_DOUBLE, _STRING, _INT, _BIGINT, _DATE = pa.float64(), pa.string(), pa.int32(), pa.int64(), pa.date32()
_FIXED = {
    "microsecond": 1, "millisecond": 1_000, "second": 1_000_000, "minute": 60_000_000, "hour": 3_600_000_000,
    "day": 86_400_000_000, "week": 604_800_000_000,
}  # fmt: skip
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
UNIT_FIRST = frozenset(["dateadd", "date_add", "datediff", "date_diff", "timestampadd", "timestampdiff"])
"""Functions whose first argument of three is the plain name of a unit."""


def _instant(name: str, e: Expr) -> Expr:
    return coerce(e if family(e.type) == "string" else time_of(e, name), TIMESTAMP)


def _day(name: str, e: Expr) -> Expr:
    return coerce(e, _DATE) if family(e.type) == "string" else date_of(e, name)


# --- numbers ----------------------------------------------------------------------------------------------------------


def _of_doubles(fn: str, name: str | None = None) -> Builder:
    return lambda args: Call(fn, tuple(double((name or fn).upper(), a) for a in args), _DOUBLE)


def _log(args: Sequence[Expr]) -> Expr:
    """log(x), log(base, x)."""
    x = Call("ln", (double("LOG", args[-1]),), _DOUBLE)
    return x if len(args) == 1 else arithmetic("div", x, Call("ln", (double("LOG", args[0]),), _DOUBLE))


def _log2(args: Sequence[Expr]) -> Expr:
    return arithmetic("div", Call("ln", (double("LOG2", args[0]),), _DOUBLE), Literal(math.log(2), _DOUBLE))


def _scaled(name: str, by: float) -> Builder:
    return lambda args: arithmetic("mul", double(name, args[0]), Literal(by, _DOUBLE))


def _constant(value: float) -> Builder:
    return lambda args: Literal(value, _DOUBLE)


def _nanvl(args: Sequence[Expr]) -> Expr:
    x, y = (double("NANVL", a) for a in args)
    return choose([(compare("eq", x, Literal(math.nan, _DOUBLE)), y)], x)


def _bits(fn: str) -> Builder:
    def build(args: Sequence[Expr]) -> Expr:
        for a in args:
            whole(fn.upper(), a, _BIGINT)
        a, b = unify(fn.upper(), args)
        return Call(fn, (a, b), a.type)

    return build


def _bit_not(args: Sequence[Expr]) -> Expr:
    whole("~", args[0], _BIGINT)
    return Call("bit_xor", (args[0], Literal(-1, args[0].type)), args[0].type)


def _zero_if_null(args: Sequence[Expr]) -> Expr:
    values = tuple(unify("ZEROIFNULL", (args[0], Literal(0, _INT))))
    return Call("coalesce", values, values[0].type)


def _null_if_zero(args: Sequence[Expr]) -> Expr:
    zero = compare("eq", args[0], Literal(0, _INT))
    return choose([(zero, Literal(None, args[0].type))], args[0])


# --- texts ------------------------------------------------------------------------------------------------------------


def _concat_ws(args: Sequence[Expr]) -> Expr:
    between = plain_text("CONCAT_WS", args[0])
    return Call("concat_ws", (Literal(between, _STRING), *(string("CONCAT_WS", a) for a in args[1:])), _STRING)


def _rlike(args: Sequence[Expr]) -> Expr:
    made = regex(plain_text("RLIKE", args[1], "a plain regular expression"))
    return Call("rlike", (string("RLIKE", args[0]), Literal(made.text, _STRING)), BOOL)


def _extract(args: Sequence[Expr]) -> Expr:
    name = "REGEXP_EXTRACT"
    made = regex(plain_text(name, args[1], "a plain regular expression"))
    group = plain_count(name, args[2], 0, 99) if len(args) > 2 else 1
    if group > made.groups:
        raise TypeClash(f"{name} asks for group {group} of a pattern with {made.groups}: 0 is the whole match")
    return Call(
        "regexp_extract", (string(name, args[0]), Literal(made.text, _STRING), Literal(group, _INT)), _STRING
    )


def _replaced(args: Sequence[Expr]) -> Expr:
    name = "REGEXP_REPLACE"
    made, by = regex(plain_text(name, args[1], "a plain regular expression")), plain_text(name, args[2])
    if "$" in by or "\\" in by:
        raise TypeClash(f"{name} puts in a plain text here, without $ and \\: references to groups are not supported")
    if made.empty:
        raise TypeClash(f"{name} takes a pattern that no empty text fits, as 'a+' for 'a*'")
    return Call(
        "regexp_replace", (string(name, args[0]), Literal(made.text, _STRING), Literal(by, _STRING)), _STRING
    )


def _reverse(args: Sequence[Expr]) -> Expr:
    e = args[0]
    return arrays.reverse(e) if nested.is_array(e.type) else Call("reverse", (string("REVERSE", e),), _STRING)


def _repeat(args: Sequence[Expr]) -> Expr:
    n = plain_count("REPEAT", args[1], 0, 10_000)
    return Call("repeat", (string("REPEAT", args[0]), Literal(n, _INT)), _STRING)


def _padded(fn: str) -> Builder:
    def build(args: Sequence[Expr]) -> Expr:
        width = plain_count(fn.upper(), args[1], 0, 10_000)
        by = plain_text(fn.upper(), args[2], "one plain character") if len(args) > 2 else " "
        if len(by) != 1:
            raise TypeClash(f"{fn.upper()} pads with one character, not {by!r}")
        return Call(fn, (string(fn.upper(), args[0]), Literal(width, _INT), Literal(by, _STRING)), _STRING)

    return build


def _instr(args: Sequence[Expr]) -> Expr:
    part = plain_text("INSTR", args[1])
    if not part:
        raise TypeClash("INSTR looks for a text of one character or more")
    return Call("instr", (string("INSTR", args[0]), Literal(part, _STRING)), _INT)


def _split(args: Sequence[Expr]) -> Expr:
    made = regex(plain_text("SPLIT", args[1], "a plain regular expression"))
    if made.empty:
        raise TypeClash("SPLIT takes a pattern that no empty text fits, as 'a+' for 'a*'")
    return Call("split", (string("SPLIT", args[0]), Literal(made.text, _STRING)), pa.list_(_STRING))


_SPECIAL = frozenset("\\.[]{}()*+?^$|&-")


def _split_part(args: Sequence[Expr]) -> Expr:
    """split_part(s, ',', n): counted from 1, from the end where n is negative; empty where there are fewer parts."""
    by = plain_text("SPLIT_PART", args[1])
    n = plain_count("SPLIT_PART", args[2], -10_000, 10_000)
    if not by or not n:
        raise TypeClash("SPLIT_PART takes a text of one character or more, and a place from 1 (or -1, the last)")
    text = string("SPLIT_PART", args[0])
    parts = _split([text, Literal("".join("\\" + c if c in _SPECIAL else c for c in by), _STRING)])
    none = Call("substring", (text, Literal(1, _INT), Literal(0, _INT)), _STRING)  # NULL for NULL
    return Call("coalesce", (nested.element_at([parts, Literal(n, _INT)]), none), _STRING)


def _space(args: Sequence[Expr]) -> Expr:
    return Literal(" " * plain_count("SPACE", args[0], 0, 10_000), _STRING)


def _octets(args: Sequence[Expr]) -> Expr:
    return Call("octet_length", (string("OCTET_LENGTH", args[0]),), _INT)


def _trim(args: Sequence[Expr]) -> Expr:
    return Call("trim", (string("BTRIM", args[0]),), _STRING)


# --- times ------------------------------------------------------------------------------------------------------------


def _unit(name: str, e: Expr) -> str:
    unit = plain_text(name, e, "a unit").lower().removesuffix("s")
    if unit not in UNITS:
        raise TypeClash(f"{name} takes one of {', '.join(UNITS)}, not {unit!r}")
    return unit


def _add_days(name: str, d: Expr, days: Expr) -> Expr:
    return Call("add_days", (_day(name, d), days), _DATE)


def _date_add(name: str, sign: int) -> Builder:
    """date_add(d, days); of three arguments as DATEADD(unit, n, t)."""

    def build(args: Sequence[Expr]) -> Expr:
        if len(args) == 3:
            return _moved(name)(args)
        days = whole(name, args[1], _INT)
        return _add_days(name, args[0], days if sign > 0 else negate(days))

    return build


def _moved(name: str) -> Builder:
    """DATEADD(unit, n, t), a timestamp; of a date and days or months midnight of that day, as Spark has it."""

    def build(args: Sequence[Expr]) -> Expr:
        unit, t = _unit(name, args[0]), args[2]
        if unit in _MONTHS:
            moved = add_months(t, plain_count(name, args[1], -120_000, 120_000) * _MONTHS[unit])
            return coerce(moved, TIMESTAMP) if family(t.type) == "date" else moved
        if family(t.type) == "date" and unit in ("day", "week"):
            days = arithmetic("mul", whole(name, args[1], _INT), Literal(7 if unit == "week" else 1, _INT))
            return coerce(_add_days(name, t, days), TIMESTAMP)
        n = plain_count(name, args[1], -(10**12), 10**12)
        return arithmetic("add", time_of(t, name), Literal(n * _FIXED[unit], pa.duration("us")))

    return build


def _date_diff(name: str) -> Builder:
    """datediff(end, start) in days; of three arguments as DATEDIFF(unit, start, end)."""

    def build(args: Sequence[Expr]) -> Expr:
        if len(args) == 3:
            return _between(name)(args)
        return Call("date_diff", (_day(name, args[0]), _day(name, args[1])), _INT)

    return build


def _between(name: str) -> Builder:
    """Whole units from one time to another."""

    def build(args: Sequence[Expr]) -> Expr:
        unit = _unit(name, args[0])
        if unit in _MONTHS:
            raise TypeClash(f"{name} counts units of a fixed length here: {', '.join(_FIXED)}")
        start, end = (Call("unix_micros", (_instant(name, a),), _BIGINT) for a in args[1:])
        return arithmetic("intdiv", arithmetic("sub", end, start), Literal(_FIXED[unit], _BIGINT))

    return build


def _since_epoch(name: str, unit: int) -> Builder:
    def build(args: Sequence[Expr]) -> Expr:
        micros: Expr = Call("unix_micros", (_instant(name, args[0]),), _BIGINT)
        if unit == 1:
            return micros
        units, rest = (arithmetic(fn, micros, Literal(unit, _BIGINT)) for fn in ("intdiv", "mod"))
        below = compare("lt", rest, Literal(0, _INT))  # rounded down, before 1970 too
        return choose([(below, arithmetic("sub", units, Literal(1, _BIGINT)))], units)

    return build


def _unix_timestamp(args: Sequence[Expr]) -> Expr:
    """Seconds, cut towards 1970, as Spark has it."""
    e = args[0]
    if len(args) > 1 and family(e.type) == "string":
        e = times_made.parsed("UNIX_TIMESTAMP", e, args[1], TIMESTAMP)
    micros = Call("unix_micros", (_instant("UNIX_TIMESTAMP", e),), _BIGINT)
    return arithmetic("intdiv", micros, Literal(1_000_000, _BIGINT))


def _from_epoch(name: str, unit: int) -> Builder:
    def build(args: Sequence[Expr]) -> Expr:
        n = whole(name, args[0], _BIGINT)
        micros = n if unit == 1 else arithmetic("mul", n, Literal(unit, _BIGINT))
        return Call("timestamp_micros", (micros,), TIMESTAMP)

    return build


def _shown_time(args: Sequence[Expr]) -> Expr:
    """from_unixtime(seconds[, format])."""
    at = _from_epoch("FROM_UNIXTIME", 1_000_000)(args[:1])
    letters = plain_text("FROM_UNIXTIME", args[1]) if len(args) > 1 else "yyyy-MM-dd HH:mm:ss"
    return date_format(at, letters)


_EPOCH = Literal(0, _DATE)


def _last_day(args: Sequence[Expr]) -> Expr:
    first = coerce(date_trunc("MONTH", coerce(_day("last_day", args[0]), TIMESTAMP)), _DATE)
    return _add_days("last_day", add_months(first, 1), Literal(-1, _INT))


def _trunc(args: Sequence[Expr]) -> Expr:
    unit = plain_text("TRUNC", args[1], "a unit")
    return coerce(date_trunc(unit, coerce(_day("trunc", args[0]), TIMESTAMP)), _DATE)


def _months_later(args: Sequence[Expr]) -> Expr:
    return add_months(_day("add_months", args[0]), plain_count("ADD_MONTHS", args[1], -120_000, 120_000))


_DAYS = ("SUNDAY", "MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY")


def _next_day(args: Sequence[Expr]) -> Expr:
    """The first day after a date that has the name."""
    name = plain_text("NEXT_DAY", args[1], "a day of the week").strip().upper()
    wanted = next((i for i, d in enumerate(_DAYS, 1) if name in (d, d[:3], d[:2])), None)
    if wanted is None:
        raise TypeClash(f"NEXT_DAY takes a day of the week, as 'MON' or 'Monday', not {name!r}")
    day = _day("next_day", args[0])
    ahead = arithmetic("mod", arithmetic("sub", Literal(wanted + 6, _INT), part("dayofweek")([day])), Literal(7, _INT))
    return _add_days("next_day", day, arithmetic("add", ahead, Literal(1, _INT)))


def _weekday(args: Sequence[Expr]) -> Expr:
    """0 is Monday."""
    day = part("dayofweek")([_day("weekday", args[0])])
    return arithmetic("mod", arithmetic("add", day, Literal(5, _INT)), Literal(7, _INT))


def _named(name: str, letters: str) -> Builder:
    return lambda args: date_format(time_of(args[0], name), letters)


def _to_char(args: Sequence[Expr]) -> Expr:
    """to_char(t, format) of a time; to_char(bytes, 'hex')."""
    e, form = args[0], plain_text("TO_CHAR", args[1], "a plain format")
    if family(e.type) == "number":
        raise TypeClash(
            "TO_CHAR takes times and BINARY here: write FORMAT_NUMBER(x, 2), FORMAT_STRING('%8.2f', x) or CAST(x AS "
            "STRING) for a number"
        )
    if family(e.type) == "binary":
        if form.lower() not in ("base64", "hex", "utf-8"):
            raise TypeClash(f"TO_CHAR of BINARY takes 'base64', 'hex' or 'utf-8', not {form!r}")
        name = "decode" if form.lower() == "utf-8" else form.lower()
        _, _, build = encodings.TABLE[name]
        return build([e, Literal("UTF-8", _STRING)] if name == "decode" else [e])
    return date_format(time_of(e, "to_char"), form)


TABLE: dict[str, tuple[int, int, Builder]] = {
    "ln": (1, 1, _of_doubles("ln")), "exp": (1, 1, _of_doubles("exp")), "log10": (1, 1, _of_doubles("log10")),
    "log": (1, 2, _log), "log2": (1, 1, _log2), "sin": (1, 1, _of_doubles("sin")), "cos": (1, 1, _of_doubles("cos")),
    "tan": (1, 1, _of_doubles("tan")), "asin": (1, 1, _of_doubles("asin")), "acos": (1, 1, _of_doubles("acos")),
    "atan": (1, 1, _of_doubles("atan")), "atan2": (2, 2, _of_doubles("atan2")),
    "radians": (1, 1, _scaled("RADIANS", 0.017453292519943295)),
    "degrees": (1, 1, _scaled("DEGREES", 57.29577951308232)),
    "pi": (0, 0, _constant(math.pi)), "e": (0, 0, _constant(math.e)), "nanvl": (2, 2, _nanvl),
    "negative": (1, 1, lambda args: negate(args[0])), "positive": (1, 1, lambda args: args[0]),
    "bit_and": (2, 2, _bits("bit_and")), "bit_or": (2, 2, _bits("bit_or")), "bit_xor": (2, 2, _bits("bit_xor")),
    "bit_not": (1, 1, _bit_not), "zeroifnull": (1, 1, _zero_if_null), "nullifzero": (1, 1, _null_if_zero),
    "equal_null": (2, 2, lambda args: compare("eq_null_safe", args[0], args[1])),
    "concat_ws": (2, 1_000, _concat_ws), "rlike": (2, 2, _rlike), "regexp": (2, 2, _rlike),
    "regexp_like": (2, 2, _rlike), "regexp_extract": (2, 3, _extract), "regexp_replace": (3, 3, _replaced),
    "reverse": (1, 1, _reverse),
    "repeat": (2, 2, _repeat), "lpad": (2, 3, _padded("lpad")), "rpad": (2, 3, _padded("rpad")),
    **{name: (1, 1, _of_doubles(name)) for name in ("log1p", "expm1", "sinh", "cosh", "tanh", "cbrt", "rint")},
    "hypot": (2, 2, _of_doubles("hypot")), "split": (2, 2, _split), "split_part": (3, 3, _split_part),
    "space": (1, 1, _space), "octet_length": (1, 1, _octets),
    "bit_length": (1, 1, lambda args: arithmetic("mul", _octets(args), Literal(8, _INT))),
    "next_day": (2, 2, _next_day), "instr": (2, 2, _instr), "locate": (2, 2, lambda args: _instr(args[::-1])),
    "position": (2, 2, lambda args: _instr(args[::-1])), "btrim": (1, 1, _trim),
    "date_add": (2, 3, _date_add("DATE_ADD", 1)), "date_sub": (2, 2, _date_add("DATE_SUB", -1)),
    "dateadd": (2, 3, _date_add("DATEADD", 1)), "timestampadd": (3, 3, _moved("TIMESTAMPADD")),
    "datediff": (2, 3, _date_diff("DATEDIFF")), "date_diff": (2, 3, _date_diff("DATE_DIFF")),
    "timestampdiff": (3, 3, _between("TIMESTAMPDIFF")), "unix_timestamp": (1, 2, _unix_timestamp),
    "to_unix_timestamp": (1, 2, _unix_timestamp),
    "unix_seconds": (1, 1, _since_epoch("UNIX_SECONDS", 10**6)),
    "unix_millis": (1, 1, _since_epoch("UNIX_MILLIS", 1_000)),
    "unix_micros": (1, 1, _since_epoch("UNIX_MICROS", 1)),
    "unix_date": (1, 1, lambda args: Call("date_diff", (_day("unix_date", args[0]), _EPOCH), _INT)),
    "date_from_unix_date": (1, 1, lambda args: _add_days("", _EPOCH, whole("DATE_FROM_UNIX_DATE", args[0], _INT))),
    "timestamp_seconds": (1, 1, _from_epoch("TIMESTAMP_SECONDS", 10**6)),
    "timestamp_millis": (1, 1, _from_epoch("TIMESTAMP_MILLIS", 1_000)),
    "timestamp_micros": (1, 1, _from_epoch("TIMESTAMP_MICROS", 1)), "from_unixtime": (1, 2, _shown_time),
    "last_day": (1, 1, _last_day), "trunc": (2, 2, _trunc),
    "add_months": (2, 2, _months_later), "weekday": (1, 1, _weekday), "dayname": (1, 1, _named("dayname", "EEE")),
    **dict.fromkeys(("to_char", "to_varchar"), (2, 2, _to_char)),
    "monthname": (1, 1, _named("monthname", "MMM")),
}  # fmt: skip

PARSED_AS_CALLS = frozenset(
    name.upper()
    for name in (
        *TABLE, *encodings.TABLE, *characters.TABLE, *arrays.TABLE, *times_made.TABLE,
        "date_diff", "timestamp_diff", "timestamp_add", "str_position",
        "get_json_object", "json_object_keys", "from_json", "to_json", "named_struct",
    )
) - {"REVERSE"}  # fmt: skip
"""Names that sqlglot would make nodes of its own of, with their arguments in another order."""
