"""Pairs of rows whose times meet, and n-way combinations of them (by key: ``kernels.spans``)."""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

from muntin.kernels.lazy import kernel
from muntin.kernels.types import I32, I64, MI32, MI64

UNBOUNDED = 1 << 62
"""As many pairs as there are."""

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


@nb.njit(cache=True, inline="always")
def _grown(a, used, room):  # type: ignore[no-untyped-def]
    grown = np.empty(room, a.dtype)
    for i in range(used):  # the checks of a slice have messages, which take seconds to compile
        grown[i] = a[i]
    return grown


Found = tuple[NDArray[np.int32], NDArray[np.int32], int]
"""Pairs as (rows of one side, rows of the other), and how many rows were looked at."""


@kernel(nb.types.Tuple((MI64, MI64))(I64, I64, I64, I64, I64, I64), cache=True)
def _extend(t_row, t_start, t_exp, p_begin, p_start, p_exp):  # type: ignore[no-untyped-def]
    room = max(16, len(t_row))
    tuples = np.empty(room, np.int64)
    cands = np.empty(room, np.int64)
    used = 0
    for t in range(len(t_row)):
        lo, hi = p_begin[t_row[t]], p_begin[t_row[t] + 1]
        since, before = t_start[t], t_exp[t]
        if used + hi - lo > room:
            room = max(2 * room, used + hi - lo)
            tuples, cands = _grown(tuples, used, room), _grown(cands, used, room)
        for j in range(lo, hi):
            if p_start[j] < before and p_exp[j] > since:
                tuples[used] = t
                cands[used] = j
                used += 1
    return tuples[:used], cands[:used]


def extend(
    tuples: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    candidates: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
) -> Pairs:
    """Partial combinations (origin row, start, exp) times the candidates of their origin row: (tuple, candidate) pairs
    whose intervals meet. ``candidates`` is (begin by origin row, start, exp), sorted by origin row."""
    return _extend(*tuples, *candidates)


@kernel(
    nb.types.Tuple((MI32, MI32, nb.int64))(I64, I64, I32, I64, I64, I64, I64, nb.int64, nb.int64),
    cache=True,
)
def _between(lo, hi, order, start, exp, c_start, c_exp, limit, most):  # type: ignore[no-untyped-def]
    room = max(16, len(lo))
    left, right = np.empty(room, np.int32), np.empty(room, np.int32)
    used = 0
    touched = 0
    for i in range(len(lo)):
        if used > most:
            break
        since, before = start[i], min(exp[i], limit)
        n = hi[i] - lo[i]
        if used + n > room:
            room = max(2 * room, used + n)
            left, right = _grown(left, used, room), _grown(right, used, room)
        for k in range(lo[i], hi[i]):
            j = order[k]
            if c_start[j] < before and c_exp[j] > since:
                left[used] = i
                right[used] = j
                used += 1
        touched += max(n, 0)
    return left[:used], right[:used], touched


def between(
    places: tuple[NDArray[np.int64], NDArray[np.int64]],
    order: NDArray[np.int32],
    new: tuple[NDArray[np.int64], NDArray[np.int64]],
    chunk: tuple[NDArray[np.int64], NDArray[np.int64]],
    limit: int,
    most: int = UNBOUNDED,
) -> Found:
    """Pairs whose validity intervals meet, of row i of ``new`` and the chunk rows at places [lo[i], hi[i]) of
    ``order``; the chunk's row started before ``limit``. Both sides are (start, exp). Where there are more than
    ``most``, only some more than that are found."""
    return _between(*places, order, *new, *chunk, limit, most)
