"""Times from texts by a pattern, letter by letter, and from numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from itertools import groupby
from typing import Any

from muntin.reference.clocks import instant
from muntin.reference.values import Failed

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_FULL = "january|february|march|april|may|june|july|august|september|october|november|december"
_HOURS = {"H": (0, 23), "h": (1, 12), "k": (1, 24), "K": (0, 11)}


def _expression(pattern: str) -> re.Pattern[str]:
    """A group for each letter of the pattern, named by it."""
    parts, quoted = [], False
    for c, run in groupby(pattern):
        size = len(list(run))
        if c == "'":
            parts.append("'" * (size // 2))
            quoted ^= size % 2 == 1
        elif quoted or not (c.isalpha() or c in "[]"):
            parts.append(re.escape(c * size))
        elif c in "[]":
            parts.append(("(?:" if c == "[" else ")?") * size)
        else:
            parts.append(f"(?P<{'M' if c == 'L' else c}>{_one(c, size)})")
    return re.compile("".join(parts), re.IGNORECASE | re.ASCII)


def _one(c: str, size: int) -> str:
    match c, size:
        case "y", 4:
            return r"\d{4}|\+\d{5,6}|-\d{4,6}"
        case "y", 2:
            return r"\d\d"
        case "y", _:
            return r"-?\d{1,6}"
        case "M" | "L", 3 | 4:
            return "|".join(_MONTHS) if size == 3 else _FULL
        case "S", _:
            return rf"\d{{1,{size}}}"
        case "a", _:
            return "am|pm"
        case "X" | "x" | "Z", _:
            plain = r"[+-]\d\d:\d\d" if size == 3 and c != "Z" else r"[+-]\d\d\d\d" if size > 1 or c == "Z" else \
                r"[+-]\d\d(?:\d\d)?"  # fmt: skip
            return f"Z|{plain}" if c == "X" else plain
        case _:
            return r"\d\d" if size == 2 else r"\d{1,18}"


def _parsed(_: Any, text: str, pattern: str, zone: str | None = None) -> int:
    found = _expression(pattern).fullmatch(text)
    if found is None:
        raise Failed(text)
    parts = {c: v for c, v in found.groupdict().items() if v is not None}
    year = parts.get("y", "1970")
    month = parts.get("M", "1").lower()[:3] if not parts.get("M", "1").isdigit() else parts.get("M", "1")
    days = _day(
        int(year) + 2000 * ("yy" in pattern and "yyyy" not in pattern and "y" in parts),
        _MONTHS.index(month) + 1 if month in _MONTHS else int(month),
        int(parts.get("d", "1")),
    )
    seconds = _seconds(parts)
    micros = int((parts.get("S", "") + "000000")[:6])
    offset = next((parts[c] for c in "XxZ" if c in parts), "Z")
    at = ((days * 86_400 + seconds) - _offset(offset)) * 1_000_000 + micros
    return at if zone is None else instant(at, zone)


def _seconds(parts: dict[str, str]) -> int:
    total = 12 * 3600 * (parts.get("a", "").lower() == "pm")
    for c, (low, high) in _HOURS.items():
        if c in parts:
            hour = int(parts[c])
            if not low <= hour <= high:
                raise Failed(hour)
            total += (hour % high if low else hour) * 3600
    for c, unit in (("m", 60), ("s", 1)):
        if int(parts.get(c, "0")) > 59:
            raise Failed(parts[c])
        total += int(parts.get(c, "0")) * unit
    return total


def _offset(text: str) -> int:
    if text in "Zz":
        return 0
    hours, minutes = int(text[1:3]), int(text[3:].lstrip(":") or "0")
    if minutes > 59 or hours * 60 + minutes > 18 * 60:
        raise Failed(text)
    return (hours * 60 + minutes) * 60 * (-1 if text[0] == "-" else 1)


def _day(year: int, month: int, day: int) -> int:
    if abs(year) > 290_000:
        raise Failed(year)
    era = (year - 2000) // 400  # the calendar repeats
    try:
        return (date(year - 400 * era, month, day) - date(1970, 1, 1)).days + 146_097 * era
    except (ValueError, OverflowError):
        raise Failed(f"{year}-{month}-{day}") from None


def _timestamp(_: Any, year: int, month: int, day: int, hour: int, minute: int, seconds: Decimal) -> int:
    micros = int(seconds * 1_000_000)
    if not (0 <= hour <= 23 and 0 <= minute <= 59 and 0 <= micros <= 60_000_000):
        raise Failed(f"{hour}:{minute}")
    return ((_day(year, month, day) * 24 + hour) * 60 + minute) * 60_000_000 + micros


TIME_TEXTS: dict[str, Callable[..., Any]] = {
    "parse_time": _parsed,
    "make_date": lambda _, year, month, day: _day(year, month, day),
    "make_timestamp": _timestamp,
}
"""By function: the result type and the values of its arguments, none of them NULL."""
