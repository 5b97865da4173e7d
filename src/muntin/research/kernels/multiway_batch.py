"""Lazy evaluation of the thesis, 5.2.2: new tuples with the same join value probe once. Algorithm 4 (no-restore)
reports the combinations that are alive at a re-execution; Algorithm 5 (restore) those too that were alive in between,
with its tests corrected: all rows of a result must have been alive together, and expiry has no upper bound."""

from __future__ import annotations

import numba as nb
import numpy as np

from muntin.research.kernels.multiway import (
    DONE,
    DUE,
    FOLLOW,
    HELD,
    LOOKED,
    NEWS,
    PARTNER,
    ROW,
    SCANNED,
    SPENT,
    STREAM,
    TIMES,
    TS,
    UNTIL,
    VALUE,
    expire_all,
    held_more,
    insert,
    search,
    unlink,
)
from muntin.research.kernels.multiway_loops import UNEXPIRED, UNTIMED, emit, enter, scan


@nb.njit(cache=True)
def _together(cells, stack, work):  # type: ignore[no-untyped-def]
    """From when to when all rows but the outermost are alive."""
    since, until = cells[stack[1, ROW], TS], cells[stack[1, ROW], UNTIL]
    for d in range(2, len(stack)):
        since, until = max(since, cells[stack[d, ROW], TS]), min(until, cells[stack[d, ROW], UNTIL])
    work[TIMES] += len(stack) - 1
    return since, until


@nb.njit(cache=True)
def _leaf(cells, orders, stack, work, sink, o, group, restore, now):  # type: ignore[no-untyped-def]
    """The product of what is held with the group, after the final test of each with restore."""
    since, until = (0, 0)
    if restore:
        since, until = _together(cells, stack, work)
        if since > until:
            return
    for g in group:
        stack[0, ROW] = g
        if restore:
            work[TIMES] += 2
            if cells[g, TS] > until or since > cells[g, UNTIL]:
                work[SCANNED] += 1
                continue
        emit(orders, stack, work, sink, o, nb.int64(1), now)
    stack[0, ROW] = group[0]


@nb.njit(cache=True)
def _nested(cells, wins, orders, chains, stack, work, upto, sink, o, group, restore, now):  # type: ignore[no-untyped-def]
    """All loops for a group of new tuples of stream o with the same value.

    With restore, rows that had expired before the earliest of the group, which is its first, are passed over.
    """
    timed, none = UNEXPIRED if restore else UNTIMED, nb.int64(-1)
    deepest, d, before = len(stack) - 1, 1, work[LOOKED]
    stack[0, ROW] = group[0]
    enter(cells, wins, orders, chains, stack, o, d, none)
    while d > 0:
        node = scan(cells, wins, orders, chains, stack, work, upto, o, d, none, none, timed)
        if node < 0:
            d -= 1
            continue
        stack[d, ROW] = node
        if d == deepest:
            _leaf(cells, orders, stack, work, sink, o, group, restore, now)
        else:
            d += 1
            enter(cells, wins, orders, chains, stack, o, d, none)
    wins[o, SPENT] += work[LOOKED] - before


@nb.njit(cache=True)
def _take_batch(cells, wins, chains, work, s, limit, restore, now):  # type: ignore[no-untyped-def]
    """Insert the new rows of a stream; those that have expired by now only to restore their results."""
    count, k = 0, wins[s, NEWS]
    while 0 <= k < limit:
        count += 1
        k = cells[k, FOLLOW]
    batch, used, k = np.empty(count, np.int64), 0, wins[s, NEWS]
    for _ in range(count):
        work[SCANNED] += 1
        if restore or cells[k, UNTIL] >= now:
            insert(cells, wins, chains, work, k)
            batch[used] = k
            used += 1
        else:
            work[HELD] -= 1
        k = cells[k, FOLLOW]
    wins[s, NEWS] = -1
    return batch[:used]


@nb.njit(cache=True)
def _execute(state, by, limit, delta, restore, now):  # type: ignore[no-untyped-def]
    cells, wins, orders, chains, stack, work, _, at, upto, sink = state
    for o in range(len(wins)):
        batch = _take_batch(cells, wins, chains, work, o, limit, restore, now)
        values = np.empty(len(batch), np.int64)
        for i in range(len(batch)):
            values[i] = cells[batch[i], VALUE + by[o]]
        by_value = np.argsort(values, kind="mergesort")
        batch, values = batch[by_value], values[by_value]
        begin = 0
        for end in range(1, len(batch) + 1):
            if end == len(batch) or values[end] != values[begin]:
                group = batch[begin:end]
                _nested(cells, wins, orders, chains, stack, work, upto, sink, o, group, restore, now)
                begin = end
    expire_all(cells, wins, chains, work, at, now if restore else now + delta)


@nb.njit(cache=True)
def _negative(cells, wins, chains, work, match, restore, now):  # type: ignore[no-untyped-def]
    """Its row leaves at once, or with restore is given this instant as its last."""
    waits = 0 <= wins[cells[match, STREAM], NEWS] <= match
    c = -1 if waits else search(cells, wins, chains, work, match)
    if restore:
        cells[match, UNTIL] = min(cells[match, UNTIL], now)
    elif waits:
        cells[match, UNTIL] = -1
    elif c >= 0:
        unlink(cells, chains, work, c, match)


@nb.njit(cache=True)
def batched(state, by, stop, delta, restore, finish):  # type: ignore[no-untyped-def]
    """Process the rows up to number ``stop``, joined at the multiples of ``delta``.

    ``by``: int64[n], each stream's join attribute, the same for all predicates. A negative tuple takes back nothing
    that has been reported. Times are not negative. ``finish``: the last execution too.
    """
    cells, wins, _, chains, _, work, clock, at, _, _ = state
    for i in range(clock[DONE], stop):
        now, s = cells[i, TS], cells[i, STREAM]
        if now > clock[DUE]:
            due = -(-now // delta) * delta
            if clock[DUE] >= 0:
                _execute(state, by, i, delta, restore, clock[DUE])
                if due > clock[DUE] + delta:  # executions without new rows do nothing but expire
                    expire_all(cells, wins, chains, work, at, due - delta if restore else due)
            clock[DUE] = due
        if cells[i, PARTNER] >= 0:
            _negative(cells, wins, chains, work, cells[i, PARTNER], restore, now)
            continue
        held_more(work)
        if wins[s, NEWS] < 0:
            wins[s, NEWS] = i
    clock[DONE] = max(stop, clock[DONE])
    if finish:
        _execute(state, by, stop, delta, restore, clock[DUE])
