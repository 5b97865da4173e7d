"""Texts as values, character by character where Spark does it so; every reader raises Failed for what is none."""

from __future__ import annotations

import math
import re
from datetime import date
from decimal import Decimal, InvalidOperation
from zoneinfo import ZoneInfo

from muntin.reference.values import Failed

_CONTROLS = {*map(chr, range(33)), "\x7f"}
_WORDS = {True: ["t", "true", "y", "yes", "1"], False: ["f", "false", "n", "no", "0"]}
_MICROS = 1_000_000
_SHORT = {"EST": "-05:00", "MST": "-07:00", "HST": "-10:00", "PST": "America/Los_Angeles", "CST": "America/Chicago",
          "JST": "Asia/Tokyo", "IST": "Asia/Kolkata"}  # fmt: skip


def _stripped(text: str) -> str:
    while text and text[0] in _CONTROLS:
        text = text[1:]
    while text and text[-1] in _CONTROLS:
        text = text[:-1]
    return text


def boolean(text: str) -> bool:
    """A truth value."""
    for value, words in _WORDS.items():
        if _stripped(text).lower() in words:
            return value
    raise Failed(text)


def integer(text: str) -> int:
    """A whole number, without a point."""
    body = _stripped(text)
    digits = body[1:] if body[:1] in ("+", "-") else body
    if not (digits.isascii() and digits.isdigit()):
        raise Failed(text)
    return int(body)


def double(text: str) -> float:
    """A number as Java reads it, or one of Spark's names."""
    body = text.strip("".join(_CONTROLS - {"\x7f"}))
    word = body.lower()
    if word in ("nan", "inf", "+inf", "infinity", "+infinity", "-inf", "-infinity"):
        return float(word)
    if body in ("+NaN", "-NaN"):
        return math.nan
    plain = body[:-1] if body[-1:] in ("d", "D", "f", "F") else body
    if "0x" in word and "p" in word:
        return float.fromhex(body[:-1] if body[-1:] in "dD" else body)
    if not re.fullmatch(r"[+-]?[0-9.]+([eE][+-]?[0-9]+)?", plain):
        raise Failed(text)
    try:
        return float(plain)
    except ValueError:
        raise Failed(text) from None


def decimal(text: str) -> Decimal:
    """An exact number."""
    body = text.strip("".join(_CONTROLS - {"\x7f"}))
    try:
        number = Decimal(body)
    except InvalidOperation:
        raise Failed(text) from None
    if not number.is_finite() or "_" in body:
        raise Failed(text)
    return number


def _digits(text: str, least: int, most: int, whole: str) -> int:
    if not (least <= len(text) <= most and text.isascii() and text.isdigit()):
        raise Failed(whole)
    return int(text)


def _day_of(text: str, longest: int, whole: str) -> int:
    """yyyy[-[m]m[-[d]d]] as days since the epoch."""
    sign, body = (text[0], text[1:]) if text[:1] in ("+", "-") else ("", text)
    year, *rest = body.split("-")
    if len(rest) > 2:
        raise Failed(whole)
    y = _digits(year, 4, longest, whole) * (-1 if sign == "-" else 1)
    m, d = [*(_digits(r, 1, 2, whole) for r in rest), 1, 1][:2]
    era = (y - 2000) // 400  # the calendar repeats
    try:
        return (date(y - 400 * era, m, d) - date(1970, 1, 1)).days + 146_097 * era
    except ValueError:
        raise Failed(whole) from None


def day(text: str) -> int:
    """Days since the epoch; after a whole date anything may follow."""
    body = _stripped(text)
    found = re.match(r"[^ T]*", body)
    assert found is not None
    if found.end() < len(body) and body.count("-", 1, found.end()) < 2:
        raise Failed(text)
    return _day_of(found[0], 7, text)


def timestamp(text: str) -> tuple[int, str | int | None]:
    """What the clock in the text shows; and the zone that it names, by name or in microseconds east of UTC."""
    body = _stripped(text)
    found = re.search(r"[ T]", body)
    if found is None:
        return _day_of(body, 6, text) * 86_400 * _MICROS, None
    days, clock = body[: found.start()], body[found.end() :]
    if days.count("-", 1) < 2:
        raise Failed(text)
    at = _day_of(days, 6, text)
    parts = re.match(r"(\d*)(?::(\d*)(?::(\d*)(?:\.(\d*))?)?)?", clock, re.ASCII)
    assert parts is not None
    rest = clock[parts.end() :]
    if rest and parts[3] is None:
        raise Failed(text)
    hour, minute, second = (_digits(p if p is not None else "0", 1, 2, text) for p in parts.group(1, 2, 3))
    if hour > 23 or minute > 59 or second > 59:
        raise Failed(text)
    micros = int(((parts[4] or "") + "000000")[:6])
    reading = ((at * 24 + hour) * 60 + minute) * 60 + second
    return reading * _MICROS + micros, _zone(rest, text) if rest else None


def _zone(text: str, whole: str) -> str | int:
    name = _SHORT.get(_stripped(text), _stripped(text))
    found = re.fullmatch(r"(?:UTC|GMT|UT)?([+-])(\d\d?)(?::?(\d\d)(?::?(\d\d))?|:(\d))?", name)
    if name in ("Z", "UTC", "GMT", "UT"):
        return 0
    if not found:
        try:
            ZoneInfo(name)
        except (KeyError, OSError, ValueError):
            raise Failed(whole) from None
        return name
    sign, hours, minutes, seconds, minute = found.groups()
    total = int(hours) * 3600 + int(minutes or minute or 0) * 60 + int(seconds or 0)
    if total > 18 * 3600 or int(minutes or 0) > 59 or int(seconds or 0) > 59:
        raise Failed(whole)
    return (-total if sign == "-" else total) * _MICROS
