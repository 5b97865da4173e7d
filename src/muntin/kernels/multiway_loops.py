"""The nested loops of a multi-way join over chains: COMPUTEJOIN, COMPUTEHASHJOIN, COMPUTECOUNTJOIN and
GENERALCOMPUTEJOIN of Golab & Ozsu (2003), 3.2 to 3.6, with their slips corrected.

Time bounds are k.ts - T <= u.ts <= k.ts, written with u's last instant ts + T; rows with equal timestamps are ordered
by stream, so that a combination is found once; a new tuple in the middle is compared with every earlier component that
the join graph relates it to.
"""

from __future__ import annotations

import numba as nb

from muntin.kernels.multiway import COMPARISONS, LOOKED, RESULTS, SCANNED, TIMES

UNTIMED, UNEXPIRED, PRESENT = 0, 1, 2
"""What is compared of the times: nothing; that the older row has not expired; and that it arrived before."""


@nb.njit(cache=True)
def earlier(rows, u, k):  # type: ignore[no-untyped-def]
    """Whether row u comes before row k: by time, then by stream."""
    return rows.ts[u] < rows.ts[k] or (rows.ts[u] == rows.ts[k] and rows.stream[u] < rows.stream[k])


@nb.njit(cache=True)
def _in_window(rows, plan, state, timed, u, k):  # type: ignore[no-untyped-def]
    """Whether u was in its window when k arrived."""
    j = rows.stream[u]
    if plan.rows[j] > 0:
        if timed == UNEXPIRED:  # a count window that is overwritten at once holds nothing else
            return True
        upto = state.upto[j, k]
        state.work[TIMES] += 1
        if rows.number[u] > upto:
            return False
        state.work[TIMES] += 1
        return rows.number[u] > upto - plan.rows[j]
    if timed == PRESENT:
        state.work[TIMES] += 1
        if not earlier(rows, u, k):
            return False
    state.work[TIMES] += 1
    return rows.ts[k] <= state.until[u]


@nb.njit(cache=True)
def _admitted(rows, plan, state, timed, d, p, node):  # type: ignore[no-untyped-def]
    """Times at position d: below the new tuple against it; at its position, all that is above against it."""
    if d > p:
        return _in_window(rows, plan, state, timed, node, state.held[p])
    if d == p:
        for e in range(d):
            if not _in_window(rows, plan, state, timed, state.held[e], node):
                return False
    return True


@nb.njit(cache=True)
def matches(rows, plan, state, o, d, node):  # type: ignore[no-untyped-def]
    """Whether ``node`` at position d satisfies every predicate with what is above it."""
    for t in range(plan.tests.shape[2]):
        own = plan.tests[o, d, t, 0]
        if own < 0:
            break
        state.work[COMPARISONS] += 1
        e = plan.tests[o, d, t, 1]
        other = rows.values[plan.tests[o, d, t, 2], node if e == d else state.held[e]]
        if abs(rows.values[own, node] - other) > plan.tests[o, d, t, 3]:
            return False
    return True


@nb.njit(cache=True)
def _begin(state, c, new):  # type: ignore[no-untyped-def]
    if new and state.fresh[c] >= 0:
        return state.nxt[state.fresh[c]]
    return state.head[c]


@nb.njit(cache=True)
def enter(rows, plan, state, o, d, only):  # type: ignore[no-untyped-def]
    """Start the loop at position d: one bucket if a value names it, else every chain; at the origin's position the
    one row ``only``, or the rows since the last re-execution if that is -1."""
    s = plan.order[o, d]
    state.chain[d], state.last[d] = 0, 0
    new = d == plan.place[o]
    if new and only >= 0:
        state.cursor[d] = only
    elif new and d == 0:
        state.cursor[d] = state.news[s]
    else:
        low, high = plan.first[s], plan.first[s + 1] - 1
        if plan.lookup[o, d, 0] >= 0:
            value = rows.values[plan.lookup[o, d, 1], state.held[plan.lookup[o, d, 0]]]
            low += (value % plan.buckets[s]) * plan.parts[s]
            high = low + plan.parts[s] - 1
        state.chain[d], state.last[d] = low, high
        state.cursor[d] = _begin(state, low, new)


@nb.njit(cache=True)
def advance(rows, plan, state, o, d, only, limit):  # type: ignore[no-untyped-def]
    """The next row at position d, or -1 at the end of the loop. ``limit``: rows of the input that have arrived."""
    new = d == plan.place[o]
    while state.cursor[d] < 0 and state.chain[d] < state.last[d]:
        state.chain[d] += 1
        state.cursor[d] = _begin(state, state.chain[d], new)
    node = state.cursor[d]
    if node < 0:
        return -1
    state.work[LOOKED if d > 0 else SCANNED] += 1
    if new and only >= 0:
        state.cursor[d] = -1
    elif new and d == 0:
        state.cursor[d] = rows.follow[node] if rows.follow[node] < limit else -1
    else:
        state.cursor[d] = state.nxt[node]
    return node


@nb.njit(cache=True)
def emit(plan, state, o, sign, now):  # type: ignore[no-untyped-def]
    """The rows at all positions are a result, noted if there is room."""
    n = state.work[RESULTS]
    state.work[RESULTS] += 1
    if n < len(state.sink):
        width = len(state.held)
        for d in range(width):
            state.sink[n, plan.order[o, d]] = state.held[d]
        state.sink[n, width], state.sink[n, width + 1] = sign, now


@nb.njit(cache=True)
def loops(rows, plan, state, o, only, limit, timed, sign, now):  # type: ignore[no-untyped-def]
    """All loops for new tuples of stream o, in its order, predicates and times as early as they can be tested."""
    p, deepest, d = plan.place[o], len(state.held) - 1, 0
    enter(rows, plan, state, o, 0, only)
    while d >= 0:
        node = advance(rows, plan, state, o, d, only, limit)
        if node < 0:
            d -= 1
            continue
        if timed != UNTIMED and not _admitted(rows, plan, state, timed, d, p, node):
            continue
        if not matches(rows, plan, state, o, d, node):
            continue
        state.held[d] = node
        if d == deepest:
            emit(plan, state, o, sign, now)
        else:
            d += 1
            enter(rows, plan, state, o, d, only)
