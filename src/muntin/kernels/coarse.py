"""Coarse keys: an int64 for each value of any type, never in another order than the values.

Runs of rows are compared by them without seeing each other's values: numbers and instants have keys of their own,
decimals the nearest 64-bit integer of their unscaled value, texts their first eight bytes; other types share one key.
Rows that share a key are looked at together and put in order by value.
"""

from __future__ import annotations

import numba as nb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.kernels.extremes import sortable_bits
from muntin.kernels.hashing import as_float64, as_int64, bytes_of, decimal_words
from muntin.kernels.lazy import kernel
from muntin.kernels.types import I64, MI64, U8

Ints = NDArray[np.int64]


@kernel(MI64(I64, U8), cache=True)
def _first_eight(offsets, data):  # type: ignore[no-untyped-def]
    keys = np.empty(len(offsets) - 1, np.int64)
    for i in range(len(keys)):
        word = nb.uint64(0)
        for k in range(8):
            p = offsets[i] + k
            word = (word << nb.uint64(8)) | (nb.uint64(data[p]) if p < offsets[i + 1] else nb.uint64(0))
        keys[i] = nb.int64(word ^ nb.uint64(0x8000000000000000))
    return keys


def coarse_keys(column: pa.Array) -> Ints:
    """A key by value that never contradicts the ascending order of the values; NULLs get any key."""
    t = column.type
    if pa.types.is_floating(t):
        return sortable_bits(as_float64(column))
    if is_fine(t):
        return as_int64(column)
    if pa.types.is_decimal(t):
        low, high = decimal_words(column)
        fits = high == low >> 63
        return np.where(fits, low, np.where(high < 0, np.iinfo(np.int64).min, np.iinfo(np.int64).max))
    if _is_text(t):
        return _first_eight(*bytes_of(column))
    return np.zeros(len(column), np.int64)


def is_fine(t: pa.DataType) -> bool:
    """Whether values of the type with one key are equal."""
    if pa.types.is_floating(t) or pa.types.is_boolean(t) or pa.types.is_signed_integer(t):
        return True
    if pa.types.is_unsigned_integer(t):
        return bool(t.bit_width < 64)
    return bool(pa.types.is_temporal(t)) and not pa.types.is_interval(t)


def _is_text(t: pa.DataType) -> bool:
    return any(
        f(t)
        for f in (
            pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_binary,
            pa.types.is_large_binary,
        )
    )  # fmt: skip
