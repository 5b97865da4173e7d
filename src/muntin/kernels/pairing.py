"""Negative tuples meet the rows that they take away, as far as both are at hand."""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

from muntin.kernels.lazy import kernel
from muntin.kernels.types import I8, I64, MI64


@kernel(MI64(I64, I8, I64, nb.int64), cache=True)
def _pair(ids, sign, order, kinds):  # type: ignore[no-untyped-def]
    n = len(ids)
    partner = np.full(n, -1, np.int64)
    top = np.full(kinds, -1, np.int64)
    below = np.full(n, -1, np.int64)
    for k in range(n):
        i = order[k]
        g = ids[i]
        if sign[i] > 0:
            below[i] = top[g]
            top[g] = i
        elif top[g] >= 0:
            row = top[g]
            partner[row] = i
            partner[i] = row
            top[g] = below[row]
    return partner


def partners(ids: NDArray[np.int64], ts: NDArray[np.int64], sign: NDArray[np.int8], kinds: int) -> NDArray[np.int64]:
    """For each row the later negative tuple of its kind that takes it away, for each such tuple its row; -1 for none.

    Of several rows the newest goes first. Cost: a sort by time and one pass.
    """
    return _pair(ids, sign, np.argsort(ts, kind="stable"), kinds)
