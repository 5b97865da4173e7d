"""Results of a shared join put in the order of the smallest window that holds them."""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

from muntin.kernels.lazy import kernel
from muntin.kernels.types import I64, MI32, MI64

Ints = NDArray[np.int64]


@kernel(nb.void(I64, I64, I64, MI64, MI32, MI32), cache=True)
def _by_window(newest, oldest, windows, ends, rank, order):  # type: ignore[no-untyped-def]
    for i in range(len(newest)):
        apart = newest[i] - oldest[i]
        lo, hi = 0, len(windows)
        while lo < hi:  # the first window that is longer
            mid = (lo + hi) >> 1
            if windows[mid] > apart:
                hi = mid
            else:
                lo = mid + 1
        rank[i] = lo
        ends[lo] += 1
    start = 0
    for w in range(len(ends)):
        count = ends[w]
        ends[w] = start
        start += count
    for i in range(len(newest)):
        order[ends[rank[i]]] = i
        ends[rank[i]] += 1


def by_window(newest: Ints, oldest: Ints, windows: Ints) -> tuple[NDArray[np.int32], Ints]:
    """Stable order of rows by the first of ``windows`` (ascending) that is longer than the time between their newest
    and their oldest part; how many rows each window holds. Rows that none holds come last. Cost: two passes."""
    ends, order = np.zeros(len(windows) + 1, np.int64), np.empty(len(newest), np.int32)
    _by_window(newest, oldest, windows, ends, np.empty(len(newest), np.int32), order)
    return order, ends[: len(windows)]
