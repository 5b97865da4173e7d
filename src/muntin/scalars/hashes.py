"""Hashes over Arrow columns, with Spark's results: MD5, SHA, CRC-32, and its own HASH and XXHASH64 of several columns.

HASH folds Murmur3 over its arguments with 42 as the first seed, XXHASH64 does so with XXH64; NULL leaves the hash as it
is, arrays and structs are folded value by value.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from muntin.cql.types import family
from muntin.kernels.spark_hashes import crc32, murmur3, xxh64
from muntin.scalars.buffers import Bytes, Ints, bytes_column, columns, nulls, raw
from muntin.scalars.cast_rules import Value, by_value, micros
from muntin.scalars.clocks import constant
from muntin.scalars.nested import bounds, plain_list

Function = Callable[[Sequence[Value], pa.DataType], Value]
Words = NDArray[np.uint32]
Longs = NDArray[np.uint64]

_SHA = {0: hashlib.sha256, 224: hashlib.sha224, 256: hashlib.sha256, 384: hashlib.sha384, 512: hashlib.sha512}
_SEED = 42


def _digest(value: Value, kind: pa.DataType, of: Callable[[bytes], str]) -> Value:
    """In Python's hashlib, once for each distinct value: Arrow and NumPy have no such hashes."""
    return by_value(bytes_column(value), kind, of)


def _md5(args: Sequence[Value], kind: pa.DataType) -> Value:
    return _digest(args[0], kind, lambda v: hashlib.md5(v, usedforsecurity=False).hexdigest())


def _sha1(args: Sequence[Value], kind: pa.DataType) -> Value:
    return _digest(args[0], kind, lambda v: hashlib.sha1(v, usedforsecurity=False).hexdigest())


def _sha2(args: Sequence[Value], kind: pa.DataType) -> Value:
    """NULL where there is no SHA-2 of so many bits."""
    value, bits = bytes_column(args[0]), constant(args[1])
    if bits not in _SHA:
        return pa.nulls(len(value), kind)
    return _digest(value, kind, lambda v: _SHA[bits](v).hexdigest())


def _crc32(args: Sequence[Value], kind: pa.DataType) -> Value:
    value = bytes_column(args[0])
    found = np.zeros(len(value), np.int64)
    crc32(*raw(value), found)
    return pa.array(found, kind, mask=nulls(value))


# --- one hash of several columns --------------------------------------------------------------------------------------


def _turned(x: Words, n: int) -> Words:
    return (x << np.uint32(n)) | (x >> np.uint32(32 - n))


