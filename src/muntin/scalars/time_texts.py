"""Times from texts by a pattern (``cql.time_patterns``), and from numbers: years, months, days, ... Whole columns.

What is no time is NULL here. Fields that a pattern does not have are those of 1970-01-01 00:00:00, as in Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.cql.time_patterns import MONTHS, time_pattern
from muntin.scalars.buffers import Bools, Ints, columns, nulls, text_column
from muntin.scalars.cast_rules import Value, convert
from muntin.scalars.clocks import clock, constant

Function = Callable[[Sequence[Value], pa.DataType], Value]

_NAMES = pa.array([m[:3] for m in MONTHS])
_DAY, _HOUR, _MINUTE, _SECOND = 86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000
_LAST_YEAR, _GONE = 290_000, -(2**62)


def _parsed(args: Sequence[Value], kind: pa.DataType) -> Value:
    text, pattern = text_column(args[0]), constant(args[1])
    if pattern is None:
        return pa.nulls(len(text), kind)
    made = time_pattern("", pattern)
    found = pc.extract_regex(text, pattern=made.regex)
    wrong = nulls(found)
    parts = {name: pc.struct_field(found, name) for name in made.fields}
    numbers = {n: _number(p) for n, p in parts.items() if n not in ("month_name", "half", "offset", "fraction")}
    years, months = _year(numbers, len(text)), _month(numbers, parts, len(text))
    time_of_day, bad_clock = _clock(numbers, parts, len(text))
    days, bad_day = _days(years, months, numbers.get("day", np.ones(len(text), np.int64)))
    at = days * _DAY + time_of_day
    wrong |= bad_clock | bad_day
    if made.zoned:
        offset, beyond = _offset(parts["offset"])
        at, wrong = at - offset, wrong | beyond
    elif len(args) > 2:
        at = clock(args[2]).instant(np.where(wrong, 0, at))
    return pc.cast(pa.array(at, pa.int64(), mask=wrong), kind)


def _number(part: pa.Array) -> Ints:
    """The digits as a number; ``_GONE`` where there are none (a part between brackets that is missing)."""
    plain = pc.utf8_ltrim(pc.fill_null(part, ""), characters="+")
    filled = pc.if_else(pc.equal(plain, ""), str(_GONE), plain)
    found: Ints = pc.cast(filled, pa.int64()).to_numpy(zero_copy_only=False)
    return found


def _year(numbers: Mapping[str, Ints], rows: int) -> Ints:
    if "short_year" in numbers:
        return _or(numbers["short_year"], -30) + 2000
    if "year" not in numbers:
        return np.full(rows, 1970)
    return _or(numbers["year"], 1970)


def _or(number: Ints, missing: int) -> Ints:
    return np.where(number == _GONE, missing, number)


def _month(numbers: Mapping[str, Ints], parts: Mapping[str, pa.Array], rows: int) -> Ints:
    if "month_name" in parts:
        short = pc.utf8_lower(pc.utf8_slice_codeunits(pc.fill_null(parts["month_name"], ""), 0, 3))
        return pc.fill_null(pc.index_in(short, value_set=_NAMES), 0).to_numpy(zero_copy_only=False).astype(np.int64) + 1
    return _or(numbers["month"], 1) if "month" in numbers else np.ones(rows, np.int64)


def _days(year: Ints, month: Ints, day: Ints) -> tuple[Ints, Bools]:
    """Days since the epoch, and where there is no such day."""
    day = _or(day, 1)
    wrong = (np.abs(year) > _LAST_YEAR) | (month < 1) | (month > 12)
    first = (np.where(wrong, 1970, year) - 1970) * 12 + np.where(wrong, 1, month) - 1
    begin, end = (m.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64) for m in (first, first + 1))
    wrong |= (day < 1) | (day > end - begin)
    return begin + np.where(wrong, 1, day) - 1, wrong


def _clock(numbers: Mapping[str, Ints], parts: Mapping[str, pa.Array], rows: int) -> tuple[Ints, Bools]:
    """Microseconds since midnight, and where there is no such time of day."""
    at, wrong = np.zeros(rows, np.int64), np.zeros(rows, np.bool_)
    fields = (
        ("hour", 0, 23, _HOUR), ("hour_12", 1, 12, _HOUR), ("hour_24", 1, 24, _HOUR), ("hour_11", 0, 11, _HOUR),
        ("minute", 0, 59, _MINUTE), ("second", 0, 59, _SECOND),
    )  # fmt: skip
    for name, low, high, unit in fields:
        if name not in numbers:
            continue
        n = _or(numbers[name], low if low == 0 else high)
        wrong |= (n < low) | (n > high)
        whole = np.where(n == high, 0, n) if low == 1 else n
        at += np.where(wrong, 0, whole) * unit
    if "half" in parts:
        at += np.asarray(pc.equal(pc.utf8_lower(pc.fill_null(parts["half"], "")), "pm")) * (12 * _HOUR)
    if "fraction" in parts:
        digits = pc.utf8_slice_codeunits(pc.utf8_rpad(pc.fill_null(parts["fraction"], ""), 6, padding="0"), 0, 6)
        at += pc.cast(digits, pa.int64()).to_numpy(zero_copy_only=False)
    return at, wrong


def _offset(part: pa.Array) -> tuple[Ints, Bools]:
    """Microseconds east of UTC, and where there is no such offset."""
    digits = pc.replace_substring_regex(pc.fill_null(part, ""), pattern="(?i)[z:+-]", replacement="")
    whole = pc.cast(pc.utf8_rpad(digits, 4, padding="0"), pa.int64()).to_numpy(zero_copy_only=False)
    minutes = whole // 100 * 60 + whole % 100
    sign = np.where(np.asarray(pc.starts_with(pc.fill_null(part, ""), "-")), -1, 1)
    return sign * minutes * _MINUTE, (whole % 100 > 59) | (minutes > 18 * 60)


# --- from numbers -----------------------------------------------------------------------------------------------------


def _given(args: Sequence[Value]) -> tuple[list[Ints], Bools]:
    given = columns(args)
    gone = np.logical_or.reduce([nulls(c) for c in given])
    return [c.fill_null(1).to_numpy(zero_copy_only=False).astype(np.int64) for c in given], gone


def _make_date(args: Sequence[Value], kind: pa.DataType) -> Value:
    (year, month, day), gone = _given(args)
    days, wrong = _days(year, month, day)
    return pc.cast(pa.array(days.astype(np.int32), pa.int32(), mask=gone | wrong), kind)


def _make_timestamp(args: Sequence[Value], kind: pa.DataType) -> Value:
    """Of a year, a month, a day, an hour, a minute and seconds, which may be a whole minute."""
    *parts, seconds = columns(args)
    exact = pc.multiply(convert(seconds, pa.decimal128(16, 6)), pa.scalar(Decimal(_SECOND), pa.decimal128(7, 0)))
    (year, month, day, hour, minute, micros), gone = _given([*parts, pc.cast(exact, pa.int64())])
    days, wrong = _days(year, month, day)
    wrong |= (hour < 0) | (hour > 23) | (minute < 0) | (minute > 59) | (micros < 0) | (micros > _MINUTE)
    at = days * _DAY + hour * _HOUR + minute * _MINUTE + micros
    return pc.cast(pa.array(at, pa.int64(), mask=gone | wrong), kind)


TABLE: Mapping[str, Function] = {
    "parse_time": _parsed,
    "make_date": _make_date,
    "make_timestamp": _make_timestamp,
}
