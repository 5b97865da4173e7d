"""Order statistics of multisets under insertion and deletion: a counting tree (Fenwick) per group over sorted values.

Every value that a step can show is known before it is replayed, so positions are fixed: the pairs (group, value)
sorted by group, then value. A replayed event costs O(log values of the group), a statistic as much.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

from muntin.kernels.lazy import kernel
from muntin.kernels.types import B1, I8, I64, MI64

BELOW, ABOVE = -1, -2
"""Places of values that no statistic of the step can reach: they only count."""


@kernel(nb.void(MI64, nb.int64, nb.int64, nb.int64, nb.int64), cache=True)
def _add(tree, begin, size, place, by):  # type: ignore[no-untyped-def]
    i = place - begin + 1
    while i <= size:
        tree[begin + i - 1] += by
        i += i & (-i)


@kernel(nb.int64(MI64, nb.int64, nb.int64, nb.int64), cache=True)
def _find(tree, begin, size, rank):  # type: ignore[no-untyped-def]
    """The place of the value with that rank (from 0)."""
    step = 1
    while step * 2 <= size:
        step *= 2
    at = 0
    left = rank
    while step > 0:
        if at + step <= size and tree[begin + at + step - 1] <= left:
            at += step
            left -= tree[begin + at - 1]
        step //= 2
    return begin + at


@kernel(
    nb.void(I64, I64, I8, B1, I64, I64, I64, I64, I64, I64, I64, nb.float64, MI64, MI64, MI64), cache=True
)
def _quantiles(  # type: ignore[no-untyped-def]
    ev_group, ev_place, ev_sign, valid, ev_end, em_end, em_group, begin, count, below, sizes, q, low, high, total
):
    masked = len(valid) > 0
    groups = len(begin) - 1
    tree = np.zeros(len(count), np.int64)
    size = sizes.copy()
    base = below.copy()
    for g in range(groups):
        for p in range(begin[g], begin[g + 1]):
            if count[p] != 0:
                _add(tree, begin[g], begin[g + 1] - begin[g], p, count[p])
    i = 0
    e = 0
    for k in range(len(ev_end)):
        while i < ev_end[k]:
            if not masked or valid[i]:
                g = ev_group[i]
                if ev_place[i] >= 0:
                    _add(tree, begin[g], begin[g + 1] - begin[g], ev_place[i], ev_sign[i])
                elif ev_place[i] == BELOW:
                    base[g] += ev_sign[i]
                size[g] += ev_sign[i]
            i += 1
        while e < em_end[k]:
            g = em_group[e]
            total[e] = size[g]
            if size[g] > 0:
                at = q * (size[g] - 1)
                lower = nb.int64(np.floor(at))
                upper = nb.int64(np.ceil(at))
                low[e] = _find(tree, begin[g], begin[g + 1] - begin[g], lower - base[g])
                high[e] = low[e] if upper == lower else _find(tree, begin[g], begin[g + 1] - begin[g], upper - base[g])
            else:
                low[e] = -1
                high[e] = -1
            e += 1


def quantiles(
    events: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int8], NDArray[np.bool_]],
    schedule: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    multiset: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    q: float,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """For each emission the places of the values around quantile ``q`` (both -1 over no values), and how many there
    are.

    ``events``: (group, place of the value or ``BELOW`` or ``ABOVE``, sign, valid or empty); ``schedule``: (ev_end,
    em_end, em_group); before the step, ``multiset``: (first place by group, with one entry more; count by place; by
    group how many values are below the first place, and how many there are).
    """
    n = len(schedule[2])
    low, high, total = (np.empty(n, np.int64) for _ in range(3))
    _quantiles(*events, *schedule, *multiset, q, low, high, total)
    return low, high, total


@kernel(nb.types.Tuple((MI64, MI64))(I64, I8, B1, I64, I64, I64, I64, MI64), cache=True)
def _contents(ev_place, ev_sign, valid, ev_end, em_end, em_group, begin, count):  # type: ignore[no-untyped-def]
    masked = len(valid) > 0
    length = np.zeros(len(em_group) + 1, np.int64)
    places = np.empty(1024, np.int64)
    used = 0
    i = 0
    e = 0
    for k in range(len(ev_end)):
        while i < ev_end[k]:
            if not masked or valid[i]:
                count[ev_place[i]] += ev_sign[i]
            i += 1
        while e < em_end[k]:
            g = em_group[e]
            for p in range(begin[g], begin[g + 1]):
                for _ in range(count[p]):
                    if used == len(places):
                        grown = np.empty(2 * used, np.int64)
                        grown[:used] = places
                        places = grown
                    places[used] = p
                    used += 1
            e += 1
            length[e] = used
    return length, places[:used]


def contents(
    events: tuple[NDArray[np.int64], NDArray[np.int8], NDArray[np.bool_]],
    schedule: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    multiset: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The values of the group at each emission, in order: (offsets by emission, places). Cost: the size of the
    output."""
    return _contents(*events, *schedule, *multiset)


