"""Lengths of time in query texts, in whole microseconds: ``10 MINUTES``, ISO 8601 (``PT10M``), Spark interval text."""

from __future__ import annotations

import re
from fractions import Fraction

from muntin.core.calendar import Months, Span
from muntin.core.spans import span_text
from muntin.core.time import DAY, HOUR, MICROSECOND, MILLISECOND, MINUTE, SECOND, WEEK

_NAMES: dict[int, str] = {
    MICROSECOND: "microsecond microseconds us usec usecs micro micros",
    MILLISECOND: "millisecond milliseconds ms msec msecs milli millis",
    SECOND: "second seconds s sec secs",
    MINUTE: "minute minutes m min mins",
    HOUR: "hour hours h hr hrs",
    DAY: "day days d",
    WEEK: "week weeks w wk wks",
}
UNITS: dict[str, int] = {name: span for span, names in _NAMES.items() for name in names.split()}
_ALLOWED = (
    "units are MICROSECOND, MILLISECOND, SECOND, MINUTE, HOUR, DAY, WEEK (also plural, us, ms, sec, min, hr), and of "
    "windows MONTH, QUARTER, YEAR"
)
_HOW = f"write a number and a unit, as in 10 MINUTES; {_ALLOWED}"
_CALENDAR = {
    **dict.fromkeys(("month", "months", "mon", "mons"), 1), **dict.fromkeys(("quarter", "quarters"), 3),
    **dict.fromkeys(("year", "years", "yr", "yrs"), 12),
}  # fmt: skip
"""Months of a unit."""
_DAYS_OF = {1: 30, 3: 91, 12: 365}
_WORDS = {1: "MONTH", 3: "QUARTER", 12: "YEAR"}
_PART = re.compile(r"\s*([+-]?)\s*'?\s*([+-]?)\s*(\d+\.?\d*|\.\d+)\s*'?\s*([A-Za-z]*)\s*,?")
_ISO = re.compile(
    r"([+-])?P(?:(\d+(?:\.\d+)?)W)?(?:(\d+(?:\.\d+)?)D)?"
    r"(?:T(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?",
    re.IGNORECASE,
)

_ISO_MONTHS = re.compile(r"([+-])?P(?:(\d+)Y)?(?:(\d+)M)?", re.IGNORECASE)


def parse_span(text: str) -> Span:
    """As ``parse_duration``; months, quarters and years are taken, too: whole ones, and nothing else beside them.

    Raises:
        ValueError: as there, a part of a month, or months beside a fixed length.
    """
    body = _unwrapped(text)
    parts = _months_in(body)
    if parts is None:
        return parse_duration(text)
    total = sum(parts)
    if total.denominator != 1:
        raise ValueError(f"{text.strip()!r} is not a whole number of months: write days, as in 10 DAYS")
    return Months(int(total))


def _months_in(body: str) -> list[Fraction] | None:
    """The parts of a text in months, if all are; None if none is."""
    iso = _ISO_MONTHS.fullmatch(body)
    if iso and any(iso.groups()[1:]):
        sign = -1 if iso.group(1) == "-" else 1
        return [sign * (int(iso.group(2) or 0) * 12 + int(iso.group(3) or 0)) * Fraction(1)]
    parts, fixed, at = [], False, 0
    while at < len(body) and (found := _PART.match(body, at)):
        outer, inner, number, unit = found.groups()
        months = _CALENDAR.get(unit.lower())
        fixed |= months is None
        parts += [] if months is None else [(-1 if (outer == "-") != (inner == "-") else 1) * Fraction(number) * months]
        at = found.end()
    if parts and at < len(body):
        raise ValueError(f"{body!r} is not a length of time: {_HOW}")
    if parts and fixed:
        raise ValueError(
            f"{body!r} has months beside a length that is always the same: write either, as in 45 DAYS or 2 MONTHS"
        )
    return parts or None


def _unwrapped(text: str) -> str:
    """The text without INTERVAL and quotes around it."""
    body = text.strip()
    if re.match(r"^'[^']*'$", body):
        body = body[1:-1].strip()
    body = re.sub(r"^interval\b\s*", "", body, flags=re.IGNORECASE)
    if re.match(r"^'[^']*'$", body):
        body = body[1:-1].strip()
    return body


def parse_duration(text: str) -> int:
    """Microseconds of a duration text; may be zero or negative.

    Raises:
        ValueError: not a duration, a unit without fixed length (months), or a fraction of a microsecond.
    """
    body = _unwrapped(text)
    if re.match(r"^[+-]?P", body, re.IGNORECASE):
        return _whole(_iso(body), text)
    return _whole(_parts(body, text), text)


def _parts(body: str, text: str) -> Fraction:
    total, at = Fraction(0), 0
    while at < len(body):
        found = _PART.match(body, at)
        if not found:
            raise ValueError(f"{text.strip()!r} is not a length of time: {_HOW}")
        outer, inner, number, unit = found.groups()
        sign = -1 if (outer == "-") != (inner == "-") else 1
        total += sign * Fraction(number) * _unit(unit, number)
        at = found.end()
    if not body:
        raise ValueError(f"a length of time is missing: {_HOW}")
    return total


def _unit(unit: str, number: str) -> int:
    name = unit.lower()
    if name in UNITS:
        return UNITS[name]
    if not name:
        raise ValueError(f"{number} has no unit: write for example {number} SECONDS; {_ALLOWED}")
    if name in _CALENDAR:
        one = _CALENDAR[name]
        raise ValueError(
            f"{unit} has no fixed length: write days, as in {_DAYS_OF[one]} DAYS, or group by "
            f"DATE_TRUNC('{_WORDS[one]}', t); months are added to a time, as in t + INTERVAL 1 MONTH, and are lengths "
            f"of windows, as in [RANGE 1 MONTH]; {_ALLOWED}"
        )
    raise ValueError(f"{unit!r} is not a unit of time; {_ALLOWED}")


def _iso(body: str) -> Fraction:
    found = _ISO.fullmatch(body)
    numbers = found.groups()[1:] if found else ()
    if found is None or not any(numbers):
        raise ValueError(f"{body!r} is not an ISO 8601 duration of fixed length: PnW, PnD, PTnHnMnS, as in PT10M")
    total = sum(
        (Fraction(n) * span for n, span in zip(numbers, (WEEK, DAY, HOUR, MINUTE, SECOND), strict=True) if n),
        Fraction(0),
    )
    return -total if found.group(1) == "-" else total


def _whole(value: Fraction, text: str) -> int:
    if value.denominator != 1:
        raise ValueError(f"{text.strip()!r} is not a whole number of microseconds, the smallest step of event time")
    return int(value)


def format_duration(span: Span) -> str:
    """CQL text of a positive span in the largest unit that divides it, as ``5 MINUTES``, ``3 MONTHS``."""
    return span_text(span)
