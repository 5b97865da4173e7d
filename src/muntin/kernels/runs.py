"""Several sorted or hashed runs of rows as one: where keys, ranges of keys and ranks lie, without touching other rows.

The columns of a run stay where they are (in memory or in a mapped file); a kernel gets their addresses, so one compiled
kernel serves any number of runs. Callers hold the arrays while it works.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba as nb
import numpy as np
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from muntin.kernels.index import first_above
from muntin.kernels.lazy import inlined, kernel
from muntin.kernels.types import I32, I64, MI64, MI64x2

LEAST, GREATEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max

Ints = NDArray[np.int64]


@intrinsic
def _pointer(typing: Any, address: Any) -> Any:
    """An address as a pointer."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], cgutils.voidptr_t)

    return nb.types.voidptr(nb.types.int64), build


@inlined
def _array(address, n):  # type: ignore[no-untyped-def]
    return nb.carray(_pointer(address), (n,), dtype=np.int64)  # type: ignore[attr-defined,call-arg]


@kernel(nb.int64(MI64, nb.int64, nb.int64, nb.int64), cache=True)
def _first_at_least(values, low, high, wanted):  # type: ignore[no-untyped-def]
    """The first place in [low, high) with a value of at least ``wanted``; ``high`` if there is none."""
    while low < high:
        mid = (low + high) >> 1
        if values[mid] < wanted:
            low = mid + 1
        else:
            high = mid
    return low


@kernel(nb.int64(MI64, nb.int64, nb.int64, nb.int64), cache=True)
def _gallop(values, at, n, wanted):  # type: ignore[no-untyped-def]
    """As ``_first_at_least`` from ``at`` on, at the cost of the logarithm of the way."""
    step = 1
    low = at
    while at < n and values[at] < wanted:
        low = at + 1
        at += step
        step *= 2
    return _first_at_least(values, low, at if at < n else n, wanted)


@kernel(MI64(MI64, nb.int64, nb.int64), cache=True)
def _room(values, used, more):  # type: ignore[no-untyped-def]
    """The array, or a copy of it with place for ``more`` entries."""
    if used + more <= len(values):
        return values
    grown = np.empty(2 * len(values) + more, np.int64)
    for i in range(used):  # the checks of a slice have messages, which take seconds to compile
        grown[i] = values[i]
    return grown


@kernel(nb.types.UniTuple(MI64, 3)(I64, I64, I64, I64, I64, I64, nb.int64), cache=True)
def _by_key(group_at, key_at, length, number, low, high, further):  # type: ignore[no-untyped-def]
    runs = len(length)
    cursor = np.zeros(runs, np.int64)
    out_wanted = np.empty(256, np.int64)
    out_run = np.empty(256, np.int64)
    out_place = np.empty(256, np.int64)
    used = 0
    for i in range(len(number)):
        for r in range(runs):
            groups = _array(group_at[r], length[r])
            begin = _gallop(groups, cursor[r], length[r], number[i])
            cursor[r] = begin
            if begin == length[r] or groups[begin] != number[i] or low[i] > high[i]:
                continue
            end = _gallop(groups, begin, length[r], number[i] + 1)
            keys = _array(key_at[r], length[r])
            first = _first_at_least(keys, begin, end, low[i])
            last = min(first_above(keys, first, end, high[i]) + further, end)
            out_wanted = _room(out_wanted, used, last - first)
            out_run = _room(out_run, used, last - first)
            out_place = _room(out_place, used, last - first)
            for p in range(first, last):
                out_wanted[used] = i
                out_run[used] = r
                out_place[used] = p
                used += 1
    return out_wanted[:used], out_run[:used], out_place[:used]


@inlined
def _upto(total, begin, end):  # type: ignore[no-untyped-def]
    """The sum of entries [begin, end) of a run, from its running totals."""
    if end == begin:
        return 0
    return total[end - 1] - (total[begin - 1] if begin > 0 else 0)


