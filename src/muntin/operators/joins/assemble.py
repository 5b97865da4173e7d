"""Columns of results made of rows of many chunks, each written once where it belongs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.kernels.gathering import plain_width, take, take_runs
from muntin.kernels.spans import Spans, copy, fill

WIDTHS: dict[int, type[np.generic]] = {64: np.int64, 32: np.int32}
"""Bits of a value: how it is looked at."""

Values = NDArray[Any]


@dataclass(frozen=True)
class Picked:
    """Rows of one chunk, in the order in which results have them (int32)."""

    rows: pa.RecordBatch
    index: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.index)

    def write(self, values: Values, out: Values, at: int) -> None:
        """The picked ones of ``values`` into ``out`` from place ``at`` on."""
        take(values, self.index, out, at)


@dataclass(frozen=True)
class Probing:
    """The rows of a chunk that found partners, each as often as it found one. ``places``: the rows of the chunk that
    probed (None: all)."""

    rows: pa.RecordBatch
    spans: Spans
    places: NDArray[np.int32] | None = None

    @cached_property
    def found(self) -> NDArray[np.int32]:
        """The row of each span."""
        return self.spans.rows if self.places is None else self.places[self.spans.rows]

    @cached_property
    def index(self) -> NDArray[np.int32]:
        """The row of each pair."""
        return np.repeat(self.found, self.spans.count)

    def __len__(self) -> int:
        return self.spans.pairs

    def write(self, values: Values, out: Values, at: int) -> None:
        """As ``Picked.write``."""
        fill(values, self.found, self.spans.count, out, at)


@dataclass(frozen=True)
class Partners:
    """The rows of a chunk that were found, in order of those that found them."""

    rows: pa.RecordBatch
    spans: Spans

    @cached_property
    def index(self) -> NDArray[np.int32]:
        """The row of each pair."""
        return self.spans.pair_partners()

    def __len__(self) -> int:
        return self.spans.pairs

    def write(self, values: Values, out: Values, at: int) -> None:
        """As ``Picked.write``."""
        copy(values, self.spans.first, self.spans.count, out, at)


Part = Picked | Probing | Partners


@dataclass(frozen=True)
class Placed:
    """Rows of one chunk that go to the places ``[low[r], high[r])``; the row that goes to place p is ``index[p]``
    (int32; of one array for all chunks)."""

    rows: pa.RecordBatch
    index: NDArray[np.int32]
    low: NDArray[np.int64]
    high: NDArray[np.int64]

    def places(self) -> NDArray[np.int64]:
        """All places, run after run."""
        counts = self.high - self.low
        ahead = np.cumsum(counts) - counts
        return np.repeat(self.low - ahead, counts) + np.arange(int(counts.sum()))


def column(parts: Sequence[Part], name: str, total: int) -> pa.Array:
    """One column of all parts, in order; ``total`` rows (at least one). Plain values of 4 or 8 bytes without NULLs are
    written once; others are taken chunk by chunk and put together."""
    arrays = [p.rows.column(name) for p in parts]
    kind = arrays[0].type
    width = plain_width(kind)
    if width not in WIDTHS or any(a.null_count for a in arrays):
        return _together([a.take(pa.array(p.index)) for a, p in zip(arrays, parts, strict=True)])
    dtype = WIDTHS[width]
    buffer = pa.allocate_buffer(total * width // 8)  # Arrow's pool keeps memory from batch to batch
    out, at = np.frombuffer(buffer, dtype), 0
    for a, p in zip(arrays, parts, strict=True):
        p.write(_values(a, dtype), out, at)
        at += len(p)
    return pa.Array.from_buffers(kind, total, [None, buffer])


def placed_column(parts: Sequence[Placed], name: str, total: int) -> pa.Array:
    """As ``column``, where the parts' rows go to places among those of the others; the parts fill all ``total``."""
    arrays = [p.rows.column(name) for p in parts]
    kind = arrays[0].type
    width = plain_width(kind)
    if width not in WIDTHS or any(a.null_count for a in arrays):
        places = [p.places() for p in parts]
        taken = [a.take(pa.array(p.index[at])) for a, p, at in zip(arrays, parts, places, strict=True)]
        order = np.empty(total, np.int64)
        order[np.concatenate(places)] = np.arange(total)
        return _together(taken).take(pa.array(order))
    dtype = WIDTHS[width]
    buffer = pa.allocate_buffer(total * width // 8)
    out = np.frombuffer(buffer, dtype)
    for a, p in zip(arrays, parts, strict=True):
        take_runs(_values(a, dtype), p.index, p.low, p.high, out)
    return pa.Array.from_buffers(kind, total, [None, buffer])


def _together(arrays: list[pa.Array]) -> pa.Array:
    whole = pa.chunked_array(arrays).combine_chunks()
    return whole if isinstance(whole, pa.Array) else whole.chunk(0)


def _values(a: pa.Array, dtype: type[np.generic]) -> NDArray[Any]:
    return np.frombuffer(a.buffers()[1], dtype)[a.offset : a.offset + len(a)]


def int64_room(total: int) -> NDArray[np.int64]:
    """An array to be filled, of memory that Arrow's pool keeps from batch to batch."""
    return np.frombuffer(pa.allocate_buffer(total * 8), np.int64)
