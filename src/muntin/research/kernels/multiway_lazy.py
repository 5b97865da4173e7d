"""Lazy evaluation of Golab & Ozsu (2003): LAZY and GENERAL LAZY MULTI-WAY joins (3.3), with hash buckets (3.4) and
count windows (3.6). NAIVE lazy (3.1) is GENERAL with the same order for every origin."""

from __future__ import annotations

import numba as nb

from muntin.research.kernels.multiway import (
    CAME,
    DONE,
    DUE,
    FOLLOW,
    FRESH,
    LAST,
    NEWS,
    ROWS,
    START,
    STREAM,
    TAIL,
    TIMES,
    TS,
    arrive,
    expire_all,
)
from muntin.research.kernels.multiway_loops import PRESENT, UNTIMED, earlier, nested


@nb.njit(cache=True)
def _count_before(cells, wins, work, at, j, k):  # type: ignore[no-untyped-def]
    """Rows of stream j that came before row k, by binary search among those that are there."""
    low, high = 0, wins[j, CAME]
    while low < high:
        middle = (low + high) // 2
        work[TIMES] += 1
        u = at[wins[j, START] + middle]
        if earlier(cells[u, TS], j, cells[k, TS], cells[k, STREAM]):
            low = middle + 1
        else:
            high = middle
    return low


@nb.njit(cache=True)
def _place_in_counts(cells, wins, work, at, upto, limit):  # type: ignore[no-untyped-def]
    """For each new row, where the other count windows ended when it arrived (COMPUTECOUNTJOIN's ``tmp``)."""
    for s in range(len(wins)):
        k = wins[s, NEWS]
        while 0 <= k < limit:
            for j in range(len(wins)):
                if j != s and wins[j, ROWS] > 0:
                    upto[j, k] = _count_before(cells, wins, work, at, j, k)
            k = cells[k, FOLLOW]


@nb.njit(cache=True)
def _execute(state, limit, every, timed, now):  # type: ignore[no-untyped-def]
    cells, wins, orders, chains, stack, work, clock, at, upto, sink = state
    none, plus = nb.int64(-1), nb.int64(1)  # not literals, for which another version would be compiled
    if wins[:, ROWS].any():
        _place_in_counts(cells, wins, work, at, upto, limit)
    for o in range(len(wins)):  # as printed and as the cost model has it, also where there is no new tuple
        nested(cells, wins, orders, chains, stack, work, upto, sink, o, none, limit, timed, plus, now)
        wins[o, NEWS] = -1
    if now // every != clock[LAST]:
        expire_all(cells, wins, chains, work, at, now)
        clock[LAST] = now // every
    for c in range(len(chains)):
        chains[c, FRESH] = chains[c, TAIL]


@nb.njit(cache=True)
def lazy(state, stop, tau, every, careless, finish):  # type: ignore[no-untyped-def]
    """Process the rows up to number ``stop``: insert on arrival, join at the multiples of ``tau``, each time the rows
    of (NOW - tau, NOW]; after it, expire at the multiples of ``every``, which ``tau`` divides.

    Times are not negative. ``careless``: compare no times, which is wrong (Table 3). ``finish``: the last execution
    too. A calendar queue keeps new rows apart only where they are outermost in the order.
    """
    cells, wins, _, chains, _, work, clock, _, _, _ = state
    timed = UNTIMED if careless else PRESENT
    for i in range(clock[DONE], stop):
        now, s = cells[i, TS], cells[i, STREAM]
        if now > clock[DUE]:
            if clock[DUE] >= 0:
                _execute(state, i, every, timed, clock[DUE])
            clock[DUE] = -(-now // tau) * tau
        arrive(cells, wins, chains, work, i)
        if wins[s, NEWS] < 0:
            wins[s, NEWS] = i
    clock[DONE] = max(stop, clock[DONE])
    if finish:
        _execute(state, stop, every, timed, clock[DUE])
