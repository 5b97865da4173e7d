"""Hash indexes over arrays: dense ids by open addressing, and bucket order for probing chunks in place."""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

from muntin.kernels.lazy import inlined, kernel
from muntin.kernels.types import I64, MI32, MI64


@inlined
def first_above(values, low, high, least):  # type: ignore[no-untyped-def]
    """The first place in [low, high) whose value is above ``least``, where values ascend; ``high`` where none is."""
    while low < high:
        middle = (low + high) >> 1
        if values[middle] > least:
            high = middle
        else:
            low = middle + 1
    return low


@kernel(nb.int64(MI64, MI64, nb.int64, I64, MI64), cache=True)
def _assign(table, id_hash, count, h, out):  # type: ignore[no-untyped-def]
    mask = len(table) - 1
    for i in range(len(h)):
        slot = h[i] & mask
        while True:
            found = table[slot]
            if found < 0:
                table[slot] = count
                id_hash[count] = h[i]
                out[i] = count
                count += 1
                break
            if id_hash[found] == h[i]:
                out[i] = found
                break
            slot = (slot + 1) & mask
    return count


def dense_ids(h: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Ids 0, 1, ... in order of first appearance, and how many. Cost: one table access a row."""
    size = 1 << max(4, int(2 * len(h)).bit_length())
    out = np.empty(len(h), np.int64)
    count = _assign(np.full(size, -1, np.int64), np.empty(len(h), np.int64), 0, h, out)
    return out, int(count)


@kernel(nb.void(I64, MI64, MI64, MI32), cache=True)
def _bucket_order(h, count, order, starts):  # type: ignore[no-untyped-def]
    n = len(h)
    buckets = len(count) - 1
    mask = buckets - 1
    for i in range(n):
        count[(h[i] & mask) + 1] += 1
    for b in range(buckets):
        count[b + 1] += count[b]
        starts[b] = count[b]
    for i in range(n):
        b = h[i] & mask
        order[count[b]] = i
        count[b] += 1


def bucket_bits(n: int) -> int:
    """Bits of a bucket number for a chunk of ``n`` rows: about one row a bucket, and never more buckets than rows."""
    return n.bit_length() - 1


def bucket_order(h: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Stable order of rows by bucket (low bits of the hash), and the directory: where each bucket starts.

    The directory has as many entries as rows (those past the last bucket are n), so it can be a column of the chunk.
    """
    order, starts = np.empty(len(h), np.int64), np.full(len(h), len(h), np.int32)
    if len(h):
        _bucket_order(h, np.zeros((1 << bucket_bits(len(h))) + 1, np.int64), order, starts)
    return order, starts
