"""Columns of results made of rows of many chunks, each written once where it belongs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.kernels.gathering import take_32, take_64

WIDTHS = {64: (np.int64, take_64), 32: (np.int32, take_32)}
"""Bits of a value: how it is looked at, and what picks such values."""


@dataclass(frozen=True)
class Picked:
    """Rows of one chunk, in the order in which results have them (int32)."""

    rows: pa.RecordBatch
    index: NDArray[np.int32]


def column(parts: Sequence[Picked], name: str, total: int) -> pa.Array:
    """One column of all parts, in order; ``total`` rows (at least one). Plain values of 4 or 8 bytes without NULLs are
    written once; others are taken chunk by chunk and put together."""
    arrays = [p.rows.column(name) for p in parts]
    kind = arrays[0].type
    width = _width(kind)
    if width not in WIDTHS or any(a.null_count for a in arrays):
        taken = [a.take(pa.array(p.index)) for a, p in zip(arrays, parts, strict=True)]
        whole = pa.chunked_array(taken).combine_chunks()
        return whole if isinstance(whole, pa.Array) else whole.chunk(0)
    dtype, take = WIDTHS[width]
    buffer = pa.allocate_buffer(total * width // 8)  # Arrow's pool keeps memory from batch to batch
    out, at = np.frombuffer(buffer, dtype), 0
    for a, p in zip(arrays, parts, strict=True):
        values = np.frombuffer(a.buffers()[1], dtype)[a.offset : a.offset + len(a)]
        take(values, p.index, out, at)
        at += len(p.index)
    return pa.Array.from_buffers(kind, total, [None, buffer])


def int64_room(total: int) -> NDArray[np.int64]:
    """An array to be filled, of memory that Arrow's pool keeps from batch to batch."""
    return np.frombuffer(pa.allocate_buffer(total * 8), np.int64)


def _width(kind: pa.DataType) -> int:
    t = pa.types
    plain = (t.is_integer, t.is_floating, t.is_timestamp, t.is_date, t.is_time, t.is_duration)
    return int(kind.bit_width) if any(is_kind(kind) for is_kind in plain) else 0
