"""Probing the chunks of a window join, and putting n-way combinations together."""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

from muntin.kernels.index import bucket_bits
from muntin.kernels.types import I32, I64, MI32, MI64

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


@nb.njit(cache=True, inline="always")
def _double(a, used):  # type: ignore[no-untyped-def]
    grown = np.empty(2 * len(a), a.dtype)
    grown[:used] = a[:used]
    return grown


@nb.njit(
    nb.types.Tuple((MI32, MI32, MI64, MI64, nb.int64))(
        I64, I64, I64, I64, I64, I64, I32, nb.int64, nb.int64, nb.boolean
    ),
    cache=True,
)
def _probe(h, start, exp, c_h, c_start, c_exp, c_dir, bits, limit, fifo):  # type: ignore[no-untyped-def]
    mask = (1 << bits) - 1
    room = max(16, len(h))
    left = np.empty(room, np.int32)
    right = np.empty(room, np.int32)
    starts = np.empty(room, np.int64)
    exps = np.empty(room, np.int64)
    used = 0
    touched = 0
    for i in range(len(h)):
        b = h[i] & mask
        lo = nb.int64(c_dir[b])
        hi = nb.int64(c_dir[b + 1]) if b + 1 < len(c_dir) else nb.int64(len(c_h))
        before = min(exp[i], limit)
        if fifo and hi - lo > 8:  # rows of a bucket expire in order: skip the expired by bisection
            end = hi
            while lo < end:
                mid = (lo + end) >> 1
                if c_exp[mid] > start[i]:
                    end = mid
                else:
                    lo = mid + 1
        for j in range(lo, hi):
            if c_start[j] >= before:  # rows of a bucket start in order
                break
            touched += 1
            if c_h[j] == h[i] and c_exp[j] > start[i]:
                if used == room:
                    left = _double(left, used)
                    right = _double(right, used)
                    starts = _double(starts, used)
                    exps = _double(exps, used)
                    room *= 2
                left[used] = i
                right[used] = j
                starts[used] = max(start[i], c_start[j])
                exps[used] = min(exp[i], c_exp[j])
                used += 1
    return left[:used], right[:used], starts[:used], exps[:used], touched


Found = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64], NDArray[np.int64], int]


def probe(
    new: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    chunk: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    directory: NDArray[np.int32],
    limit: int,
    fifo: bool,
) -> Found:
    """Pairs with equal hashes whose validity intervals meet, the chunk's row started before ``limit``.

    Both sides are (hash, start, exp); the chunk is in bucket order (``index.bucket_order``) and by start inside a
    bucket; ``fifo``: also by expiry. Returns (row of ``new``, row of ``chunk``, start and exp of the intersection) in
    order of ``new``, and how many chunk rows were looked at.
    """
    return _probe(*new, *chunk, directory, bucket_bits(len(directory)), limit, fifo)


@nb.njit(nb.types.Tuple((MI64, MI64))(I64, I64, I64, I64, I64, I64), cache=True)
def _extend(t_row, t_start, t_exp, p_begin, p_start, p_exp):  # type: ignore[no-untyped-def]
    tuples = np.empty(max(16, len(t_row)), np.int64)
    cands = np.empty(max(16, len(t_row)), np.int64)
    used = 0
    for t in range(len(t_row)):
        r = t_row[t]
        for j in range(p_begin[r], p_begin[r + 1]):
            if p_start[j] < t_exp[t] and p_exp[j] > t_start[t]:
                if used == len(tuples):
                    tuples = _double(tuples, used)
                    cands = _double(cands, used)
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
