"""MIN and MAX over expiring rows: per group the rows that can still become the answer.

A row is dominated by one that is at least as good and leaves no earlier (thesis 2.2.2). What remains, ordered by
expiry, has strictly worsening values, so the head is the answer and expiry takes heads off. Works for expiry in any
order; rows that expire in order of arrival are appended in O(1) amortised.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

from muntin.kernels.lazy import kernel
from muntin.kernels.types import I64, MI64


@kernel(nb.void(I64, I64, I64, I64, I64, I64, I64, MI64, MI64, MI64, MI64, MI64), cache=True)
def _staircase(  # type: ignore[no-untyped-def]
    row_group, row_key, row_exp, row_time, time, em_end, em_group, prev, nxt, head, tail, out
):
    n = len(row_group)
    i = 0
    e = 0
    for k in range(len(time)):
        while i < n and row_time[i] <= time[k]:
            g = row_group[i]
            at = tail[g]
            dominated = False
            while at >= 0 and row_exp[at] > row_exp[i]:
                if row_key[at] >= row_key[i]:
                    dominated = True
                    break
                at = prev[at]
            if not dominated:
                while at >= 0 and row_key[at] <= row_key[i]:
                    before = prev[at]
                    after = nxt[at]
                    if before >= 0:
                        nxt[before] = after
                    else:
                        head[g] = after
                    if after >= 0:
                        prev[after] = before
                    else:
                        tail[g] = before
                    at = before
                after = nxt[at] if at >= 0 else head[g]
                prev[i] = at
                nxt[i] = after
                if at >= 0:
                    nxt[at] = i
                else:
                    head[g] = i
                if after >= 0:
                    prev[after] = i
                else:
                    tail[g] = i
            i += 1
        while e < em_end[k]:
            g = em_group[e]
            while head[g] >= 0 and row_exp[head[g]] <= time[k]:
                head[g] = nxt[head[g]]
                if head[g] >= 0:
                    prev[head[g]] = -1
                else:
                    tail[g] = -1
            out[e] = head[g]
            e += 1


def maxima(
    rows: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    schedule: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    groups: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """For each emission the row with the greatest key valid then in its group (-1: none), and what remains afterwards.

    ``rows``: (group, key, exp, time of entering), sorted by time; ``schedule``: (time by instant, em_end, em_group).
    Returns (row by emission, head by group, next by row): the staircases left at the end. MIN: negate the keys' bits.
    """
    out = np.empty(len(schedule[2]), np.int64)
    prev, nxt = (np.full(len(rows[0]), -1, np.int64) for _ in range(2))
    head, tail = (np.full(groups, -1, np.int64) for _ in range(2))
    _staircase(*rows, *schedule, prev, nxt, head, tail, out)
    return out, head, nxt


@kernel(nb.int64(I64, I64, I64, nb.int64, MI64), cache=True)
def _survivors(head, nxt, exp, now, kept):  # type: ignore[no-untyped-def]
    used = 0
    for g in range(len(head)):
        at = head[g]
        while at >= 0:
            if exp[at] > now:
                kept[used] = at
                used += 1
            at = nxt[at]
    return used


def survivors(head: NDArray[np.int64], nxt: NDArray[np.int64], exp: NDArray[np.int64], now: int) -> NDArray[np.int64]:
    """Rows of all staircases that are valid after ``now``, by group and expiry."""
    kept = np.empty(len(nxt), np.int64)
    return kept[: _survivors(head, nxt, exp, now, kept)]


def sortable_bits(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """int64 keys in the order of the doubles (NaN greatest, -0.0 with 0.0)."""
    clean = np.where(np.isnan(values), np.nan, values + 0.0)
    bits = clean.view(np.int64)
    return _flipped(bits)


def of_sortable_bits(keys: NDArray[np.int64]) -> NDArray[np.float64]:
    """The doubles of such keys."""
    return _flipped(keys).view(np.float64)


def _flipped(bits: NDArray[np.int64]) -> NDArray[np.int64]:
    """Negative numbers with all bits but the sign turned round."""
    return bits ^ ((bits >> 63) & np.int64(0x7FFFFFFFFFFFFFFF))


@kernel(MI64(I64, I64, I64, I64), cache=True)
def _needed_until(group, key, ts, exp):  # type: ignore[no-untyped-def]
    n = len(group)
    until = exp.copy()
    stack = np.empty(n, np.int64)
    top = 0
    for i in range(n):
        if i == 0 or group[i] != group[i - 1]:
            top = 0
        if top > 0 and key[stack[top - 1]] >= key[i] and exp[stack[top - 1]] >= exp[i]:
            until[i] = min(exp[i], ts[i])
            continue
        while top > 0 and key[stack[top - 1]] <= key[i] and exp[stack[top - 1]] <= exp[i]:
            top -= 1
            until[stack[top]] = min(exp[stack[top]], ts[i])
        stack[top] = i
        top += 1
    return until


def needed_until(
    group: NDArray[np.int64], key: NDArray[np.int64], ts: NDArray[np.int64], exp: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Until when each row can be its group's answer: its expiry, or the start of one that is at least as good and
    leaves no earlier. Rows are sorted by (group, ts). Finds all such rows where expiry is in order of start (a window
    of time), and never one that is needed. Cost: O(1) amortised a row."""
    return _needed_until(group, key, ts, exp)
