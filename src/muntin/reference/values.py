"""Plain Python values as SQL sees them: one order, one equality, one representative of every class of equal values.

Timestamps are int microseconds, dates int days since the epoch, decimals ``decimal.Decimal``, NULL is None.
"""

from __future__ import annotations

import math
import struct
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from muntin.core.errors import DataError

NAN = float("nan")
"""The one NaN of the evaluator: being one object, it equals itself inside tuples, sets and dictionaries."""


class Failed(DataError):
    """A call that has no value for its arguments: overflow, a zero divisor, a text that is no number."""


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WIDE = Context(prec=100, rounding=ROUND_HALF_UP)


def canonical(value: Any) -> Any:
    """The representative of all values that are equal as keys: one NaN, no negative zero."""
    if isinstance(value, float):
        return NAN if math.isnan(value) else value + 0.0
    return value


def compare(a: Any, b: Any) -> int:
    """-1, 0 or 1 for two values that are not NULL: NaN equals NaN and is above every number, -0.0 equals 0.0."""
    if isinstance(a, Decimal) and isinstance(b, float):
        a = float(a)
    if isinstance(b, Decimal) and isinstance(a, float):
        b = float(b)
    a_nan, b_nan = is_nan(a), is_nan(b)
    if a_nan or b_nan:
        return int(a_nan) - int(b_nan)
    return int(a > b) - int(a < b)


def is_nan(value: Any) -> bool:
    """Whether ``value`` is a float that is not a number."""
    return isinstance(value, float) and math.isnan(value)


def from_outside(value: Any, type_: pa.DataType) -> Any:
    """An input value in the evaluator's form; times of day and zone are taken as UTC when a datetime is naive.

    Raises DataError for an integer that its column type cannot hold.
    """
    match value:
        case datetime():
            return to_micros(value)
        case date():
            return (value - _EPOCH.date()).days
        case timedelta():
            return value // timedelta(microseconds=1)
        case _:
            return coerce(value, type_)


def to_micros(moment: datetime) -> int:
    """Microseconds since the epoch; a naive datetime is read as UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // timedelta(microseconds=1)


def coerce(value: Any, type_: pa.DataType) -> Any:
    """``value`` as a value of ``type_``; None stays. Raises Failed for what is out of the type's range."""
    if value is None:
        return None
    if pt.is_floating(type_):
        number = float(value)
        return _as_float32(number) if pt.is_float32(type_) else number
    if pt.is_integer(type_):
        return checked_int(int(value), type_)
    if pt.is_decimal(type_):
        return fit_decimal(value if isinstance(value, Decimal) else Decimal(str(value)), type_)
    return value


def checked_int(value: int, type_: pa.DataType) -> int:
    """``value`` if ``type_`` can hold it, else Failed."""
    low, high = int_range(type_)
    if not low <= value <= high:
        raise Failed(f"integer overflow: {value} does not fit {type_}; cast to a wider type or to DOUBLE")
    return value


def int_range(type_: pa.DataType) -> tuple[int, int]:
    """Smallest and largest integer of an Arrow integer type."""
    bits = type_.bit_width
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if pt.is_signed_integer(type_) else (0, 2**bits - 1)


def fit_decimal(value: Decimal, type_: pa.DataType) -> Decimal:
    """``value`` rounded half up to the type's scale; Failed when it needs more digits than the type has."""
    try:
        scaled = value.quantize(Decimal(1).scaleb(-type_.scale), context=_WIDE)
    except InvalidOperation:
        raise Failed(f"decimal overflow: {value} does not fit {type_}") from None
    if scaled and scaled.adjusted() >= type_.precision - type_.scale:
        raise Failed(f"decimal overflow: {value} does not fit {type_}; cast to a wider type or to DOUBLE")
    return scaled


def _as_float32(number: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", number))[0])
    except OverflowError:
        return math.copysign(math.inf, number)
