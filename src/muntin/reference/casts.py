"""CAST by Spark's ANSI rules: what has no value of the type is ``Failed``; texts are read in ``texts``."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from muntin.core.errors import UnsupportedError
from muntin.reference import texts
from muntin.reference.clocks import instant
from muntin.reference.values import Failed, coerce, int_range

_MICROS = 1_000_000
_DAY = 24 * 60 * 60 * _MICROS
_DAY_ZERO = date(1970, 1, 1)


def cast(value: Any, source: pa.DataType, target: pa.DataType, zone: str | None = None) -> Any:
    """``value`` (not NULL) of type ``source`` as ``target``; None where Spark gives NULL.

    ``zone``: whose clock a text of a timestamp shows when it names none; all else is in UTC. Raises Failed for what
    has no value, UnsupportedError for a pair of types that the language does not convert.
    """
    if source == target:
        return value
    if pt.is_string(target) or pt.is_large_string(target):
        return _to_string(value, source)
    if isinstance(value, str):
        return _of_text(value, target, zone)
    if pt.is_boolean(target):
        return bool(value != 0)
    if pt.is_integer(target):
        return _to_int(value, source, target)
    if pt.is_floating(target):
        return coerce(float(value) / _MICROS if pt.is_timestamp(source) else float(value), target)
    if pt.is_decimal(target):
        return _to_decimal(value, source, target)
    if pt.is_timestamp(target):
        return _to_timestamp(value, source)
    if pt.is_date(target) and pt.is_timestamp(source):
        return value // _DAY
    raise UnsupportedError(f"CAST from {source} to {target} is not known")


def _of_text(text: str, target: pa.DataType, zone: str | None) -> Any:
    if pt.is_boolean(target):
        return texts.boolean(text)
    if pt.is_integer(target):
        return _in_range(texts.integer(text), target)
    if pt.is_floating(target):
        return coerce(texts.double(text), target)
    if pt.is_decimal(target):
        return coerce(texts.decimal(text), target)
    if pt.is_date(target):
        return texts.day(text)
    if pt.is_timestamp(target):
        reading, named = texts.timestamp(text)
        if target.tz is None:
            return reading
        return reading - named if isinstance(named, int) else instant(reading, named or zone)
    raise UnsupportedError(f"CAST from a string to {target} is not known")


def _in_range(whole: int, target: pa.DataType) -> int:
    low, high = int_range(target)
    if not low <= whole <= high:
        raise Failed(whole)
    return whole


def _to_int(value: Any, source: pa.DataType, target: pa.DataType) -> int:
    if pt.is_timestamp(source):
        value = value // _MICROS
    if isinstance(value, float):
        if not math.isfinite(value):
            raise Failed(value)
        if value == 2.0**63:  # Spark's comparison with the largest 64-bit integer is one of doubles
            value = min(2**63 - 1, int_range(target)[1] + (target.bit_width < 64))
    return _in_range(int(value), target)


def _to_decimal(value: Any, source: pa.DataType, target: pa.DataType) -> Any:
    if pt.is_timestamp(source):
        value = Decimal(value) / _MICROS
    if isinstance(value, float):
        return coerce(Decimal(repr(value)), target) if math.isfinite(value) else None
    return coerce(int(value) if isinstance(value, bool) else value, target)


def _to_string(value: Any, source: pa.DataType) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case float() if pt.is_float32(source):
            return float_text(value, single=True)
        case float():
            return float_text(value)
        case Decimal():
            return format(value, "f")
        case int() if pt.is_timestamp(source):
            moment = datetime(1970, 1, 1) + timedelta(microseconds=value)
            return moment.isoformat(sep=" ", timespec="microseconds").rstrip("0").rstrip(".") if (
                value % _MICROS
            ) else moment.isoformat(sep=" ", timespec="seconds")
        case int() if pt.is_date(source):
            return (_DAY_ZERO + timedelta(days=value)).isoformat()
        case _:
            return str(value)


def float_text(value: float, single: bool = False) -> str:
    """A double as Java and Spark print it: plain between 1e-3 and 1e7, else with E and at least one decimal."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    shortest = str(np.float32(value)) if single else repr(value)
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return format(Decimal(shortest), "f") if "e" in shortest else shortest
    sign, digits, exponent = Decimal(shortest).as_tuple()
    text = "".join(map(str, digits)).rstrip("0")
    power = int(exponent) + len(digits) - 1
    return f"{'-' if sign else ''}{text[0]}.{text[1:] or '0'}E{power}"


def _to_timestamp(value: Any, source: pa.DataType) -> int:
    match value:
        case int() if pt.is_date(source):
            return value * _DAY
        case float():
            if not math.isfinite(value):
                raise Failed(value)
            return _in_range(int(value * _MICROS), pa.int64())
        case _:
            return int(value) if pt.is_timestamp(source) else _in_range(int(value * _MICROS), pa.int64())
