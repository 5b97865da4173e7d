"""Lazy evaluation of the thesis, 5.2.2: new tuples with the same join value probe once. Algorithm 4 (no-restore)
reports the combinations that are alive at a re-execution; Algorithm 5 (restore) those too that were alive in between,
with its tests corrected: all rows of a result must have been alive together, and expiry has no upper bound."""

from __future__ import annotations

import numba as nb
import numpy as np

from muntin.kernels.multiway import DONE, DUE, HELD, SCANNED, TIMES, expire_all, held_more, insert, search, unlink
from muntin.kernels.multiway_loops import advance, emit, enter, matches


@nb.njit(cache=True)
def _together(rows, state):  # type: ignore[no-untyped-def]
    """From when to when all rows but the outermost are alive."""
    since, until = rows.ts[state.held[1]], state.until[state.held[1]]
    for d in range(2, len(state.held)):
        since, until = max(since, rows.ts[state.held[d]]), min(until, state.until[state.held[d]])
    state.work[TIMES] += len(state.held) - 1
    return since, until


@nb.njit(cache=True)
def _leaf(rows, plan, state, o, group, restore, now):  # type: ignore[no-untyped-def]
    """The product of what is held with the group, after the final test of each with restore."""
    since, until = (0, 0)
    if restore:
        since, until = _together(rows, state)
        if since > until:
            return
    for g in group:
        state.held[0] = g
        if restore:
            state.work[TIMES] += 2
            if rows.ts[g] > until or since > state.until[g]:
                state.work[SCANNED] += 1
                continue
        emit(plan, state, o, 1, now)


@nb.njit(cache=True)
def _group_loops(rows, plan, state, o, group, restore, now):  # type: ignore[no-untyped-def]
    first = rows.ts[group].min()
    deepest, d = len(state.held) - 1, 1
    state.held[0] = group[0]
    enter(rows, plan, state, o, 1, -1)
    while d > 0:
        node = advance(rows, plan, state, o, d, -1, 0)
        if node < 0:
            d -= 1
            continue
        if restore:
            state.work[TIMES] += 1
            if state.until[node] < first:
                continue
        if not matches(rows, plan, state, o, d, node):
            continue
        state.held[d] = node
        if d == deepest:
            _leaf(rows, plan, state, o, group, restore, now)
            state.held[0] = group[0]
        else:
            d += 1
            enter(rows, plan, state, o, d, -1)


@nb.njit(cache=True)
def _take_batch(rows, plan, state, s, limit, restore, now):  # type: ignore[no-untyped-def]
    """Insert the new rows of a stream; those that have expired by now only to restore their results."""
    count, k = 0, state.news[s]
    while 0 <= k < limit:
        count += 1
        k = rows.follow[k]
    batch, used, k = np.empty(count, np.int64), 0, state.news[s]
    for _ in range(count):
        state.work[SCANNED] += 1
        if restore or state.until[k] >= now:
            insert(rows, plan, state, k)
            batch[used] = k
            used += 1
        else:
            state.work[HELD] -= 1
        k = rows.follow[k]
    state.news[s] = -1
    return batch[:used]


@nb.njit(cache=True)
def _execute(rows, plan, state, by, limit, delta, restore, now):  # type: ignore[no-untyped-def]
    for o in range(len(plan.place)):
        batch = _take_batch(rows, plan, state, o, limit, restore, now)
        values = rows.values[by[o]][batch]
        batch = batch[np.argsort(values, kind="mergesort")]
        begin = 0
        for end in range(1, len(batch) + 1):
            if end == len(batch) or rows.values[by[o], batch[end]] != rows.values[by[o], batch[begin]]:
                _group_loops(rows, plan, state, o, batch[begin:end], restore, now)
                begin = end
    expire_all(rows, plan, state, now if restore else now + delta)


@nb.njit(cache=True)
def _negative(rows, plan, state, match, restore, now):  # type: ignore[no-untyped-def]
    """Its row leaves at once, or with restore is given this instant as its last."""
    s = rows.stream[match]
    waits = 0 <= state.news[s] <= match
    c = -1 if waits else search(rows, plan, state, match)
    if restore:
        state.until[match] = min(state.until[match], now)
    elif waits:
        state.until[match] = -1
    elif c >= 0:
        unlink(state, c, match)


@nb.njit(cache=True)
def batched(rows, plan, state, by, stop, delta, restore, finish):  # type: ignore[no-untyped-def]
    """Process the rows up to number ``stop``, joined at the multiples of ``delta``.

    ``by``: int64[n], each stream's join attribute, the same for all predicates. A negative tuple takes back nothing
    that has been reported. Times are not negative. ``finish``: the last execution too.
    """
    for i in range(state.clock[DONE], stop):
        now = rows.ts[i]
        if now > state.clock[DUE]:
            due = -(-now // delta) * delta
            if state.clock[DUE] >= 0:
                _execute(rows, plan, state, by, i, delta, restore, state.clock[DUE])
                if due > state.clock[DUE] + delta:  # executions without new rows do nothing but expire
                    expire_all(rows, plan, state, due - delta if restore else due)
            state.clock[DUE] = due
        if rows.partner[i] >= 0:
            _negative(rows, plan, state, rows.partner[i], restore, now)
            continue
        held_more(state)
        if state.news[rows.stream[i]] < 0:
            state.news[rows.stream[i]] = i
    state.clock[DONE] = max(stop, state.clock[DONE])
    if finish:
        _execute(rows, plan, state, by, stop, delta, restore, state.clock[DUE])
