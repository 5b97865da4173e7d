"""Order statistics of multisets under insertion and deletion: a counting tree (Fenwick) per group over sorted values.

Every value that a step can show is known before it is replayed, so positions are fixed: the pairs (group, value)
sorted by group, then value. A replayed event costs O(log values of the group), a statistic as much.
"""

from __future__ import annotations

from fractions import Fraction

import numba as nb
import numpy as np
from numpy.typing import NDArray

from muntin.kernels.lazy import inlined, kernel
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
    nb.void(I64, I64, I8, B1, I64, I64, I64, I64, I64, I64, I64, nb.float64, I64, MI64, MI64, MI64), cache=True
)
def _quantiles(  # type: ignore[no-untyped-def]
    ev_group, ev_place, ev_sign, valid, ev_end, em_end, em_group, begin, count, below, sizes, q, share, low, high, total
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
                if len(share) > 0:  # the first value with that share of the values up to it
                    lower = upper = max((share[0] * size[g] + share[1] - 1) // share[1] - 1, 0)
                else:
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
    share: Fraction | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """For each emission the places of the values around quantile ``q`` (both -1 over no values), and how many there
    are.

    ``events``: (group, place of the value or ``BELOW`` or ``ABOVE``, sign, valid or empty); ``schedule``: (ev_end,
    em_end, em_group); before the step, ``multiset``: (first place by group, with one entry more; count by place; by
    group how many values are below the first place, and how many there are). ``share``: ``q`` exactly, for the first
    value that has that share of the values up to it, in both places (None: the values around ``q``).
    """
    n = len(schedule[2])
    low, high, total = (np.empty(n, np.int64) for _ in range(3))
    exactly = np.array([] if share is None else [share.numerator, share.denominator], np.int64)
    _quantiles(*events, *schedule, *multiset, q, exactly, low, high, total)
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
                        for j in range(used):  # the checks of a slice have messages, which take seconds to compile
                            grown[j] = places[j]
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


NUMBER, RANK, DENSE = 1, 2, 4
"""What of a row's rank is shown, as bits."""
_WIDTH = 6
"""Numbers of an entry: instant, place, row number, rank, dense rank, how many rows (of a change: +1 or -1)."""


@inlined
def _with(entries, used, instant, place, number, rank, dense, rows):  # type: ignore[no-untyped-def]
    """The entries with one more behind those ``used``; the array grows by doubling."""
    at = used * _WIDTH
    if at + _WIDTH > len(entries):
        grown = np.empty(2 * len(entries), np.int64)
        for i in range(at):  # the checks of a slice have messages, which take seconds to compile
            grown[i] = entries[i]
        entries = grown
    entries[at] = instant
    entries[at + 1] = place
    entries[at + 2] = number
    entries[at + 3] = rank
    entries[at + 4] = dense
    entries[at + 5] = rows
    return entries


@kernel(nb.types.Tuple((MI64, nb.int64))(MI64, MI64, MI64, I64, I64, I64, nb.int64), cache=True)
def _leading(entries, tree, live, tie, group, wanted, instant):  # type: ignore[no-untyped-def]
    """The rows shown of a group now, in order, in ``entries`` or an array with more room, and how many. ``group``:
    first place, places, rows; ``wanted``: offset, count, whether ties of the last come too, what is shown."""
    offset, upto, ties, show = wanted[0], wanted[0] + wanted[1], wanted[2] != 0, wanted[3]
    used, seen, rank, dense, last = 0, 0, 0, 0, nb.int64(-1)
    while seen < group[2]:
        place = _find(tree, group[0], group[1], seen)
        if seen >= upto and not (ties and tie[place] == last):
            break
        if tie[place] != last:
            last, rank, dense = tie[place], seen + 1, dense + 1
        low = seen if seen > offset else offset
        seen += live[place]
        high = seen if ties or seen < upto else upto
        number, step = 0, high - low
        if show & NUMBER:  # one entry a row
            number, step = low + 1, 1
        while low < high:
            shown_rank, shown_dense = rank if show & RANK else 0, dense if show & DENSE else 0
            entries = _with(entries, used, instant, place, number, shown_rank, shown_dense, step)
            used += 1
            low += step
            number += 1
    return entries, used


@inlined
def _compared(old, a, new, b):  # type: ignore[no-untyped-def]
    """Which of two entries comes first: by place and what is shown of the rank."""
    d = old[a * _WIDTH + 1] - new[b * _WIDTH + 1]
    if d == 0:
        d = old[a * _WIDTH + 3] - new[b * _WIDTH + 3]
    if d == 0:
        d = old[a * _WIDTH + 4] - new[b * _WIDTH + 4]
    if d == 0:
        d = old[a * _WIDTH + 2] - new[b * _WIDTH + 2]
    return d


@kernel(MI64(I64, I64, I64, I64, I64, I64, I64, I64, MI64, MI64, MI64), cache=True)
def _first_places(ev_begin, ev_place, ev_sign, ev_instant, begin, count, tie, wanted, tree, live, group):  # type: ignore[no-untyped-def]
    changes = np.empty(256 * _WIDTH, np.int64)
    old = np.empty(16 * _WIDTH, np.int64)
    fresh = np.empty(16 * _WIDTH, np.int64)
    used = 0
    for g in range(len(begin) - 1):
        group[0], group[1], group[2] = begin[g], begin[g + 1] - begin[g], 0
        for p in range(begin[g], begin[g + 1]):
            if count[p] != 0:
                _add(tree, begin[g], group[1], p, count[p])
                group[2] += count[p]
        old, kinds = _leading(old, tree, live, tie, group, wanted, 0)
        i = ev_begin[g]
        while i < ev_begin[g + 1]:
            instant = ev_instant[i]
            while i < ev_begin[g + 1] and ev_instant[i] == instant:
                if ev_place[i] >= 0:
                    _add(tree, begin[g], group[1], ev_place[i], ev_sign[i])
                    live[ev_place[i]] += ev_sign[i]
                    group[2] += ev_sign[i]
                i += 1
            fresh, new_kinds = _leading(fresh, tree, live, tie, group, wanted, instant)
            a, b = 0, 0
            while a < kinds or b < new_kinds:
                c = 1 if a >= kinds else -1 if b >= new_kinds else _compared(old, a, fresh, b)
                at = (b if c > 0 else a) * _WIDTH
                entry = fresh if c > 0 else old
                d = 0
                if c <= 0:
                    d -= old[a * _WIDTH + 5]
                    a += 1
                if c >= 0:
                    d += fresh[b * _WIDTH + 5]
                    b += 1
                sign = 1 if d > 0 else -1
                while d != 0:
                    changes = _with(
                        changes, used, instant, entry[at + 1], entry[at + 2], entry[at + 3], entry[at + 4], sign
                    )
                    used += 1
                    d -= sign
            old, fresh = fresh, old
            kinds = new_kinds
    return changes[: used * _WIDTH]


def first_places(
    events: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    multiset: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    wanted: tuple[int, int, bool, int],
) -> NDArray[np.int64]:
    """Changes of the rows shown of each group, one row an entry, group by group in order of instants. Columns: instant
    number, place, row number, rank, dense rank (each 0 unless shown), +1 or -1.

    ``events``, in order of group and instant: first event by group (one entry more), then by event place (``ABOVE``:
    never among those shown), sign, instant number; ``multiset``: first place by group (one entry more), by place the
    rows before the step and the number of the class of equal keys (ascending); ``wanted``: offset, count, whether rows
    with the keys of the last come too, what of the rank is shown (``NUMBER``, ``RANK``, ``DENSE``). Cost: events
    x (offset + count) x logarithm.
    """
    tree, live, group = np.zeros(len(multiset[1]), np.int64), multiset[1].copy(), np.zeros(3, np.int64)
    found: NDArray[np.int64] = _first_places(*events, *multiset, np.array(wanted, np.int64), tree, live, group)
    return found.reshape(-1, _WIDTH)
