"""Folding the rows of a pane that belong to one group into one row: counts, exact sums, least and greatest.

``ids`` numbers the target row of each row, from 0 to ``count``; an empty ``valid`` means that no value is NULL.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

from muntin.kernels.lazy import kernel
from muntin.kernels.sums import add_int128
from muntin.kernels.types import B1, I64, MI64

Ints = NDArray[np.int64]


def fold_count(ids: NDArray[np.int64], count: int, valid: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many values are folded into each row."""
    return np.bincount(ids[valid] if len(valid) else ids, minlength=count)


@kernel(nb.void(I64, B1, I64, I64, MI64, MI64, MI64), cache=True)
def _fold_int128(ids, valid, low, high, out_low, out_high, over):  # type: ignore[no-untyped-def]
    masked = len(valid) > 0
    for i in range(len(ids)):
        if not masked or valid[i]:
            k = ids[i]
            out_low[k], out_high[k], wrapped = add_int128(out_low[k], out_high[k], low[i], high[i])
            over[k] += wrapped


def fold_int128(ids: Ints, count: int, valid: NDArray[np.bool_], low: Ints, high: Ints) -> tuple[Ints, Ints, Ints]:
    """Sums of 128-bit integers in two's complement words, as words and how many times 2**128 is to be added."""
    out_low, out_high, over = (np.zeros(count, np.int64) for _ in range(3))
    _fold_int128(ids, valid, low, high, out_low, out_high, over)
    return out_low, out_high, over


@kernel(nb.void(I64, B1, I64, MI64), cache=True)
def _fold_greatest(ids, valid, key, best):  # type: ignore[no-untyped-def]
    masked = len(valid) > 0
    for i in range(len(ids)):
        if not masked or valid[i]:
            k = ids[i]
            if best[k] < 0 or key[i] > key[best[k]]:
                best[k] = i


def fold_greatest(ids: Ints, count: int, valid: NDArray[np.bool_], key: Ints) -> Ints:
    """The first row with the greatest key of each target row; -1 where every value is NULL."""
    best = np.full(count, -1, np.int64)
    _fold_greatest(ids, valid, key, best)
    return best


def apart(ids: NDArray[np.int64], count: int, split: NDArray[np.bool_]) -> tuple[NDArray[np.int64], int]:
    """The numbering with every row of the targets in ``split`` as a target of its own, behind the others."""
    alone = split[ids]
    number = np.cumsum(~split) - 1
    own = np.cumsum(alone) - 1 + int((~split).sum())
    return np.where(alone, own, number[ids]).astype(np.int64), int((~split).sum() + alone.sum())
