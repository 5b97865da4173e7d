"""Rows picked from several chunks straight into one array: no copy per chunk that is then copied together."""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.kernels.lazy import kernel
from muntin.kernels.types import I32, I64, MI32, MI64


@kernel([nb.void(I64, I32, MI64, nb.int64), nb.void(I32, I32, MI32, nb.int64)], cache=True)
def take(values, index, out, at):  # type: ignore[no-untyped-def]
    """``out[at + k] = values[index[k]]``, of 32-bit or 64-bit values."""
    for k in range(len(index)):
        out[at + k] = values[index[k]]


@kernel([nb.void(I64, I32, I64, I64, MI64), nb.void(I32, I32, I64, I64, MI32)], cache=True)
def take_runs(values, index, low, high, out):  # type: ignore[no-untyped-def]
    """``out[p] = values[index[p]]`` for the places p in the runs ``[low[r], high[r])``, of 32-bit or 64-bit values."""
    for r in range(len(low)):
        for p in range(low[r], high[r]):
            out[p] = values[index[p]]


def plain_width(kind: pa.DataType) -> int:
    """Bits of a value of a type whose values stand side by side as they are: numbers and times; 0 for others."""
    t = pa.types
    plain = (t.is_integer, t.is_floating, t.is_timestamp, t.is_date, t.is_time, t.is_duration)
    return int(kind.bit_width) if any(is_kind(kind) for is_kind in plain) else 0


def reordered(rows: pa.RecordBatch, order: NDArray[np.int64]) -> pa.RecordBatch:
    """The rows at ``order`` (places that there are), in that order: as ``rows.take``, which takes several times as long
    for plain values of 4 or 8 bytes without NULLs."""
    columns = [_reordered(column, order) for column in rows.columns]
    return pa.RecordBatch.from_arrays(columns, schema=rows.schema) if columns else rows.take(pa.array(order))


def _reordered(column: pa.Array, order: NDArray[np.int64]) -> pa.Array:
    width, n = plain_width(column.type), len(order)
    if width not in (32, 64) or column.null_count or n == 0:
        return column.take(pa.array(order))
    dtype: type[np.generic] = np.int64 if width == 64 else np.int32
    buffer = pa.allocate_buffer(n * width // 8)
    out: NDArray[Any] = np.frombuffer(buffer, dtype)
    values = np.frombuffer(column.buffers()[1], dtype)[column.offset : column.offset + len(column)]
    np.take(values, order, out=out, mode="clip")  # the places are there: this mode needs no copy
    return pa.Array.from_buffers(column.type, n, [None, buffer])
