"""The nested loops of a multi-way join over chains: COMPUTEJOIN, COMPUTEHASHJOIN, COMPUTECOUNTJOIN and
GENERALCOMPUTEJOIN of Golab & Ozsu (2003), 3.2 to 3.6, with their slips corrected.

Time bounds are k.ts - T <= u.ts <= k.ts, written with u's last instant ts + T; rows with equal timestamps are ordered
by stream, so that a combination is found once; a new tuple in the middle is compared with every earlier component that
the join graph relates it to.
"""

from __future__ import annotations

import numba as nb

from muntin.research.kernels.multiway import (
    BUCKETS,
    CHAIN,
    COMPARISONS,
    CURSOR,
    FIRST,
    FOLLOW,
    FRESH,
    HEAD,
    LAST_CHAIN,
    LOOKED,
    LOOKUP,
    LOOKUP_VALUE,
    NEWS,
    NEXT,
    NUMBER,
    PARTS,
    PLACE,
    POSITION_STREAM,
    RESULTS,
    ROW,
    ROWS,
    SCANNED,
    SPENT,
    STREAM,
    TESTS,
    TIMES,
    TS,
    UNTIL,
    VALUE,
)

UNTIMED, UNEXPIRED, PRESENT = 0, 1, 2
"""What is compared of the times: nothing; that the older row has not expired; and that it arrived before."""


@nb.njit(cache=True)
def earlier(ts, stream, other_ts, other_stream):  # type: ignore[no-untyped-def]
    """Whether one row comes before another: by time, then by stream."""
    return ts < other_ts or (ts == other_ts and stream < other_stream)


@nb.njit(cache=True)
def enter(cells, wins, orders, chains, stack, o, d, only):  # type: ignore[no-untyped-def]
    """Start the loop at position d: one bucket if a value names it, else every chain; at the origin's position the
    one row ``only``, or the rows since the last re-execution if that is -1."""
    s, e = orders[o, d, POSITION_STREAM], orders[o, d, LOOKUP]
    stack[d, CHAIN], stack[d, LAST_CHAIN] = 0, 0
    new = d == wins[o, PLACE]
    if new and only >= 0:
        stack[d, CURSOR] = only
    elif new and d == 0:
        stack[d, CURSOR] = wins[s, NEWS]
    else:
        low, count = wins[s, FIRST], wins[s, BUCKETS] * wins[s, PARTS]
        if e >= 0:
            value = cells[stack[e, ROW], VALUE + orders[o, d, LOOKUP_VALUE]]
            low, count = low + (value % wins[s, BUCKETS]) * wins[s, PARTS], wins[s, PARTS]
        stack[d, CHAIN], stack[d, LAST_CHAIN], stack[d, CURSOR] = low - 1, low + count - 1, -1


@nb.njit(cache=True)
def scan(cells, wins, orders, chains, stack, work, upto, o, d, only, limit, timed):  # type: ignore[no-untyped-def]
    """The next row at position d that was in its window and satisfies all predicates with what is above it; -1 if there
    is none.

    Times: below the new tuple every row against it; at its position all that is above against it. ``limit``: rows of
    the input that have arrived. One function without calls, because every access goes through it.
    """
    p, k, found = wins[o, PLACE], stack[wins[o, PLACE], ROW], -1
    node, c, last = stack[d, CURSOR], stack[d, CHAIN], stack[d, LAST_CHAIN]
    low, high = (p, p + 1) if d > p else (0, d if d == p else 0)
    if timed == UNTIMED:
        high = low
    looked, times, compared = 0, 0, 0
    while found < 0:
        while node < 0 and c < last:
            c += 1
            node = cells[chains[c, FRESH], NEXT] if d == p and chains[c, FRESH] >= 0 else chains[c, HEAD]
        if node < 0:
            break
        looked += 1
        found, u = node, node
        for e in range(low, high):  # the older row u against the new one k
            if d == p:
                u, k = stack[e, ROW], found
            size, j = wins[cells[u, STREAM], ROWS], cells[u, STREAM]
            if size > 0 and timed == PRESENT:
                times += 1
                inside = 0 <= upto[j, k] - cells[u, NUMBER] < size
            elif size > 0:
                inside = True  # a count window that is overwritten at once holds nothing else
            else:
                times += 1
                inside = timed == UNEXPIRED or earlier(cells[u, TS], j, cells[k, TS], cells[k, STREAM])
                if inside and timed == PRESENT:
                    times += 1
                inside = inside and cells[k, TS] <= cells[u, UNTIL]
            if not inside:
                found = -1
                break
        t = TESTS
        while found >= 0 and t < orders.shape[2] and orders[o, d, t] >= 0:
            compared += 1
            other = node if orders[o, d, t + 1] == d else stack[orders[o, d, t + 1], ROW]
            if (
                abs(cells[node, VALUE + orders[o, d, t]] - cells[other, VALUE + orders[o, d, t + 2]])
                > orders[o, d, t + 3]
            ):
                found = -1
            t += 4
        if d == p and only >= 0:
            node = -1
        elif d == p and d == 0:
            node = cells[node, FOLLOW] if cells[node, FOLLOW] < limit else -1
        else:
            node = cells[node, NEXT]
    stack[d, CURSOR], stack[d, CHAIN] = node, c
    work[LOOKED if d > 0 else SCANNED] += looked
    work[TIMES] += times
    work[COMPARISONS] += compared
    return found


@nb.njit(cache=True)
def emit(orders, stack, work, sink, o, sign, now):  # type: ignore[no-untyped-def]
    """The rows at all positions are a result, noted if there is room."""
    n, width = work[RESULTS], len(stack)
    work[RESULTS] += 1
    if n < len(sink):
        for d in range(width):
            sink[n, orders[o, d, POSITION_STREAM]] = stack[d, ROW]
        sink[n, width], sink[n, width + 1] = sign, now


@nb.njit(cache=True)
def nested(  # type: ignore[no-untyped-def]
    cells, wins, orders, chains, stack, work, upto, sink, o, only, limit, timed, sign, now
):
    """All loops for new tuples of stream o, in its order, predicates and times as early as they can be tested."""
    deepest, d, before = len(stack) - 1, 0, work[LOOKED]
    enter(cells, wins, orders, chains, stack, o, d, only)
    while d >= 0:
        node = scan(cells, wins, orders, chains, stack, work, upto, o, d, only, limit, timed)
        if node < 0:
            d -= 1
            continue
        stack[d, ROW] = node
        if d == deepest:
            emit(orders, stack, work, sink, o, sign, now)
        else:
            d += 1
            enter(cells, wins, orders, chains, stack, o, d, only)
    wins[o, SPENT] += work[LOOKED] - before