@kernel(nb.types.Tuple((MI64, MI64, nb.int64))(MI64, MI64, nb.int64), cache=True)
def _leading(tree, live, wanted):  # type: ignore[no-untyped-def]
    """The first ``wanted`` rows: their places in order, how many of each, how many places."""
    place = np.empty(wanted, np.int64)
    count = np.empty(wanted, np.int64)
    kinds = 0
    rank = 0
    while rank < wanted:
        place[kinds] = _find(tree, 0, len(live), rank)
        count[kinds] = min(live[place[kinds]], wanted - rank)
        rank += count[kinds]
        kinds += 1
    return place, count, kinds


@kernel(nb.types.UniTuple(MI64, 3)(I64, I64, I64, I64, nb.int64), cache=True)
def _first_places(ev_place, ev_sign, ev_end, count, k):  # type: ignore[no-untyped-def]
    size = len(count)
    tree = np.zeros(size, np.int64)
    live = count.copy()
    total = 0
    for p in range(size):
        if count[p] != 0:
            _add(tree, 0, size, p, count[p])
            total += count[p]
    at = np.empty(256, np.int64)
    place = np.empty(256, np.int64)
    change = np.empty(256, np.int64)
    used = 0
    old_place = np.empty(0, np.int64)
    old_count = np.empty(0, np.int64)
    old_kinds = 0
    i = 0
    for t in range(len(ev_end) + 1):
        if t > 0:
            while i < ev_end[t - 1]:
                if ev_place[i] >= 0:
                    _add(tree, 0, size, ev_place[i], ev_sign[i])
                    live[ev_place[i]] += ev_sign[i]
                    total += ev_sign[i]
                i += 1
        # the first k rows now, as (place, how many of it); each instant takes the former ones away and puts these
        fresh_place, fresh_count, kinds = _leading(tree, live, min(k, total))
        if t > 0:
            a = 0
            b = 0
            while a < old_kinds or b < kinds:
                if b >= kinds or (a < old_kinds and old_place[a] < fresh_place[b]):
                    p, d = old_place[a], -old_count[a]
                    a += 1
                elif a >= old_kinds or fresh_place[b] < old_place[a]:
                    p, d = fresh_place[b], fresh_count[b]
                    b += 1
                else:
                    p, d = fresh_place[b], fresh_count[b] - old_count[a]
                    a += 1
                    b += 1
                for _ in range(abs(d)):
                    if used == len(at):
                        at = np.append(at, np.empty(used, np.int64))
                        place = np.append(place, np.empty(used, np.int64))
                        change = np.append(change, np.empty(used, np.int64))
                    at[used] = t - 1
                    place[used] = p
                    change[used] = 1 if d > 0 else -1
                    used += 1
        old_place, old_count, old_kinds = fresh_place, fresh_count, kinds
    return at[:used], place[:used], change[:used]


def first_places(
    place: NDArray[np.int64], sign: NDArray[np.int64], ev_end: NDArray[np.int64], count: NDArray[np.int64], k: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Changes of the first ``k`` rows: (instant number, place, +1 or -1), one entry a row, in order of instants.

    ``place`` (``ABOVE``: never among them) and ``sign`` by event; ``ev_end`` by instant; ``count``: rows by place
    before the step.
    """
    return _first_places(place, sign, ev_end, count, k)
