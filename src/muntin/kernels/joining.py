"""Probing the chunks of a window join, and putting n-way combinations together."""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

from muntin.kernels.index import bucket_bits
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


@nb.njit(nb.int64(I64, nb.int64, nb.int64, nb.int64), cache=True, inline="always")
def _alive_from(c_exp, lo, hi, since):  # type: ignore[no-untyped-def]
    """First position in [lo, hi) that expires after ``since``, where expiries ascend."""
    while lo < hi:
        mid = (lo + hi) >> 1
        if c_exp[mid] > since:
            hi = mid
        else:
            lo = mid + 1
    return lo


@kernel(
    nb.types.Tuple((MI32, MI32, nb.int64))(
        I64, I64, I64, I64, I64, I64, I32, nb.int64, nb.int64, nb.boolean, nb.int64
    ),
    cache=True,
)
def _probe(h, start, exp, c_h, c_start, c_exp, c_dir, bits, limit, fifo, most):  # type: ignore[no-untyped-def]
    mask = (1 << bits) - 1
    room = max(16, len(h))
    left = np.empty(room, np.int32)
    right = np.empty(room, np.int32)
    used = 0
    touched = 0
    at, alive, last = -1, 0, 0
    for i in range(len(h)):
        if used > most:
            break
        mine, since, before = h[i], start[i], min(exp[i], limit)
        b = mine & mask
        lo = nb.int64(c_dir[b])
        hi = nb.int64(c_dir[b + 1]) if b + 1 < len(c_dir) else nb.int64(len(c_h))
        # skip the expired at the head of the bucket, from where the last probe of the bucket stood
        if b == at and since >= last:
            lo = alive
        elif fifo:  # rows of a bucket expire in order
            lo = _alive_from(c_exp, lo, hi, since)
        while lo < hi and c_exp[lo] <= since:
            lo += 1
            touched += 1
        at, alive, last = b, lo, since
        if used + hi - lo > room:  # room for a whole bucket, so that the loop over it has no branch for growing
            room = max(2 * room, used + hi - lo)
            left, right = _grown(left, used, room), _grown(right, used, room)
        j = lo
        while j < hi and c_start[j] < before:  # rows of a bucket start in order
            if c_h[j] == mine and c_exp[j] > since:
                left[used] = i
                right[used] = j
                used += 1
            j += 1
        touched += j - lo
    return left[:used], right[:used], touched


Found = tuple[NDArray[np.int32], NDArray[np.int32], int]


def probe(
    new: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    chunk: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    directory: NDArray[np.int32],
    limit: int,
    fifo: bool,
    most: int = UNBOUNDED,
) -> Found:
    """Pairs with equal hashes whose validity intervals meet, the chunk's row started before ``limit``.

    Both sides are (hash, start, exp); the chunk is in bucket order (``index.bucket_order``) and by start inside a
    bucket; ``fifo``: also by expiry. Returns (row of ``new``, row of ``chunk``) in order of ``new``, and how many chunk
    rows were looked at; where they are more than ``most``, only some more than that. Cheapest where ``new`` is in
    bucket order too: a bucket is then entered once.
    """
    return _probe(*new, *chunk, directory, bucket_bits(len(directory)), limit, fifo, most)


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
    ``order``; the chunk's row started before ``limit``. Both sides are (start, exp). Returns as ``probe`` does."""
    return _between(*places, order, *new, *chunk, limit, most)