@kernel(nb.int64(I64, I64, I64, MI64, MI64, nb.int64, nb.int64, nb.int64, MI64, MI64, MI64), cache=True)
def _key_of_rank(key_at, total_at, length, begin, end, least, greatest, rank, low, middle, high):  # type: ignore[no-untyped-def]
    """The least key with more than ``rank`` values up to it, and in ``high`` for each run the place after it."""
    runs = len(length)
    for r in range(runs):
        low[r], high[r] = begin[r], end[r]
    while True:
        key = least + nb.int64(nb.uint64(greatest - least) >> nb.uint64(1))
        count = 0
        for r in range(runs):
            middle[r] = low[r]
            if low[r] < high[r]:
                middle[r] = first_above(_array(key_at[r], length[r]), low[r], high[r], key)
            count += _upto(_array(total_at[r], length[r]), begin[r], middle[r])
        if least == greatest:
            break
        if count > rank:
            greatest = key
        else:
            least = key + 1
        for r in range(runs):
            if count > rank:
                high[r] = middle[r]
            else:
                low[r] = middle[r]
    for r in range(runs):
        high[r] = middle[r]
    return least


_SCRATCH = 7
"""Numbers by run that ``_by_rank`` works with."""


@kernel(nb.types.UniTuple(MI64, 3)(I64, I64, I64, I64, I64, I64, I64, nb.float64, MI64x2, MI64x2), cache=True)
def _by_rank(group_at, key_at, total_at, length, number, more, fewer, q, scratch, bounds):  # type: ignore[no-untyped-def]
    runs = len(length)
    cursor, begin, end, low, high = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
    out_wanted = np.empty(256, np.int64)
    out_run = np.empty(256, np.int64)
    out_place = np.empty(256, np.int64)
    used = 0
    for i in range(len(number)):
        total = 0
        lowest = GREATEST
        highest = LEAST
        for r in range(runs):
            groups = _array(group_at[r], length[r])
            begin[r] = _gallop(groups, cursor[r], length[r], number[i])
            cursor[r] = begin[r]
            end[r] = _gallop(groups, begin[r], length[r], number[i] + 1)
            low[r], high[r] = begin[r], end[r]
            if end[r] > begin[r]:
                keys = _array(key_at[r], length[r])
                total += _upto(_array(total_at[r], length[r]), begin[r], end[r])
                if keys[begin[r]] < lowest:
                    lowest = keys[begin[r]]
                if keys[end[r] - 1] > highest:
                    highest = keys[end[r] - 1]
        first = nb.int64(np.floor(q * (total - fewer[i] - 1))) - more[i] - 1
        last = nb.int64(np.ceil(q * (total + more[i] - 1))) + fewer[i] + 1
        least, greatest, below = LEAST, GREATEST, 0
        # below the first place there is nothing to leave out, nor above the last one
        for side in range(2):
            rank = first if side == 0 else last
            if total == 0 or (side == 0 and rank <= 0) or (side == 1 and rank >= total - 1):
                continue
            rank = 0 if rank < 0 else total - 1 if rank > total - 1 else rank
            key = _key_of_rank(
                key_at, total_at, length, begin, end, lowest, highest, rank, scratch[5], scratch[6], high
            )
            if side == 1:
                greatest = key
                continue
            least = key
            for r in range(runs):
                low[r] = _first_at_least(_array(key_at[r], length[r]), begin[r], end[r], least)
                below += _upto(_array(total_at[r], length[r]), begin[r], low[r])
                high[r] = end[r]
        bounds[0, i], bounds[1, i], bounds[2, i], bounds[3, i] = least, greatest, below, total
        for r in range(runs):
            out_wanted = _room(out_wanted, used, high[r] - low[r])
            out_run = _room(out_run, used, high[r] - low[r])
            out_place = _room(out_place, used, high[r] - low[r])
            for p in range(low[r], high[r]):
                out_wanted[used] = i
                out_run[used] = r
                out_place[used] = p
                used += 1
    return out_wanted[:used], out_run[:used], out_place[:used]


def _addresses(columns: Sequence[Ints]) -> Ints:
    return np.array([c.__array_interface__["data"][0] for c in columns], np.int64)


def _lengths(columns: Sequence[Ints]) -> Ints:
    return np.array([len(c) for c in columns], np.int64)


