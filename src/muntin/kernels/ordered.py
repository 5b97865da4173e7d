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


@kernel(nb.int64(MI64, MI64, MI64, I64, I64, I64), cache=True)
def _leading(entries, tree, live, tie, group, wanted):  # type: ignore[no-untyped-def]
    """The rows shown of a group now, in order, into ``entries``; how many entries. ``group``: first place, places,
    rows; ``wanted``: offset, count, whether ties of the last come too, what is shown."""
    offset, upto, ties, show = wanted[0], wanted[0] + wanted[1], wanted[2] != 0, wanted[3]
    at, seen, rank, dense, last = 0, 0, 0, 0, nb.int64(-1)
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
            entries[at + 1] = place
            entries[at + 2] = number
            entries[at + 3] = rank if show & RANK else 0
            entries[at + 4] = dense if show & DENSE else 0
            entries[at + 5] = step
            at += _WIDTH
            low += step
            number += 1
    return at // _WIDTH


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


@kernel(nb.int64(MI64, nb.int64, MI64, nb.int64, nb.int64, MI64, nb.int64), cache=True)
def _differences(old, kinds, fresh, new_kinds, instant, changes, used):  # type: ignore[no-untyped-def]
    """What is shown no more (-1) and what is shown newly (+1), entry by entry, behind the ``used`` first ones of
    ``changes``; how many there are then."""
    a, b = 0, 0
    while a < kinds or b < new_kinds:
        c = 1 if a >= kinds else -1 if b >= new_kinds else _compared(old, a, fresh, b)
        d = 0
        place, number, rank, dense = 0, 0, 0, 0
        if c <= 0:
            at = a * _WIDTH
            place, number, rank, dense = old[at + 1], old[at + 2], old[at + 3], old[at + 4]
            d -= old[at + 5]
            a += 1
        if c >= 0:
            at = b * _WIDTH
            place, number, rank, dense = fresh[at + 1], fresh[at + 2], fresh[at + 3], fresh[at + 4]
            d += fresh[at + 5]
            b += 1
        sign = 1 if d > 0 else -1
        while d != 0:
            at = used * _WIDTH
            changes[at], changes[at + 1], changes[at + 2] = instant, place, number
            changes[at + 3], changes[at + 4], changes[at + 5] = rank, dense, sign
            used += 1
            d -= sign
    return used


@kernel(nb.void(I64, I64, I64, I64, I64, I64, I64, I64, MI64, MI64, MI64, MI64, MI64, MI64, MI64), cache=True)
def _first_places(  # type: ignore[no-untyped-def]
    ev_begin, ev_place, ev_sign, ev_instant, begin, count, tie, wanted, tree, live, group, old, fresh, changes, stand
):
    """As ``first_places``, until the groups or the room of ``changes`` have come to an end; ``stand`` says where it
    stands and is where the next call goes on: group, event, entries of ``old`` and ``fresh``, changes so far, and what
    comes next (0: a group, 1: an instant, 2: what an instant changed)."""
    g, i, kinds, new_kinds, used, phase = stand[0], stand[1], stand[2], stand[3], stand[4], stand[5]
    full = False
    while g < len(begin) - 1 and not full:
        if phase == 0:
            group[0], group[1], group[2] = begin[g], begin[g + 1] - begin[g], 0
            for p in range(begin[g], begin[g + 1]):
                if count[p] != 0:
                    _add(tree, begin[g], group[1], p, count[p])
                    group[2] += count[p]
            kinds = _leading(old, tree, live, tie, group, wanted)
            i = ev_begin[g]
            phase = 1
        if phase == 1:
            if i == ev_begin[g + 1]:
                g += 1
                phase = 0
                continue
            instant = ev_instant[i]
            while i < ev_begin[g + 1] and ev_instant[i] == instant:
                if ev_place[i] >= 0:
                    _add(tree, begin[g], group[1], ev_place[i], ev_sign[i])
                    live[ev_place[i]] += ev_sign[i]
                    group[2] += ev_sign[i]
                i += 1
            new_kinds = _leading(fresh, tree, live, tie, group, wanted)
            phase = 2
        need = 0
        for a in range(kinds):
            need += old[a * _WIDTH + 5]
        for a in range(new_kinds):
            need += fresh[a * _WIDTH + 5]
        full = (used + need) * _WIDTH > len(changes)
        if full:
            continue
        used = _differences(old, kinds, fresh, new_kinds, ev_instant[i - 1], changes, used)
        for a in range(new_kinds * _WIDTH):
            old[a] = fresh[a]
        kinds = new_kinds
        phase = 1
    stand[0], stand[1], stand[2], stand[3], stand[4], stand[5] = g, i, kinds, new_kinds, used, phase


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
    begin, count, _ = multiset
    most = _most_entries(events, begin, count, wanted)
    work = (np.zeros(len(count), np.int64), count.copy(), np.zeros(3, np.int64))
    shown = tuple(np.empty(most * _WIDTH, np.int64) for _ in range(2))
    stand, changes = np.zeros(6, np.int64), np.empty(0, np.int64)
    while stand[0] < len(begin) - 1:
        wider = np.empty(max(256 * _WIDTH, 2 * len(changes)), np.int64)
        wider[: len(changes)] = changes
        changes = wider
        _first_places(*events, *multiset, np.array(wanted, np.int64), *work, *shown, changes, stand)
    return changes[: stand[4] * _WIDTH].reshape(-1, _WIDTH)


def _most_entries(
    events: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    begin: NDArray[np.int64],
    count: NDArray[np.int64],
    wanted: tuple[int, int, bool, int],
) -> int:
    """How many entries the rows shown of a group can be: one a place, or one a row where they are numbered."""
    _, upto, ties, show = wanted
    sizes = np.diff(begin)
    if show & NUMBER:
        ev_begin, _, sign, _ = events
        sizes = _sums(count, begin) + _sums(np.maximum(sign, 0), ev_begin)
    most = int(sizes.max(initial=0))
    return most if ties else min(most, upto)


def _sums(values: NDArray[np.int64], begin: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sum of each run, where they begin (one entry more)."""
    return np.diff(np.append(0, np.cumsum(values))[begin])
