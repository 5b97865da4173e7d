"""Keys that order values as ORDER BY, MIN and MAX do."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from muntin.kernels.extremes import sortable_bits
from muntin.kernels.hashing import as_float64, as_int64


def order_keys(column: pa.Array, fn: str) -> NDArray[np.int64]:
    """int64 keys that order the values (greatest first for MAX, least first for MIN); NULLs get any key.

    Numbers and instants keep their own order; other types are ranked among the values at hand.
    """
    t = column.type
    if pa.types.is_floating(t):
        key = sortable_bits(as_float64(column))
    elif pa.types.is_integer(t) or pa.types.is_boolean(t) or (pa.types.is_temporal(t) and not pa.types.is_interval(t)):
        key = as_int64(column)
    else:
        key = np.asarray(pc.rank(column, tiebreaker="dense").to_numpy(), np.int64)
    return ~key if fn == "min" else key


def sort_keys(column: pa.Array, descending: bool, nulls_first: bool) -> list[NDArray[np.int64]]:
    """Two int64 keys, the first the more important, that sort the column as ORDER BY does."""
    null = np.asarray(column.is_null(), np.int64)
    key = order_keys(column, "min" if descending else "max")
    return [1 - null if nulls_first else null, np.where(null > 0, 0, key)]