def _nothing() -> tuple[Ints, Ints, Ints]:
    return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64)


def by_key(
    groups: Sequence[Ints], keys: Sequence[Ints], number: Ints, low: Ints, high: Ints, further: int
) -> tuple[Ints, Ints, Ints]:
    """Rows of group ``number[i]`` with ``low[i] <= key <= high[i]``, and ``further`` more of each run: (i, run, place).

    Runs are in order of (group, key); ``number`` ascends. Cost: runs x wanted groups x logarithm, and the rows found.
    """
    if not groups:
        return _nothing()
    found: tuple[Ints, Ints, Ints] = _by_key(
        _addresses(groups), _addresses(keys), _lengths(groups), number, low, high, further
    )
    return found


def by_rank(
    groups: Sequence[Ints],
    keys: Sequence[Ints],
    totals: Sequence[Ints],
    number: Ints,
    changes: tuple[Ints, Ints],
    q: float,
) -> tuple[tuple[Ints, Ints, Ints], tuple[Ints, Ints, Ints, Ints]]:
    """Rows that can be at quantile ``q`` of a group while at most ``changes`` (more, fewer) values come and go.

    Runs are in order of (group, key), ``totals`` their running totals of counts, which add up over the runs; ``number``
    ascends. Returns (i, run, place) of the rows, and by i: the least and the greatest key (all rows between are there),
    how many values lie below, and how many there are. Cost: runs x wanted groups x 64, and the rows found.
    """
    if not groups:
        least, greatest = np.full(len(number), LEAST), np.full(len(number), GREATEST)
        return _nothing(), (least, greatest, np.zeros(len(number), np.int64), np.zeros(len(number), np.int64))
    scratch, bounds = np.zeros((_SCRATCH, len(groups)), np.int64), np.empty((4, len(number)), np.int64)
    rows = _by_rank(
        _addresses(groups), _addresses(keys), _addresses(totals), _lengths(groups), number, *changes, q, scratch, bounds
    )
    least, greatest, below, size = bounds
    return rows, (least, greatest, below, size)


@kernel(nb.void(I64, I32, nb.int64, I64, MI64), cache=True)
def _probe(run, directory, bits, wanted, out):  # type: ignore[no-untyped-def]
    n = len(run)
    buckets = 1 << bits
    for i in range(len(wanted)):
        b = wanted[i] & (buckets - 1)
        out[i] = -1
        for p in range(directory[b], directory[b + 1] if b + 1 < n else n):
            if run[p] == wanted[i]:
                out[i] = p
                break


def probe(run: Ints, directory: NDArray[np.int32], bits: int, wanted: Ints) -> Ints:
    """The first place of each hash in a run in bucket order (``kernels.index.bucket_order``); -1 where it is not."""
    out = np.empty(len(wanted), np.int64)
    _probe(run, directory, bits, wanted, out)
    return out


@kernel(nb.void(I64, I64, I64, I64, nb.int64, MI64, MI64, MI64), cache=True)
def _spans(group_at, key_at, length, number, low, begin, first, end):  # type: ignore[no-untyped-def]
    runs = len(length)
    for r in range(runs):
        groups = _array(group_at[r], length[r])
        keys = _array(key_at[r], length[r])
        at = 0
        for i in range(len(number)):
            at = _gallop(groups, at, length[r], number[i])
            to = _gallop(groups, at, length[r], number[i] + 1)
            begin[i * runs + r] = at
            first[i * runs + r] = _first_at_least(keys, at, to, low)
            end[i * runs + r] = to


def spans(groups: Sequence[Ints], keys: Sequence[Ints], number: Ints, low: int) -> tuple[Ints, Ints, Ints]:
    """Where the rows of each group (``number`` ascends) begin, where its first with ``key >= low`` is, and where they
    end: by group, then by run. Runs are in order of (group, key)."""
    begin, first, end = (np.empty(len(number) * len(groups), np.int64) for _ in range(3))
    _spans(_addresses(groups), _addresses(keys), _lengths(groups), number, low, begin, first, end)
    return begin, first, end
