"""CAST between column types by Spark's ANSI rules; a value that the type has not is NULL here.

``evaluate`` makes an error of such a NULL, or leaves it where TRY_CAST is asked for. Texts are read in ``cast_text``,
implicit widening is ``cast_rules.convert``.
"""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.core.zones import Zone, zone
from muntin.scalars.cast_rules import Value, by_value, convert, micros, whole
from muntin.scalars.cast_text import decimal_of, from_text
from muntin.scalars.clocks import instant, shown

_SECOND = 1_000_000
_END_OF_9999 = 253_402_300_800 * _SECOND
_UTC = zone(None)


def cast_value(value: Value, kind: pa.DataType, clock: Zone = _UTC) -> Value:
    """CAST(value AS kind); ``clock``: of texts of timestamps that name no zone.

    Raises pa.ArrowInvalid where numbers do not fit.
    """
    held = value.type
    if held == kind or pa.types.is_null(held):
        return convert(value, kind)
    if _is_text(held):
        return pc.cast(value, kind) if _is_text(kind) or pa.types.is_binary(kind) else from_text(value, kind, clock)
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
        return whole(value, kind)
    if pa.types.is_integer(kind) and pa.types.is_decimal(held):
        return pc.cast(pc.trunc(value), kind)
    if pa.types.is_decimal(kind) and pa.types.is_floating(held):
        return by_value(value, kind, lambda x: decimal_of(repr(x), kind))
    return convert(value, kind)


def no_value_is_meant(value: Value, kind: pa.DataType) -> Value | None:
    """Where NULL is the cast's own answer: NaN and Infinity as decimals (Spark); None: nowhere."""
    if pa.types.is_decimal(kind) and pa.types.is_floating(value.type):
        return pc.invert(pc.is_finite(value))
    return None


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _cast_time(value: Value, kind: pa.DataType) -> Value:
    """Between timestamps, dates and numbers, in UTC; a number is seconds since the epoch."""
    held = value.type
    if pa.types.is_timestamp(kind) and not pa.types.is_temporal(held):
        if pa.types.is_floating(held):
            ticks = whole(pc.multiply(convert(value, pa.float64()), float(_SECOND)), pa.int64())
        else:
            ticks = pc.multiply_checked(cast_value(value, pa.int64()), _SECOND)
        return convert(pc.cast(ticks, pa.timestamp("us", kind.tz)), kind)
    if pa.types.is_timestamp(held) and pa.types.is_timestamp(kind) and (held.tz is None) != (kind.tz is None):
        return convert(shown(value, _UTC) if kind.tz is None else instant(value, _UTC), kind)
    if pa.types.is_timestamp(held) and pa.types.is_date(kind):
        return pc.cast(pc.cast(pc.floor_temporal(value, unit="day"), pa.timestamp("us")), kind)
    if pa.types.is_floating(kind):
        return convert(pc.divide(pc.cast(micros(value), pa.float64(), safe=False), float(_SECOND)), kind)
    if pa.types.is_timestamp(held) and pa.types.is_integer(kind):
        seconds = pc.floor(pc.divide(pc.cast(micros(value), pa.decimal128(19, 0)), pa.scalar(Decimal(_SECOND))))
        return pc.cast(seconds, kind)
    return convert(value, kind)


def _to_text(value: Value, kind: pa.DataType) -> Value:
    held = value.type
    if pa.types.is_floating(held):
        single = held == pa.float32()
        return by_value(value, kind, lambda x: java_text(x, single))
    if pa.types.is_timestamp(held):
        plain = pc.strftime(pc.cast(value, pa.timestamp("us", "UTC"), safe=False), format="%Y-%m-%d %H:%M:%S")
        return pc.cast(_signed_year(_trim_fraction(plain), value), kind)
    if pa.types.is_date(held):
        return pc.cast(_signed_year(pc.cast(value, pa.string()), value), kind)
    if pa.types.is_decimal(held):
        return by_value(value, kind, lambda x: format(x, "f"))
    return pc.cast(value, kind)


def _signed_year(texts: Value, value: Value) -> Value:
    """A year of more than four digits has its sign."""
    return pc.if_else(pc.greater_equal(micros(value), _END_OF_9999), pc.binary_join_element_wise("+", texts, ""), texts)


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
