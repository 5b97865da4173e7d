"""Keys that order values as ORDER BY, MIN and MAX do."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from muntin.kernels.extremes import of_sortable_bits, sortable_bits
from muntin.kernels.hashing import as_float64, as_int64, texts

_UNSIGNED = np.int64(np.iinfo(np.int64).min)
"""The bit by which 64-bit unsigned integers are in the order of signed ones."""


def order_keys(column: pa.Array, fn: str) -> NDArray[np.int64]:
    """int64 keys that order the values (greatest first for MAX, least first for MIN); NULLs get any key.

    Numbers and instants keep their own order; other types are ranked among the values at hand, nested ones, which only
    break ties, by their texts (the slow way, value by value).
    """
    t = column.type
    if pa.types.is_floating(t):
        key = sortable_bits(as_float64(column))
    elif pa.types.is_integer(t) or pa.types.is_boolean(t) or (pa.types.is_temporal(t) and not pa.types.is_interval(t)):
        key = as_int64(column) ^ _UNSIGNED if t == pa.uint64() else as_int64(column)
    else:
        column = pa.array(texts(column), pa.large_string()) if pa.types.is_nested(t) else column
        key = np.asarray(pc.rank(column, tiebreaker="dense").to_numpy(), np.int64)
    return ~key if fn == "min" else key


def values_of(keys: NDArray[np.int64], fn: str, type: pa.DataType, none: NDArray[np.bool_]) -> pa.Array:
    """The values that have these ``order_keys``, of a type whose values keep their own order; NULL where ``none``."""
    own = ~keys if fn == "min" else keys
    if pa.types.is_floating(type):
        return pa.array(of_sortable_bits(own), mask=none).cast(type)
    if pa.types.is_boolean(type):
        return pa.array(own == 1, mask=none)
    if type == pa.uint64():
        return pa.array((own ^ _UNSIGNED).view(np.uint64), mask=none)
    plain = pa.array(np.where(none, 0, own), mask=none)
    if pa.types.is_temporal(type) and type.bit_width == 32:
        plain = plain.cast(pa.int32())
    return plain.cast(type)


def sort_keys(column: pa.Array, descending: bool, nulls_first: bool) -> list[NDArray[np.int64]]:
    """Two int64 keys, the first the more important, that sort the column as ORDER BY does."""
    null = np.asarray(column.is_null(), np.int64)
    key = order_keys(column, "min" if descending else "max")
    return [1 - null if nulls_first else null, np.where(null > 0, 0, key)]