def _murmur_words(hashes: Words, words: Sequence[Words]) -> Words:
    for word in words:
        k = _turned(word * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
        hashes = _turned(hashes ^ k, 13) * np.uint32(5) + np.uint32(0xE6546B64)
    h = hashes ^ np.uint32(4 * len(words))
    h = (h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    h = (h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return h ^ (h >> np.uint32(16))


def _murmur_long(values: Longs, hashes: Words) -> Words:
    return _murmur_words(hashes, [values.astype(np.uint32), (values >> np.uint64(32)).astype(np.uint32)])


def _murmur_int(values: Words, hashes: Words) -> Words:
    return _murmur_words(hashes, [values])


_P1, _P2, _P3 = np.uint64(0x9E3779B185EBCA87), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9)
_P4, _P5 = np.uint64(0x85EBCA77C2B2AE63), np.uint64(0x27D4EB2F165667C5)


def _turned64(x: Longs, n: int) -> Longs:
    return (x << np.uint64(n)) | (x >> np.uint64(64 - n))


def _finished(h: Longs) -> Longs:
    h = (h ^ (h >> np.uint64(33))) * _P2
    h = (h ^ (h >> np.uint64(29))) * _P3
    return h ^ (h >> np.uint64(32))


def _xx_int(values: Words, hashes: Longs) -> Longs:
    h = (hashes + _P5 + np.uint64(4)) ^ (values.astype(np.uint64) * _P1)
    return _finished(_turned64(h, 23) * _P2 + _P3)


def _xx_long(values: Longs, hashes: Longs) -> Longs:
    h = (hashes + _P5 + np.uint64(8)) ^ (_turned64(values * _P2, 31) * _P1)
    return _finished(_turned64(h, 27) * _P1 + _P4)


@dataclass(frozen=True)
class _Kind:
    """A hash by what it does with a word of 32 bits, with one of 64 and with bytes, each given the hash so far."""

    of_int: Callable[[Any, Any], Any]
    of_long: Callable[[Any, Any], Any]
    of_bytes: Callable[..., None]
    holds: type[np.generic]


_MURMUR = _Kind(_murmur_int, _murmur_long, murmur3, np.uint32)
_XX = _Kind(_xx_int, _xx_long, xxh64, np.uint64)


def _folded(kind: _Kind, value: pa.Array, hashes: NDArray[np.generic]) -> NDArray[np.generic]:
    """The hashes with a column folded in."""
    t, there = value.type, ~nulls(value)
    if pa.types.is_null(t):
        return hashes
    if pa.types.is_struct(t):
        for part in value.flatten():
            hashes = _folded(kind, part, hashes)
        return hashes
    if pa.types.is_list(t) or pa.types.is_large_list(t) or pa.types.is_fixed_size_list(t):
        return _elements_folded(kind, plain_list(value), hashes)
    wide = pa.types.is_decimal(t) and t.precision > 18
    if wide or family(t) in ("string", "binary"):
        found = hashes.copy()
        kind.of_bytes(*(_decimal_bytes(value) if wide else raw(value)), there, found)
        return found
    bits = _bits(value)
    made = kind.of_int(bits, hashes) if bits.dtype == np.uint32 else kind.of_long(bits, hashes)
    return np.where(there, made, hashes)


def _elements_folded(kind: _Kind, value: pa.Array, hashes: NDArray[np.generic]) -> NDArray[np.generic]:
    """Place by place of the arrays, for all rows that have one."""
    low, high = bounds(value)
    found = hashes.copy()
    for place in range(int(max(high - low, default=0))):
        rows = np.flatnonzero(low + place < high)
        found[rows] = _folded(kind, value.values.take(pa.array(low[rows] + place)), found[rows])
    return found


def _bits(value: pa.Array) -> NDArray[np.generic]:
    """Values of fixed width as words of 32 or 64 bits, as Spark hashes them: one zero and one NaN."""
    t = value.type
    if pa.types.is_floating(t):
        numbers = value.fill_null(0.0).to_numpy(zero_copy_only=False) + t.to_pandas_dtype()(0.0)
        numbers[np.isnan(numbers)] = np.nan
        return numbers.view(np.uint32 if t.bit_width == 32 else np.uint64)
    if pa.types.is_decimal(t):
        return _unscaled(value)[:, 0].copy()
    if pa.types.is_boolean(t) or pa.types.is_date(t):
        value = pc.cast(value, pa.int32())
    elif pa.types.is_timestamp(t):
        value = micros(value)
    whole = value.fill_null(0).to_numpy(zero_copy_only=False)
    if value.type.bit_width == 64:
        return whole.astype(np.int64).view(np.uint64)
    return whole.astype(np.int32).view(np.uint32)


def _unscaled(value: pa.Array) -> Longs:
    """The digits of decimals as two words of 64 bits, the lower first."""
    words = np.frombuffer(value.buffers()[1], np.uint64).reshape(-1, 2)
    found: Longs = words[value.offset : value.offset + len(value)]
    return found


def _decimal_bytes(value: pa.Array) -> tuple[Bytes, Ints]:
    """The digits of decimals as the fewest bytes that keep the sign, the highest first (``BigInteger.toByteArray``)."""
    all_ = np.ascontiguousarray(_unscaled(value)).view(np.uint8).reshape(-1, 16)[:, ::-1]
    sign = np.where(all_[:, :1] >= 128, 255, 0)
    needless = (all_[:, :-1] == sign) & ((all_[:, 1:] >= 128) == (sign == 255))
    skipped = np.cumprod(needless, axis=1).sum(axis=1)
    sizes = np.where(nulls(value), 0, 16 - skipped)
    keep = (np.arange(16) >= skipped[:, None]) & (sizes[:, None] > 0)
    return all_[keep], np.concatenate([[0], np.cumsum(sizes)])


def _hash(kind: _Kind, signed: type[np.generic]) -> Function:
    def run(args: Sequence[Value], result: pa.DataType) -> Value:
        values = columns(args)
        hashes: NDArray[np.generic] = np.full(len(values[0]), _SEED, kind.holds)
        with np.errstate(over="ignore"):
            for value in values:
                hashes = _folded(kind, value, hashes)
        return pa.array(hashes.view(signed), result)

    return run


TABLE: Mapping[str, Function] = {
    "md5": _md5,
    "sha1": _sha1,
    "sha2": _sha2,
    "crc32": _crc32,
    "hash": _hash(_MURMUR, np.int32),
    "xxhash64": _hash(_XX, np.int64),
}
