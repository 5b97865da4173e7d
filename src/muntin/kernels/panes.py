"""Folding the rows of a pane that belong to one group into one row: counts, exact sums, least and greatest.

``ids`` numbers the target row of each row, from 0 to ``count``; an empty ``valid`` means that no value is NULL.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

from muntin.kernels.types import B1, I64, MI64


@nb.njit(MI64(I64, nb.int64, B1), cache=True)
def fold_count(ids, count, valid):  # type: ignore[no-untyped-def]
    """How many values are folded into each row."""
    out = np.zeros(count, np.int64)
    masked = len(valid) > 0
    for i in range(len(ids)):
        if not masked or valid[i]:
            out[ids[i]] += 1
    return out


@nb.njit(nb.types.Tuple((MI64, MI64))(I64, nb.int64, B1, I64, I64), cache=True)
def fold_int128(ids, count, valid, low, high):  # type: ignore[no-untyped-def]
    """128-bit sums of two's complement words, as words."""
    out_low = np.zeros(count, np.int64)
    out_high = np.zeros(count, np.int64)
    masked = len(valid) > 0
    for i in range(len(ids)):
        if not masked or valid[i]:
            k = ids[i]
            a = nb.uint64(out_low[k])
            c = a + nb.uint64(low[i])
            out_low[k] = nb.int64(c)
            out_high[k] += high[i] + (1 if c < a else 0)
    return out_low, out_high


@nb.njit(MI64(I64, nb.int64, B1, I64), cache=True)
def fold_greatest(ids, count, valid, key):  # type: ignore[no-untyped-def]
    """The first row with the greatest key of each target row; -1 where every value is NULL."""
    best = np.full(count, -1, np.int64)
    masked = len(valid) > 0
    for i in range(len(ids)):
        if not masked or valid[i]:
            k = ids[i]
            if best[k] < 0 or key[i] > key[best[k]]:
                best[k] = i
    return best


def apart(ids: NDArray[np.int64], count: int, split: NDArray[np.bool_]) -> tuple[NDArray[np.int64], int]:
    """The numbering with every row of the targets in ``split`` as a target of its own, behind the others."""
    alone = split[ids]
    number = np.cumsum(~split) - 1
    own = np.cumsum(alone) - 1 + int((~split).sum())
    return np.where(alone, own, number[ids]).astype(np.int64), int((~split).sum() + alone.sum())
