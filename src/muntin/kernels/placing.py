"""Rows in the order of their shards, by counting."""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

from muntin.kernels.lazy import kernel
from muntin.kernels.types import I64, MI64


@kernel(nb.void(I64, MI64, MI64), cache=True)
def _shard_order(h, ends, order):  # type: ignore[no-untyped-def]
    shards = nb.uint64(len(ends))
    half = nb.uint64(32)
    for i in range(len(h)):
        ends[((nb.uint64(h[i]) >> half) * shards) >> half] += 1
    start = 0
    for s in range(len(ends)):
        count = ends[s]
        ends[s] = start
        start += count
    for i in range(len(h)):
        s = ((nb.uint64(h[i]) >> half) * shards) >> half
        order[ends[s]] = i
        ends[s] += 1


def shard_order(h: NDArray[np.int64], shards: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Stable order of rows by ``hashing.shard_of`` of their hashes; where each shard ends in it. Cost: two passes."""
    ends, order = np.zeros(shards, np.int64), np.empty(len(h), np.int64)
    _shard_order(h, ends, order)
    return order, ends
