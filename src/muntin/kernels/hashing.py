"""64-bit hashes of key columns, equal on every machine and worker. NaN = NaN, -0.0 = 0.0, NULL = NULL.

The hash of one integer-like column without NULLs is a bijection of its values, so equal hashes mean equal keys there;
for anything else equal hashes must be confirmed on the columns (``exact`` says which case holds).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numba as nb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from muntin.kernels.lazy import inlined, kernel
from muntin.kernels.types import I64, MI64, U8

T = TypeVar("T", bound=np.generic)

_NULL = -7046029254386353131
_SEED = 1442695040888963407


@inlined
def _mix(x):  # type: ignore[no-untyped-def]
    """Finalizer of splitmix64: a bijection on 64 bits."""
    z = nb.uint64(x)
    z = (z ^ (z >> nb.uint64(30))) * nb.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> nb.uint64(27))) * nb.uint64(0x94D049BB133111EB)
    return nb.int64(z ^ (z >> nb.uint64(31)))


@kernel(nb.void(MI64, I64), cache=True)
def _fold_ints(h, values):  # type: ignore[no-untyped-def]
    for i in range(len(h)):
        h[i] = _mix(h[i] ^ values[i])


@kernel(nb.void(MI64, I64, U8), cache=True)
def _fold_bytes(h, offsets, data):  # type: ignore[no-untyped-def]
    for i in range(len(h)):
        begin, end = nb.uintp(offsets[i]), nb.uintp(offsets[i + 1])
        acc = nb.uint64(h[i]) ^ nb.uint64(end - begin)
        word = nb.uint64(0)
        shift = nb.uint64(0)
        for p in range(begin, end):
            word |= nb.uint64(data[p]) << shift
            shift += nb.uint64(8)
            if shift == nb.uint64(64):
                acc = nb.uint64(_mix(nb.int64(acc ^ word)))
                word = shift = nb.uint64(0)
        h[i] = _mix(nb.int64(acc ^ word))


def hash_columns(columns: Sequence[pa.Array], rows: int) -> NDArray[np.int64]:
    """One hash per row over the columns together; zeros when there are no columns. Cost: a few ns a value."""
    h = np.zeros(rows, np.int64)
    if columns:
        h += _SEED
    for column in columns:
        _fold(h, column)
    return h


def exact(types: Sequence[pa.DataType]) -> bool:
    """Whether equal hashes of non-NULL keys of these types prove equal keys."""
    return len(types) == 0 or (len(types) == 1 and _integer_like(types[0]))


def shard_of(hashes: NDArray[np.int64], shards: int) -> NDArray[np.int32]:
    """The shard of each hash, by its upper bits (the lower ones index buckets inside a shard)."""
    upper = hashes.view(np.uint64) >> np.uint64(32)
    return ((upper * np.uint64(shards)) >> np.uint64(32)).astype(np.int32)


def _integer_like(t: pa.DataType) -> bool:
    temporal = pa.types.is_temporal(t) and not pa.types.is_interval(t)
    return pa.types.is_integer(t) or pa.types.is_boolean(t) or temporal


def _fold(h: NDArray[np.int64], column: pa.Array) -> None:
    t = column.type
    if pa.types.is_dictionary(t):
        return _fold(h, column.dictionary_decode())
    words = decimal_words(column) if pa.types.is_decimal(t) else ()
    if column.null_count:
        nulls = np.flatnonzero(np.asarray(column.is_null()))
        null = h[nulls]
        for _ in words or (None,):
            _fold_ints(null, np.full(len(null), _NULL, np.int64))
    if _integer_like(t):
        _fold_ints(h, as_int64(column))
    elif pa.types.is_floating(t):
        _fold_ints(h, canonical_bits(as_float64(column)))
    elif words:
        _fold_ints(h, words[0])
        _fold_ints(h, words[1])
    elif not pa.types.is_null(t):
        _fold_bytes(h, *bytes_of(column))
    if column.null_count:
        h[nulls] = null
    return None


def validity_of(column: pa.Array) -> NDArray[np.bool_]:
    """True where not NULL; an empty array when nothing is NULL."""
    if column.null_count == 0:
        return np.empty(0, np.bool_)
    return np.asarray(pc.is_valid(column).to_numpy(zero_copy_only=False), np.bool_)


def as_int64(column: pa.Array) -> NDArray[np.int64]:
    """The values of an integer, boolean or temporal column as int64 (NULLs: any value)."""
    t = column.type
    if pa.types.is_boolean(t):
        return np.asarray(pc.fill_null(column, False).to_numpy(zero_copy_only=False), np.int64)
    if t.bit_width == 64 and not pa.types.is_unsigned_integer(t):
        return buffer_values(column, np.int64)
    if pa.types.is_temporal(t):
        return buffer_values(column, np.int32).astype(np.int64)
    plain = pc.fill_null(column, 0) if column.null_count else column
    return np.asarray(plain.to_numpy(zero_copy_only=False)).astype(np.int64)


def as_float64(column: pa.Array) -> NDArray[np.float64]:
    """The values of a float column as float64 (NULLs: any value)."""
    if pa.types.is_float64(column.type):
        return buffer_values(column, np.float64)
    return np.asarray(pc.fill_null(column, 0.0).to_numpy(zero_copy_only=False), np.float64)


def canonical_bits(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Bit patterns in which equal keys are equal: one NaN, one zero."""
    clean = values + 0.0  # -0.0 + 0.0 is 0.0
    odd = np.isnan(clean)
    if odd.any():
        clean = np.where(odd, np.nan, clean)
    return clean.view(np.int64)


def decimal_words(column: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The unscaled values of a decimal column as (low, high) 64-bit words of their two's complement."""
    wide = column.cast(pa.decimal128(column.type.precision, column.type.scale))
    words = np.frombuffer(wide.buffers()[1], np.int64)[2 * wide.offset : 2 * (wide.offset + len(wide))]
    return np.ascontiguousarray(words[0::2]), np.ascontiguousarray(words[1::2])


def buffer_values(column: pa.Array, dtype: type[T]) -> NDArray[T]:
    """The data buffer of a fixed-width column, without a copy (NULLs: whatever stands there)."""
    buffer = column.buffers()[1]
    if buffer is None or len(column) == 0:
        return np.zeros(len(column), dtype)
    return np.frombuffer(buffer, dtype)[column.offset : column.offset + len(column)]


def texts(column: pa.Array) -> list[str]:
    """Nested values as texts that are equal when they are (the slow way, value by value)."""
    return [repr(v) for v in column.to_pylist()]


def bytes_of(column: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """(offsets int64[n + 1], data) of a string or binary column; any other type is hashed by its text."""
    t = column.type
    if pa.types.is_nested(t):
        column, t = pa.array(texts(column), pa.large_string()), pa.large_string()
    if not (pa.types.is_large_string(t) or pa.types.is_large_binary(t)):
        text = pa.types.is_string(t) or pa.types.is_binary(t) or pa.types.is_string_view(t)
        column = column.cast(pa.large_binary() if text else pa.large_string())
    _, offsets, data = column.buffers()
    where = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    return where, np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)
