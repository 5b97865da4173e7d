"""Casts between column types, with Spark's rules: text that is no number is NULL, floats are cut towards zero.

Two entries: ``convert`` brings a value to a type that holds it (an implicit widening); ``cast_value`` is CAST.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Value: TypeAlias = pa.Array | pa.Scalar
"""A column, or a constant that stands for one."""

_INTEGER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d*)\Z", re.ASCII)
_FLOAT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[dDfF]?\Z", re.ASCII)
_NAMED = {"nan": math.nan, "inf": math.inf, "infinity": math.inf}
_TRUE, _FALSE = frozenset({"t", "true", "y", "yes", "1"}), frozenset({"f", "false", "n", "no", "0"})
_INSTANT = re.compile(
    r"(\d{4,5})(?:-(\d{1,2})(?:-(\d{1,2})(?:[T ](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{0,9}))?)?"
    r"\s*(Z|UTC|GMT|[+-]\d{1,2}(?::?\d{2})?)?)?)?)?\Z",
    re.ASCII,
)
_SECOND = 1_000_000
_EXACT = Context(prec=100)


def convert(value: Value, kind: pa.DataType) -> Value:
    """The value in ``kind`` without loss of meaning; itself when it has that type.

    Raises pa.ArrowInvalid if it does not fit.
    """
    held = value.type
    if held == kind:
        return value
    if pa.types.is_decimal(kind) and (pa.types.is_decimal(held) or pa.types.is_integer(held)):
        return scale_decimal(value, kind)
    if pa.types.is_floating(kind) and pa.types.is_integer(held):
        return pc.cast(value, kind, safe=False)  # rounds above 2 ** 53, as Spark does
    if pa.types.is_floating(kind) and pa.types.is_decimal(held):
        return pc.cast(value, kind)
    if pa.types.is_timestamp(kind) and pa.types.is_timestamp(held):
        return pc.cast(pc.cast(value, pa.timestamp(kind.unit, held.tz), safe=False), kind)
    return pc.cast(value, kind)


def cast_value(value: Value, kind: pa.DataType) -> Value:
    """CAST(value AS kind)."""
    held = value.type
    if held == kind or pa.types.is_null(held):
        return convert(value, kind)
    if _is_text(held):
        return _from_text(value, kind)
    if _is_text(kind):
        return _to_text(value, kind)
    if pa.types.is_boolean(kind):
        number = micros(value) if pa.types.is_temporal(held) else value
        return pc.not_equal(number, pa.scalar(0, number.type))
    if pa.types.is_boolean(held):
        return cast_value(pc.cast(value, pa.int8()), kind)
    if pa.types.is_temporal(held) or pa.types.is_temporal(kind):
        return _cast_time(value, kind)
    if pa.types.is_integer(kind) and pa.types.is_floating(held):
        return float_to_int(value, kind)
    if pa.types.is_integer(kind) and pa.types.is_decimal(held):
        return pc.cast(pc.trunc(value), kind)
    if pa.types.is_decimal(kind) and pa.types.is_floating(held):
        return _by_value(value, kind, lambda x: _decimal(repr(x), kind))
    return convert(value, kind)


def float_to_int(value: Value, kind: pa.DataType) -> Value:
    """Cut towards zero; NaN is 0 and what does not fit becomes the nearest bound (Java's rule, and Spark's)."""
    array = pa.repeat(value, 1) if isinstance(value, pa.Scalar) else value
    numbers = array.to_numpy(zero_copy_only=False).astype(np.float64)
    info = np.iinfo(kind.to_pandas_dtype())
    with np.errstate(invalid="ignore"):
        cut = np.nan_to_num(np.trunc(numbers), nan=0.0).clip(float(info.min), float(info.max))
        whole = np.where(cut >= float(info.max), info.max, cut.astype(np.int64))
    result = pa.array(whole.astype(info.dtype), kind, mask=pc.is_null(array).to_numpy(zero_copy_only=False))
    return result[0] if isinstance(value, pa.Scalar) else result


def scale_decimal(value: Value, kind: pa.DataType) -> Value:
    """A number in another decimal type, rounded half up. Raises ArrowInvalid if it does not fit."""
    if not pa.types.is_decimal(value.type):
        value = pc.cast(pc.cast(value, pa.int64()), pa.decimal256(19, 0))
    value = pc.cast(value, pa.decimal256(76, value.type.scale))  # room for a carry: 999.99 to 1000.0
    if kind.scale < value.type.scale:
        value = pc.round(value, ndigits=kind.scale, round_mode="half_towards_infinity")
    value = pc.cast(value, pa.decimal256(76, kind.scale), safe=False)
    return pc.cast(value, kind)


def micros(value: Value) -> Value:
    """Instants, dates and durations as int64 microseconds; integers as they are."""
    kind = value.type
    if pa.types.is_date(kind):
        value = pc.cast(value, pa.timestamp("us"))
    elif pa.types.is_timestamp(kind):
        value = pc.cast(value, pa.timestamp("us", kind.tz), safe=False)
    elif pa.types.is_duration(kind):
        value = pc.cast(value, pa.duration("us"), safe=False)
    return pc.cast(value, pa.int64())


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _by_value(value: Value, kind: pa.DataType, f: Callable[[Any], Any]) -> Value:
    """``f`` of every distinct value, in Python; NULL stays NULL."""
    if isinstance(value, pa.Scalar):
        return pa.scalar(f(value.as_py()) if value.is_valid else None, kind)
    coded = value.dictionary_encode()
    table = pa.array([None if v is None else f(v) for v in coded.dictionary.to_pylist()], kind)
    return table.take(coded.indices)


# --- time -------------------------------------------------------------------------------------------------------------


def _cast_time(value: Value, kind: pa.DataType) -> Value:
    """Between instants, dates and numbers; a number is seconds since the epoch."""
    held = value.type
    if pa.types.is_timestamp(kind) and not pa.types.is_temporal(held):
        if pa.types.is_floating(held):
            finite = pc.if_else(pc.is_finite(value), value, pa.scalar(None, held))
            ticks = float_to_int(pc.multiply(convert(finite, pa.float64()), float(_SECOND)), pa.int64())
        else:
            ticks = pc.multiply_checked(cast_value(value, pa.int64()), _SECOND)
        return convert(pc.cast(ticks, pa.timestamp("us", kind.tz)), kind)
    if pa.types.is_timestamp(held) and pa.types.is_date(kind):
        return pc.cast(pc.cast(pc.floor_temporal(value, unit="day"), pa.timestamp("us")), kind)
    if pa.types.is_floating(kind):
        return convert(pc.divide(pc.cast(micros(value), pa.float64(), safe=False), float(_SECOND)), kind)
    if pa.types.is_timestamp(held) and pa.types.is_integer(kind):
        seconds = pc.floor(pc.divide(pc.cast(micros(value), pa.decimal128(19, 0)), pa.scalar(Decimal(_SECOND))))
        return pc.cast(seconds, kind)
    return convert(value, kind)


# --- text -------------------------------------------------------------------------------------------------------------


def _from_text(value: Value, kind: pa.DataType) -> Value:
    if _is_text(kind):
        return pc.cast(value, kind)
    readers: list[tuple[Callable[[pa.DataType], bool], Callable[[str], Any]]] = [
        (pa.types.is_boolean, lambda s: _boolean(s.strip().lower())),
        (pa.types.is_integer, lambda s: _integer(s.strip(), kind)),
        (pa.types.is_floating, lambda s: _float(s.strip())),
        (pa.types.is_decimal, lambda s: _decimal(s.strip(), kind)),
        (pa.types.is_timestamp, lambda s: _instant(s.strip())),
        (pa.types.is_date, lambda s: _date(s.strip())),
    ]
    read = next(r for test, r in readers if test(kind))
    return _by_value(value, kind, read)


def _boolean(s: str) -> bool | None:
    return True if s in _TRUE else False if s in _FALSE else None


def _integer(s: str, kind: pa.DataType) -> int | None:
    if not _INTEGER.match(s):
        return None
    info = np.iinfo(kind.to_pandas_dtype())
    whole = s.split(".")[0]
    number = int(whole) if whole.strip("+-") else 0
    return number if info.min <= number <= info.max else None


def _float(s: str) -> float | None:
    if _FLOAT.match(s):
        return float(s.rstrip("dDfF"))
    named = _NAMED.get(s.lstrip("+-").lower())
    if named is None or s.count("+") + s.count("-") > (0 if math.isnan(named) else 1):
        return None
    return -named if s.startswith("-") else named


def _decimal(s: str, kind: pa.DataType) -> Decimal | None:
    """Rounded half up to the scale of ``kind``; None if it is no number or does not fit."""
    try:
        number = Decimal(s)
        if not number.is_finite() or number.adjusted() >= kind.precision:
            return None
        scaled = number.quantize(Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP, _EXACT)
    except InvalidOperation:
        return None
    return scaled if scaled.adjusted() < kind.precision - kind.scale or not scaled else None


def _instant(s: str) -> int | None:
    """Microseconds of an ISO-like text; without a zone it is UTC."""
    m = _INSTANT.match(s)
    if m is None:
        return None
    year, month, day, *clock = (int(g) if g else d for g, d in zip(m.groups()[:6], (0, 1, 1, 0, 0, 0), strict=True))
    try:
        at = datetime(year, month, day, clock[0], clock[1], clock[2], tzinfo=UTC)
    except ValueError:
        return None
    fraction = int((m.group(7) or "").ljust(6, "0")[:6] or 0)
    since = at - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds - _offset(m.group(8))) * _SECOND + fraction


def _offset(zone: str | None) -> int:
    """Seconds east of UTC."""
    if zone is None or zone in ("Z", "UTC", "GMT"):
        return 0
    digits = zone[1:].replace(":", "")
    hours, minutes = (digits[:-2], digits[-2:]) if len(digits) > 2 else (digits, "0")
    return (int(hours) * 3600 + int(minutes) * 60) * (-1 if zone[0] == "-" else 1)


def _date(s: str) -> date | None:
    ticks = _instant(s)
    return None if ticks is None else date.fromordinal(date(1970, 1, 1).toordinal() + ticks // (86_400 * _SECOND))


def _to_text(value: Value, kind: pa.DataType) -> Value:
    held = value.type
    if pa.types.is_floating(held):
        single = held == pa.float32()
        return _by_value(value, kind, lambda x: java_text(x, single))
    if pa.types.is_timestamp(held):
        plain = pc.strftime(pc.cast(value, pa.timestamp("us", "UTC"), safe=False), format="%Y-%m-%d %H:%M:%S")
        return pc.cast(_trim_fraction(plain), kind)
    return pc.cast(value, kind)


def _trim_fraction(texts: Value) -> Value:
    """Without trailing zeros of the fraction, and without an empty fraction."""
    cut = pc.replace_substring_regex(texts, pattern=r"(\.\d*?)0+$", replacement=r"\1")
    return pc.utf8_rtrim(cut, characters=".")


def java_text(x: float, single: bool = False) -> str:
    """A double as Java writes it: 1.0, 1.0E20, 1.0E-5, NaN, Infinity."""
    if math.isnan(x) or math.isinf(x):
        return "NaN" if math.isnan(x) else ("-" if x < 0 else "") + "Infinity"
    sign, digits, exponent = Decimal(str(np.float32(x)) if single else repr(x)).as_tuple()
    text = "".join(map(str, digits)).rstrip("0") or "0"
    power = len(digits) + int(exponent) - 1 if x else 0
    minus = "-" if sign else ""
    if 1e-3 <= abs(x) < 1e7 or x == 0:
        if power < 0:
            return f"{minus}0.{'0' * (-power - 1)}{text}"
        return f"{minus}{text[: power + 1].ljust(power + 1, '0')}.{text[power + 1 :] or '0'}"
    return f"{minus}{text[0]}.{text[1:] or '0'}E{power}"
