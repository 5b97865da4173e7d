"""Few intervals that cover what many cover: duplicate elimination over rows that expire."""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

from muntin.kernels.lazy import kernel
from muntin.kernels.types import I64, MI64

Ints = NDArray[np.int64]


@kernel(nb.types.UniTuple(MI64, 3)(I64, I64, I64, MI64, MI64, MI64, nb.int64, nb.int64), cache=True)
def _cover(ids, start, exp, shown, latest, row, first, high):  # type: ignore[no-untyped-def]
    n = len(ids)
    found = np.empty(n, np.int64)
    begin = np.empty(n, np.int64)
    end = np.empty(n, np.int64)
    used = 0
    for i in range(first, n):
        g = ids[i]
        if start[i] > shown[g] and latest[g] > shown[g]:  # the shown one has gone: the other takes its place
            found[used], begin[used], end[used] = row[g], shown[g], latest[g]
            used += 1
            shown[g] = latest[g]
        if start[i] > shown[g]:
            found[used], begin[used], end[used] = i, start[i], exp[i]
            used += 1
            shown[g] = exp[i]
        elif exp[i] > max(shown[g], latest[g]):
            latest[g] = exp[i]
            row[g] = i
    for g in range(len(shown)):
        if shown[g] < high and latest[g] > shown[g]:
            found[used], begin[used], end[used] = row[g], shown[g], latest[g]
            used += 1
            shown[g] = latest[g]
    return found[:used], begin[:used], end[:used]


def cover(
    ids: Ints, start: Ints, exp: Ints, shown: Ints, candidates: tuple[Ints, Ints], first: int, high: int
) -> tuple[Ints, Ints, Ints]:
    """(row, from, to): intervals that follow one another and cover, for each id, what its rows cover before ``high``.

    By id: ``shown`` is when the interval at hand ends, ``candidates`` (expiry, row) the duplicate that outlives it
    longest; both are moved on. Rows from ``first`` on are in order of start (those before are candidates' own). A row
    that starts when, or before, the interval at hand ends is a duplicate. Cost: one pass.
    """
    return _cover(ids, start, exp, shown, *candidates, first, high)
