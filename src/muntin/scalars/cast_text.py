"""Texts as values of other types, read as Spark reads them (``UTF8String``, ``SparkDateTimeUtils``, ``Decimal``).

Every reader takes one text and gives None for what is no value of the type.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from muntin.core.zones import Zone, zone
from muntin.scalars.cast_rules import EXACT, Value, by_value

_BLANK = "".join(map(chr, range(33))) + "\x7f"
_INTEGER = re.compile(r"[+-]?\d+\Z", re.ASCII)
_FLOAT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[dDfF]?\Z", re.ASCII)
_HEX = re.compile(r"[+-]?0[xX]([\da-fA-F]+\.?[\da-fA-F]*|\.[\da-fA-F]+)[pP][+-]?\d+[dDfF]?\Z", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,9})?\Z")
_NAMED = {"nan": math.nan, "inf": math.inf, "infinity": math.inf}
_TRUE, _FALSE = frozenset({"t", "true", "y", "yes", "1"}), frozenset({"f", "false", "n", "no", "0"})
_DATE = re.compile(r"([+-]?)(\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?\Z", re.ASCII | re.DOTALL)
_TIMESTAMP = re.compile(
    r"([+-]?)(\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T](\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?([^\d.].*)?"
    r")?)?)?)?)?\Z",
    re.ASCII | re.DOTALL,
)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::(\d{1,2})(?::(\d{2}))?|(\d{2})(\d{2})?)?\Z", re.ASCII)
_SHORT = {
    "ACT": "Australia/Darwin", "AET": "Australia/Sydney", "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo", "AST": "America/Anchorage", "BET": "America/Sao_Paulo", "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare", "CNT": "America/St_Johns", "CST": "America/Chicago", "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa", "ECT": "Europe/Paris", "IET": "America/Indiana/Indianapolis", "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo", "MIT": "Pacific/Apia", "NET": "Asia/Yerevan", "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi", "PNT": "America/Phoenix", "PRT": "America/Puerto_Rico", "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal", "VST": "Asia/Ho_Chi_Minh", "EST": "-05:00", "MST": "-07:00", "HST": "-10:00",
}  # fmt: skip
"""Java's short names of zones."""
_SECOND = 1_000_000
_DAY = 86_400 * _SECOND
_LAST = 2**63 - 1


def from_text(value: Value, kind: pa.DataType, clock: Zone) -> Value:
    """Texts as ``kind``; NULL for what is none. ``clock``: of timestamps that name no zone."""
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return by_value(value, kind, partial(_instant, clock=clock))
    readers: list[tuple[Callable[[pa.DataType], bool], Callable[[str], Any]]] = [
        (pa.types.is_boolean, _boolean),
        (pa.types.is_integer, partial(_integer, kind=kind)),
        (pa.types.is_floating, _float),
        (pa.types.is_decimal, partial(decimal_of, kind=kind)),
        (pa.types.is_timestamp, _reading),
        (pa.types.is_date, _days),
    ]
    read = next(r for test, r in readers if test(kind))
    if pa.types.is_date(kind):
        return by_value(value, pa.int32(), read).cast(pa.date32()).cast(kind)
    return by_value(value, kind, read)


def _boolean(s: str) -> bool | None:
    s = s.strip(_BLANK).lower()
    return True if s in _TRUE else False if s in _FALSE else None


def _integer(s: str, kind: pa.DataType) -> int | None:
    s = s.strip(_BLANK)
    if not _INTEGER.match(s):
        return None
    info = np.iinfo(kind.to_pandas_dtype())
    number = int(s) if len(s) < 1000 else int(s[0] + s[1:].lstrip("0")[:100])
    return number if info.min <= number <= info.max else None


def _float(s: str) -> float | None:
    s = s.strip(_BLANK[:-1])
    if _FLOAT.match(s):
        return float(s.rstrip("dDfF"))
    if _HEX.match(s):
        return _hexadecimal(s.rstrip("dDfF") if s[-1] in "dDfF" else s)
    if s.lstrip("+-") == "NaN" and len(s) <= 4:
        return math.nan
    named = _NAMED.get(s.lstrip("+-").lower())
    if named is None or s.count("+") + s.count("-") > (0 if math.isnan(named) else 1):
        return None
    return -named if s.startswith("-") else named


