"""CAST, as Spark does it without ANSI mode: what cannot be converted is NULL, integers narrow by wrapping."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from muntin.core.errors import UnsupportedError
from muntin.reference.values import coerce, int_range, to_micros

_MICROS = 1_000_000
_DAY = 24 * 60 * 60 * _MICROS
_DAY_ZERO = date(1970, 1, 1)
_TRUE = {"t", "true", "y", "yes", "1"}
_FALSE = {"f", "false", "n", "no", "0"}


def cast(value: Any, source: pa.DataType, target: pa.DataType) -> Any:
    """``value`` (not NULL) of type ``source`` as ``target``; None where Spark gives NULL.

    Raises UnsupportedError for a pair of types that the language does not convert.
    """
    if source == target:
        return value
    if pt.is_boolean(target):
        return _to_bool(value)
    if pt.is_integer(target):
        return _to_int(value, source, target)
    if pt.is_floating(target):
        return coerce(_to_float(value, source), target)
    if pt.is_decimal(target):
        return _to_decimal(value, source, target)
    if pt.is_string(target) or pt.is_large_string(target):
        return _to_string(value, source)
    if pt.is_timestamp(target):
        return _to_timestamp(value, source)
    if pt.is_date(target):
        return _to_date(value, source)
    raise UnsupportedError(f"CAST from {source} to {target} is not known")


def _to_bool(value: Any) -> bool | None:
    if isinstance(value, str):
        text = value.strip().lower()
        return True if text in _TRUE else False if text in _FALSE else None
    return bool(value != 0)


def _to_int(value: Any, source: pa.DataType, target: pa.DataType) -> int | None:
    low, high = int_range(target)
    if pt.is_timestamp(source):
        value = value // _MICROS
    if isinstance(value, str):
        number = _parse_decimal(value)
        whole = None if number is None else int(number)
        return whole if whole is not None and low <= whole <= high else None
    if isinstance(value, float):
        return _saturate(value, low, high)
    whole = int(value)
    if isinstance(value, Decimal):
        return whole if low <= whole <= high else None
    return (whole - low) % (high - low + 1) + low


def _saturate(value: float, low: int, high: int) -> int:
    if math.isnan(value):
        return 0
    return low if value <= low else high if value >= high else int(value)


def _to_float(value: Any, source: pa.DataType) -> float | None:
    if pt.is_timestamp(source):
        return float(value) / _MICROS
    if not isinstance(value, str):
        return float(value)
    try:
        return float(value.strip())
    except ValueError:
        return None


def _to_decimal(value: Any, source: pa.DataType, target: pa.DataType) -> Any:
    if pt.is_timestamp(source):
        value = Decimal(value) / _MICROS
    if isinstance(value, float) and not math.isfinite(value):
        return None
    number = _parse_decimal(value) if isinstance(value, str) else value
    return None if number is None else coerce(int(number) if isinstance(number, bool) else number, target)


def _parse_decimal(text: str) -> Decimal | None:
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() and "_" not in text else None


def _to_string(value: Any, source: pa.DataType) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return float_text(value)
        case Decimal():
            return format(value, "f")
        case int() if pt.is_timestamp(source):
            moment = datetime(1970, 1, 1) + timedelta(microseconds=value)
            text = moment.strftime("%Y-%m-%d %H:%M:%S.%f")
            return text.rstrip("0").rstrip(".")
        case int() if pt.is_date(source):
            return (_DAY_ZERO + timedelta(days=value)).isoformat()
        case _:
            return str(value)


def float_text(value: float) -> str:
    """A double as Java and Spark print it: plain between 1e-3 and 1e7, else with E and at least one decimal."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return format(Decimal(repr(value)), "f") if "e" in repr(value) else repr(value)
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    text = "".join(map(str, digits)).rstrip("0")
    power = int(exponent) + len(digits) - 1
    return f"{'-' if sign else ''}{text[0]}.{text[1:] or '0'}E{power}"


def _to_timestamp(value: Any, source: pa.DataType) -> int | None:
    match value:
        case str():
            try:
                return to_micros(datetime.fromisoformat(value.strip()))
            except ValueError:
                return None
        case int() if pt.is_date(source):
            return value * _DAY
        case float():
            return int(value * _MICROS) if math.isfinite(value) else None
        case _:
            return int(value) if pt.is_timestamp(source) else int(value * _MICROS)


def _to_date(value: Any, source: pa.DataType) -> int | None:
    match value:
        case str():
            try:
                return (datetime.fromisoformat(value.strip()).date() - _DAY_ZERO).days
            except ValueError:
                return None
        case int() if pt.is_timestamp(source):
            return value // _DAY
        case _:
            raise UnsupportedError(f"CAST from {source} to a date is not known")
