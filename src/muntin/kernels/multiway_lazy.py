"""Lazy evaluation of Golab & Ozsu (2003): LAZY and GENERAL LAZY MULTI-WAY joins (3.3), with hash buckets (3.4) and
count windows (3.6). NAIVE lazy (3.1) is GENERAL with the same order for every origin."""

from __future__ import annotations

import numba as nb

from muntin.kernels.multiway import DONE, DUE, LAST, TIMES, arrive, expire_all
from muntin.kernels.multiway_loops import PRESENT, UNTIMED, earlier, loops


@nb.njit(cache=True)
def _count_before(rows, state, j, k):  # type: ignore[no-untyped-def]
    """Rows of stream j that arrived before row k, by binary search among those that are there."""
    low, high = 0, state.came[j]
    while low < high:
        middle = (low + high) // 2
        state.work[TIMES] += 1
        if earlier(rows, rows.at[rows.start[j] + middle], k):
            low = middle + 1
        else:
            high = middle
    return low


@nb.njit(cache=True)
def _place_in_counts(rows, plan, state, limit):  # type: ignore[no-untyped-def]
    """For each new row, where the other count windows ended when it arrived (COMPUTECOUNTJOIN's ``tmp``)."""
    for s in range(len(plan.place)):
        k = state.news[s]
        while 0 <= k < limit:
            for j in range(len(plan.place)):
                if j != s and plan.rows[j] > 0:
                    state.upto[j, k] = _count_before(rows, state, j, k)
            k = rows.follow[k]


@nb.njit(cache=True)
def _execute(rows, plan, state, limit, every, timed, now):  # type: ignore[no-untyped-def]
    if plan.rows.any():
        _place_in_counts(rows, plan, state, limit)
    for o in range(len(plan.place)):
        if state.news[o] >= 0:
            loops(rows, plan, state, o, -1, limit, timed, 1, now)
            state.news[o] = -1
    if now // every != state.clock[LAST]:
        expire_all(rows, plan, state, now)
        state.clock[LAST] = now // every
    state.fresh[:] = state.tail


@nb.njit(cache=True)
def lazy(rows, plan, state, stop, tau, every, careless, finish):  # type: ignore[no-untyped-def]
    """Process the rows up to number ``stop``: insert on arrival, join at the multiples of ``tau``, each time the rows
    of (NOW - tau, NOW]; after it, expire at the multiples of ``every``, which ``tau`` divides.

    Times are not negative. ``careless``: compare no times, which is wrong (Table 3). ``finish``: the last execution
    too. A calendar queue keeps new rows apart only where they are outermost in the order.
    """
    timed = UNTIMED if careless else PRESENT
    for i in range(state.clock[DONE], stop):
        now = rows.ts[i]
        if now > state.clock[DUE]:
            if state.clock[DUE] >= 0:
                _execute(rows, plan, state, i, every, timed, state.clock[DUE])
            state.clock[DUE] = -(-now // tau) * tau
        arrive(rows, plan, state, i)
        if state.news[rows.stream[i]] < 0:
            state.news[rows.stream[i]] = i
    state.clock[DONE] = max(stop, state.clock[DONE])
    if finish:
        _execute(rows, plan, state, stop, every, timed, state.clock[DUE])