def _hexadecimal(s: str) -> float:
    try:
        return float.fromhex(s)
    except OverflowError:
        return -math.inf if s.startswith("-") else math.inf


def decimal_of(s: str, kind: pa.DataType) -> Decimal | None:
    """Rounded half up to the scale of ``kind``; None if it is no number or does not fit."""
    s = s.strip(_BLANK[:-1])
    if not _DECIMAL.match(s):
        return None
    try:
        number = Decimal(s)
        if number.adjusted() >= kind.precision:
            return Decimal(0) if not number else None
        scaled = number.quantize(Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP, EXACT)
    except InvalidOperation:
        return None
    return scaled if scaled.adjusted() < kind.precision - kind.scale or not scaled else None


def _days(s: str) -> int | None:
    """Days since the epoch; what follows a whole date is not looked at."""
    m = _DATE.match(s.strip(_BLANK))
    if m is None:
        return None
    found = _day(m[1], m[2], m[3], m[4])
    return found if found is None or -(2**31) <= found < 2**31 else None


def _day(sign: str, year: str, month: str | None, day: str | None) -> int | None:
    """Days since the epoch in the proleptic Gregorian calendar; None for a day that there is not."""
    y, m, d = int(f"{sign}{year}"), int(month or 1), int(day or 1)
    leap = y % 4 == 0 and (y % 100 != 0 or y % 400 == 0)
    if not (1 <= m <= 12 and 1 <= d <= (31, 28 + leap, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[m - 1]):
        return None
    y, m = (y, m - 3) if m > 2 else (y - 1, m + 9)  # years from March: the leap day is the last
    return 365 * y + y // 4 - y // 100 + y // 400 + (153 * m + 2) // 5 + d - 1 - 719_468


def _parsed(s: str) -> tuple[int, str | None] | None:
    """What the text's clock shows (microseconds), and the zone that it names."""
    m = _TIMESTAMP.match(s.strip(_BLANK))
    if m is None:
        return None
    days = _day(m[1], m[2], m[3], m[4])
    hour, minute, second = (int(g or 0) for g in m.group(5, 6, 7))
    if days is None or hour > 23 or minute > 59 or second > 59:
        return None
    shown = ((days * 24 + hour) * 60 + minute) * 60 + second
    at = shown * _SECOND + int((m[8] or "").ljust(6, "0")[:6])
    return (at, None if m[9] is None else m[9].strip(_BLANK)) if -_LAST <= at <= _LAST else None


def _reading(s: str) -> int | None:
    """A timestamp without zone: a zone in the text must be one, and is not looked at."""
    parsed = _parsed(s)
    if parsed is None or (parsed[1] is not None and _zone(parsed[1]) is None):
        return None
    return parsed[0]


def _instant(s: str, clock: Zone) -> int | None:
    parsed = _parsed(s)
    if parsed is None:
        return None
    named = clock if parsed[1] is None else _zone(parsed[1])
    if named is None:
        return None
    return parsed[0] - named if isinstance(named, int) else int(named.instant(np.array([parsed[0]]))[0])


def _zone(name: str) -> Zone | int | None:
    """A zone in a text: microseconds east of UTC, or a zone by name; None if it is neither."""
    if name in ("Z", "UTC", "GMT", "UT"):
        return 0
    m = _OFFSET.match(name)
    if m:
        if m[5] and len(m[2]) < 2:
            return None
        hours, minutes, seconds = int(m[2]), int(m[3] or m[5] or 0), int(m[4] or m[6] or 0)
        total = (hours * 60 + minutes) * 60 + seconds
        ok = minutes < 60 and seconds < 60 and total <= 18 * 3600
        return (total if m[1] == "+" else -total) * _SECOND if ok else None
    try:
        return zone(_SHORT.get(name, name))
    except ValueError:
        return None
