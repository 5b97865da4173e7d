"""Widening of values, and Arrow columns as microseconds: what casts and arithmetic share."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Value: TypeAlias = pa.Array | pa.Scalar
"""A column, or a constant that stands for one."""

EXACT = Context(prec=100)


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


def by_value(value: Value, kind: pa.DataType, f: Callable[[Any], Any]) -> Value:
    """``f`` of every distinct value, in Python; NULL stays NULL."""
    if isinstance(value, pa.Scalar):
        return pa.scalar(f(value.as_py()) if value.is_valid else None, kind)
    coded = value.dictionary_encode()
    table = pa.array([None if v is None else f(v) for v in coded.dictionary.to_pylist()], kind)
    return table.take(coded.indices)


def whole(value: Value, kind: pa.DataType, nan: int | None = None, top: bool = True) -> Value:
    """Doubles as integers, cut towards zero; NULL for what does not fit, ``nan`` for NaN.

    ``top``: 2 ** 63 becomes the largest 64-bit integer, as Spark's CAST has it (FLOOR and CEIL do not).
    """
    array = pa.repeat(value, 1) if isinstance(value, pa.Scalar) else value
    numbers = array.to_numpy(zero_copy_only=False).astype(np.float64)
    info = np.iinfo(kind.to_pandas_dtype())
    with np.errstate(invalid="ignore"):
        cut = np.trunc(numbers)
        high = float(info.max)  # of 64 bits it is 2 ** 63
        fits = (cut >= float(info.min)) & ((cut <= high) if top or high == info.max else (cut < high))
        held = np.where(cut >= high, info.max, np.where(fits, cut, 0.0).astype(np.int64)).astype(info.dtype)
    if nan is not None:
        fits |= np.isnan(numbers)
        held = np.where(np.isnan(numbers), info.dtype.type(nan), held)
    missing = ~fits | pc.is_null(array).to_numpy(zero_copy_only=False)
    result = pa.array(held, kind, mask=missing)
    return result[0] if isinstance(value, pa.Scalar) else result
