"""Few intervals that cover what many cover: duplicate elimination over rows that expire."""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

from muntin.kernels.lazy import kernel
from muntin.kernels.types import I64, MI64

Ints = NDArray[np.int64]


@kernel(nb.int64(I64, I64, I64, MI64, MI64, MI64, nb.int64, nb.int64, MI64, MI64, MI64), cache=True)
def _cover(ids, start, exp, shown, latest, row, first, high, found, begin, end):  # type: ignore[no-untyped-def]
    used = 0
    for i in range(first, len(ids)):
        g = ids[i]
        if start[i] > shown[g] and latest[g] > shown[g]:  # the shown one has gone: the other takes its place
            found[used], begin[used], end[used] = row[g], shown[g], latest[g]
            used += 1
            shown[g] = latest[g]
        if start[i] > shown[g]:
            found[used], begin[used], end[used] = i, start[i], exp[i]
            used += 1
            shown[g] = exp[i]
        elif exp[i] > shown[g] and exp[i] > latest[g]:
            latest[g] = exp[i]
            row[g] = i
    for g in range(len(shown)):
        if shown[g] < high and latest[g] > shown[g]:
            found[used], begin[used], end[used] = row[g], shown[g], latest[g]
            used += 1
            shown[g] = latest[g]
    return used


def cover(
    ids: Ints, start: Ints, exp: Ints, shown: Ints, candidates: tuple[Ints, Ints], first: int, high: int
) -> tuple[Ints, Ints, Ints]:
    """(row, from, to): intervals that follow one another and cover, for each id, what its rows cover before ``high``.

    By id: ``shown`` is when the interval at hand ends, ``candidates`` (expiry, row) the duplicate that outlives it
    longest; both are moved on. Rows from ``first`` on are in order of start (those before are candidates' own). A row
    that starts when, or before, the interval at hand ends is a duplicate. Cost: one pass.
    """
    found, begin, end = (np.empty(len(ids), np.int64) for _ in range(3))
    used = _cover(ids, start, exp, shown, *candidates, first, high, found, begin, end)
    return found[:used], begin[:used], end[:used]
