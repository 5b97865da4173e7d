"""Hashes of bytes as Spark computes them: Murmur3 (32 bits), XXH64, and CRC-32 (IEEE 802.3).

Murmur3 is A. Appleby's x86_32 but for the bytes behind the last whole word: Spark mixes each in as a word of its own.
XXH64 is Y. Collet's.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from muntin.kernels.lazy import inlined, kernel
from muntin.kernels.types import B1, I64, MI64, U8

MU32 = nb.types.Array(nb.types.uint32, 1, "C")
MU64 = nb.types.Array(nb.types.uint64, 1, "C")

_P1, _P2, _P3 = nb.uint64(0x9E3779B185EBCA87), nb.uint64(0xC2B2AE3D27D4EB4F), nb.uint64(0x165667B19E3779F9)
_P4, _P5 = nb.uint64(0x85EBCA77C2B2AE63), nb.uint64(0x27D4EB2F165667C5)


def _crc_table() -> list[int]:
    found = []
    for n in range(256):
        c = n
        for _ in range(8):
            c = (c >> 1) ^ 0xEDB88320 if c & 1 else c >> 1
        found.append(c)
    return found


_CRC = np.array(_crc_table(), np.uint32)


@inlined
def _mixed(h, k):  # type: ignore[no-untyped-def]
    """A word of Murmur3."""
    k = nb.uint32(k * nb.uint32(0xCC9E2D51))
    k = nb.uint32((k << nb.uint32(15)) | (k >> nb.uint32(17)))
    k = nb.uint32(k * nb.uint32(0x1B873593))
    h = nb.uint32(h ^ k)
    h = nb.uint32((h << nb.uint32(13)) | (h >> nb.uint32(19)))
    return nb.uint32(h * nb.uint32(5) + nb.uint32(0xE6546B64))


@kernel(nb.void(U8, I64, B1, MU32), cache=True)
def murmur3(data, starts, there, hashes):  # type: ignore[no-untyped-def]
    """Each row's bytes mixed into its hash, where the row is there; a byte behind the words counts with its sign."""
    for r in range(len(hashes)):
        if not there[r]:
            continue
        low, high = starts[r], starts[r + 1]
        h, words = hashes[r], low + (high - low) // 4 * 4
        for p in range(low, words, 4):
            k = nb.uint32(data[p]) | (nb.uint32(data[p + 1]) << nb.uint32(8))
            k = nb.uint32(k | (nb.uint32(data[p + 2]) << nb.uint32(16)) | (nb.uint32(data[p + 3]) << nb.uint32(24)))
            h = _mixed(h, k)
        for p in range(words, high):
            h = _mixed(h, nb.uint32(nb.int32(nb.int8(data[p]))))
        h = nb.uint32(h ^ nb.uint32(high - low))
        h = nb.uint32((h ^ (h >> nb.uint32(16))) * nb.uint32(0x85EBCA6B))
        h = nb.uint32((h ^ (h >> nb.uint32(13))) * nb.uint32(0xC2B2AE35))
        hashes[r] = nb.uint32(h ^ (h >> nb.uint32(16)))


@inlined
def _turned(x, n):  # type: ignore[no-untyped-def]
    return nb.uint64((x << nb.uint64(n)) | (x >> nb.uint64(64 - n)))


@inlined
def _word(data, p, size):  # type: ignore[no-untyped-def]
    """``size`` bytes as a number, the lowest first."""
    found = nb.uint64(0)
    for k in range(size):
        found |= nb.uint64(data[p + k]) << nb.uint64(8 * k)
    return found


@inlined
def _round(held, word):  # type: ignore[no-untyped-def]
    return nb.uint64(_turned(nb.uint64(held + word * _P2), 31) * _P1)


@kernel(nb.void(U8, I64, B1, MU64), cache=True)
def xxh64(data, starts, there, hashes):  # type: ignore[no-untyped-def]
    """XXH64 of each row's bytes with its hash as seed, where the row is there."""
    for r in range(len(hashes)):
        if not there[r]:
            continue
        p, high, seed = starts[r], starts[r + 1], hashes[r]
        size = nb.uint64(high - p)
        if high - p >= 32:
            a, b = nb.uint64(seed + _P1 + _P2), nb.uint64(seed + _P2)
            c, d = nb.uint64(seed), nb.uint64(seed - _P1)
            while p + 32 <= high:
                a, b = _round(a, _word(data, p, 8)), _round(b, _word(data, p + 8, 8))
                c, d = _round(c, _word(data, p + 16, 8)), _round(d, _word(data, p + 24, 8))
                p += 32
            h = nb.uint64(_turned(a, 1) + _turned(b, 7) + _turned(c, 12) + _turned(d, 18))
            for part in (a, b, c, d):
                h = nb.uint64((h ^ _round(nb.uint64(0), part)) * _P1 + _P4)
        else:
            h = nb.uint64(seed + _P5)
        h = nb.uint64(h + size)
        while p + 8 <= high:
            h = nb.uint64(_turned(h ^ _round(nb.uint64(0), _word(data, p, 8)), 27) * _P1 + _P4)
            p += 8
        if p + 4 <= high:
            h = nb.uint64(_turned(h ^ nb.uint64(_word(data, p, 4) * _P1), 23) * _P2 + _P3)
            p += 4
        while p < high:
            h = nb.uint64(_turned(h ^ nb.uint64(nb.uint64(data[p]) * _P5), 11) * _P1)
            p += 1
        h = nb.uint64((h ^ (h >> nb.uint64(33))) * _P2)
        h = nb.uint64((h ^ (h >> nb.uint64(29))) * _P3)
        hashes[r] = nb.uint64(h ^ (h >> nb.uint64(32)))


@kernel(nb.void(U8, I64, MI64), cache=True)
def crc32(data, starts, out):  # type: ignore[no-untyped-def]
    """The checksum of each row's bytes."""
    for r in range(len(out)):
        c = nb.uint32(0xFFFFFFFF)
        for p in range(starts[r], starts[r + 1]):
            c = nb.uint32(_CRC[(c ^ data[p]) & nb.uint32(255)] ^ (c >> nb.uint32(8)))
        out[r] = nb.int64(c ^ nb.uint32(0xFFFFFFFF))
