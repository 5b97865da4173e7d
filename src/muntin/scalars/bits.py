"""Bits of whole numbers over Arrow columns, buckets, factorials, and functions of doubles that NumPy has."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.scalars.buffers import Bools, columns, nulls
from muntin.scalars.cast_rules import Value, convert

Function = Callable[[Sequence[Value], pa.DataType], Value]
Numbers = NDArray[Any]
_FACTORIALS = np.array([math.factorial(n) for n in range(21)])


def _given(args: Sequence[Value], kinds: Sequence[pa.DataType]) -> tuple[list[Numbers], Bools]:
    """The arguments as NumPy arrays, 0 for NULL, and where one of them is NULL."""
    found = [convert(c, k) for c, k in zip(columns(args), kinds, strict=True)]
    gone = np.logical_or.reduce([nulls(c) for c in found])
    return [c.fill_null(0).to_numpy(zero_copy_only=False) for c in found], gone


def _shift(op: Callable[[Numbers, Numbers], Numbers], signed: bool = True) -> Function:
    """By as many bits as the lowest bits of the second argument say, as in Java."""

    def run(args: Sequence[Value], kind: pa.DataType) -> Value:
        (x, n), gone = _given(args, (kind, pa.int32()))
        held = x if signed else x.view(np.uint64 if kind.bit_width == 64 else np.uint32)
        made = op(held, (n & (kind.bit_width - 1)).astype(held.dtype))
        return pa.array(made.view(x.dtype), kind, mask=gone)

    return run


def _bit_count(args: Sequence[Value], kind: pa.DataType) -> Value:
    """Of the number in 64 bits."""
    (x,), gone = _given(args, (pa.int64(),))
    return pa.array(np.bitwise_count(x.view(np.uint64)).astype(np.int32), kind, mask=gone)


def _bit_get(args: Sequence[Value], kind: pa.DataType) -> Value:
    """NULL where the number has no such bit."""
    value = columns(args)[0]
    (x, n), gone = _given([value, *args[1:]], (pa.int64(), pa.int32()))
    beyond = (n < 0) | (n >= value.type.bit_width)
    return pa.array(((x >> np.where(beyond, 0, n)) & 1).astype(np.int8), kind, mask=gone | beyond)


def _factorial(args: Sequence[Value], kind: pa.DataType) -> Value:
    """NULL outside 0 to 20."""
    (n,), gone = _given(args, (pa.int32(),))
    beyond = (n < 0) | (n > 20)
    return pa.array(_FACTORIALS[np.where(beyond, 0, n)], kind, mask=gone | beyond)


def _width_bucket(args: Sequence[Value], kind: pa.DataType) -> Value:
    """Which of n equal parts from one bound to the other, from 1; 0 before the first, n + 1 behind the last."""
    (x, low, high, n), gone = _given(args, (pa.float64(),) * 3 + (pa.int64(),))
    gone |= (n <= 0) | (n == 2**63 - 1) | np.isnan(x) | ~np.isfinite(low) | ~np.isfinite(high) | (low == high)
    up = low < high
    with np.errstate(all="ignore"):
        done, whole = np.where(up, x - low, low - x), np.where(up, high - low, low - high)
        part = n.astype(np.float64) * done / whole
        inside = (done >= 0) & np.where(up, x < high, x > high)
        found = np.where(inside & (part < 2.0**63), part, 0.0).astype(np.int64)
        found = np.where(inside & (part >= 2.0**63), np.iinfo(np.int64).max, found) + 1  # which wraps, as in Spark
    return pa.array(np.where(done < 0, 0, np.where(inside, found, n + 1)), kind, mask=gone)


TABLE: Mapping[str, Function] = {
    "shiftleft": _shift(np.left_shift),
    "shiftright": _shift(np.right_shift),
    "shiftrightunsigned": _shift(np.right_shift, signed=False),
    "bit_count": _bit_count,
    "bit_get": _bit_get,
    "factorial": _factorial,
    "width_bucket": _width_bucket,
}
