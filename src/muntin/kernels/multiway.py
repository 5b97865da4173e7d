"""State of multi-way window joins, tuple at a time and counted (Golab & Ozsu 2003, 6.1; thesis 5.2): per window, or per
hash bucket of it, a chain of rows.

A chain is a queue in order of arrival, a plain list, or one partition of a calendar queue, sorted by expiry. A row is
named by its number in the merged input; -1 is none. What walks over the chains is in ``multiway_loops``, the strategies
are in ``multiway_eager``, ``multiway_lazy`` and ``multiway_batch``.
"""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

FIFO, LIST, CALENDAR, NEVER = 0, 1, 2, 3
"""How the rows of a window expire: in order of arrival (WKS); in any order, by looking through chains (WK, and STR with
an expiry that is set later) or from partitions sorted by expiry (WK); by negative tuples or by count alone."""

COMPARISONS, LOOKED, SCANNED, TIMES, CHAINS, AGES, SEARCHED, DELETIONS, INSERTS, RESULTS, HELD, PEAK = range(12)
"""Places of the counters.

``COMPARISONS``: of join attributes. ``LOOKED``: tuples looked at in inner loops, ``SCANNED``: in the outermost one.
``TIMES``: comparisons of timestamps or of positions in a window. ``CHAINS``, ``AGES``: chains visited and tuples looked
at for expiry. ``SEARCHED``: tuples passed in search of the match of a negative tuple, or of a place in a partition.
``DELETIONS``, ``INSERTS``, ``RESULTS``. ``HELD``, ``PEAK``: rows held now, and at most."""

COUNTERS = 12

LAST, DUE, DONE = 0, 1, 2
"""Places of the clock: when all windows were last expired, the next re-execution, the rows processed."""


class Rows(NamedTuple):
    """The merged input, in time order; N rows, ``a`` attributes.

    ts: int64[N]; stream: int64[N]; partner: int64[N], of a negative tuple the row that it undoes, else -1;
    number: int64[N], the row's number in its stream from 1; values: int64[a, N]; follow: int64[N], the stream's next
    row or N; at: int64[N], rows by stream; start: int64[n + 1], where each stream begins in ``at``.
    """

    ts: Ints
    stream: Ints
    partner: Ints
    number: Ints
    values: Ints
    follow: Ints
    at: Ints
    start: Ints


class Plan(NamedTuple):
    """Windows, join orders and what is compared where; n streams, K tests at most at a position.

    order: int64[n, n], per origin the streams from the outermost loop inwards; place: int64[n], the origin's own
    position; tests: int64[n, n, K, 4], (own attribute or -1, position compared with, its attribute, width): a test
    holds if the two differ by at most ``width``; lookup: int64[n, n, 2], position and attribute whose value names the
    bucket, or -1 to go through all; kind, hashed, buckets, parts, width, rows: int64[n]: kind of chain, attribute in
    the hash index, number of buckets, partitions of a bucket and their width in time, rows of a count window or 0;
    first: int64[n + 1], number of each window's first chain.
    """

    order: Ints
    place: Ints
    tests: Ints
    lookup: Ints
    kind: Ints
    hashed: Ints
    buckets: Ints
    parts: Ints
    width: Ints
    rows: Ints
    first: Ints


class State(NamedTuple):
    """What a run keeps.

    nxt, prv: int64[N], links; until: int64[N], expiry of each row, the last instant at which it joins (ts + T;
    Algorithm 5 lets a negative tuple set it); head, tail, fresh: int64[chains], ends, and the last row before those
    since the last re-execution; news: int64[n], first of them per stream, or -1; came, gone: int64[n], rows that have
    arrived and, in a count window, have left; swept: int64[n], up to when a window has been expired; upto:
    int64[n, N or 1], for count windows the rows that had arrived before a row; cursor, chain, last, held: int64[n], of
    the loops; sink: int64[room, n + 2], results: a row per stream, 1 or -1, when; work:
    int64[COUNTERS]; clock: int64[3].
    """

    nxt: Ints
    prv: Ints
    until: Ints
    head: Ints
    tail: Ints
    fresh: Ints
    news: Ints
    came: Ints
    gone: Ints
    swept: Ints
    upto: Ints
    cursor: Ints
    chain: Ints
    last: Ints
    held: Ints
    sink: Ints
    work: Ints
    clock: Ints


def new_state(rows: Rows, plan: Plan, exp: Ints, room: int = 0) -> State:
    """An empty state. ``exp``: int64[N], the last instant at which each row joins. ``room``: results to keep; with 0
    they are only counted."""
    size, n, chains = len(rows.ts), len(plan.place), int(plan.first[-1])

    def none(count: int) -> Ints:
        return np.full(count, -1, np.int64)

    return State(
        nxt=none(size),
        prv=none(size),
        until=exp.astype(np.int64).copy(),
        head=none(chains),
        tail=none(chains),
        fresh=none(chains),
        news=none(n),
        came=np.zeros(n, np.int64),
        gone=np.zeros(n, np.int64),
        swept=none(n),
        upto=np.zeros((n, size if plan.rows.any() else 1), np.int64),
        cursor=none(n),
        chain=none(n),
        last=none(n),
        held=none(n),
        sink=np.zeros((room, n + 2), np.int64),
        work=np.zeros(COUNTERS, np.int64),
        clock=np.array([-1, -1, 0], np.int64),
    )


@nb.njit(cache=True)
def chain_of(rows, plan, state, i):  # type: ignore[no-untyped-def]
    """The chain that row i belongs in."""
    s = rows.stream[i]
    bucket = rows.values[plan.hashed[s], i] % plan.buckets[s]
    part = (state.until[i] // plan.width[s]) % plan.parts[s] if plan.kind[s] == CALENDAR else 0
    return plan.first[s] + bucket * plan.parts[s] + part


@nb.njit(cache=True)
def held_more(state):  # type: ignore[no-untyped-def]
    """One more row is held."""
    state.work[HELD] += 1
    state.work[PEAK] = max(state.work[PEAK], state.work[HELD])


@nb.njit(cache=True)
def insert(rows, plan, state, i):  # type: ignore[no-untyped-def]
    """Row i at the tail of its chain; into a calendar's partition where its expiry belongs, searched for from the
    tail."""
    c = chain_of(rows, plan, state, i)
    p, q = state.tail[c], -1
    if plan.kind[rows.stream[i]] == CALENDAR:
        while p >= 0 and state.until[p] > state.until[i]:
            state.work[SEARCHED] += 1
            p, q = state.prv[p], p
    state.prv[i], state.nxt[i] = p, q
    if p < 0:
        state.head[c] = i
    else:
        state.nxt[p] = i
    if q < 0:
        state.tail[c] = i
    else:
        state.prv[q] = i
    state.work[INSERTS] += 1


@nb.njit(cache=True)
def unlink(state, c, i):  # type: ignore[no-untyped-def]
    """Row i out of chain c."""
    p, q = state.prv[i], state.nxt[i]
    if p < 0:
        state.head[c] = q
    else:
        state.nxt[p] = q
    if q < 0:
        state.tail[c] = p
    else:
        state.prv[q] = p
    state.work[DELETIONS] += 1
    state.work[HELD] -= 1


@nb.njit(cache=True)
def search(rows, plan, state, i):  # type: ignore[no-untyped-def]
    """The chain in which row i is, looked for from the head of its bucket; -1 if it is not there."""
    c = chain_of(rows, plan, state, i)
    node = state.head[c]
    while node >= 0:
        state.work[SEARCHED] += 1
        if node == i:
            return c
        node = state.nxt[node]
    return -1


@nb.njit(cache=True)
def _expire_chain(plan, state, s, c, before):  # type: ignore[no-untyped-def]
    state.work[CHAINS] += 1
    node = state.head[c]
    while node >= 0:
        state.work[AGES] += 1
        q = state.nxt[node]
        if state.until[node] < before:
            unlink(state, c, node)
        elif plan.kind[s] != LIST:
            break
        node = q


@nb.njit(cache=True)
def expire(rows, plan, state, s, before):  # type: ignore[no-untyped-def]
    """Window s loses the rows whose last instant is before ``before`` (G 6.1: the head of every chain moves on).

    Every chain is visited; of a calendar queue the partitions that time has passed since the last expiry.
    """
    if plan.kind[s] == NEVER:
        return
    low, high = 0, plan.parts[s] - 1
    if plan.kind[s] == CALENDAR:
        high = (before - 1) // plan.width[s]
        low = max(state.swept[s] // plan.width[s], high - plan.parts[s] + 1)
    for bucket in range(plan.buckets[s]):
        for part in range(low, high + 1):
            _expire_chain(plan, state, s, plan.first[s] + bucket * plan.parts[s] + part % plan.parts[s], before)
    state.swept[s] = before


@nb.njit(cache=True)
def overflow(rows, plan, state, s):  # type: ignore[no-untyped-def]
    """Count window s keeps the last of the rows that have come. Those that leave are found by their number, as in a
    circular array, and each is the head of its chain."""
    while state.came[s] - state.gone[s] > plan.rows[s]:
        i = rows.at[rows.start[s] + state.gone[s]]
        unlink(state, chain_of(rows, plan, state, i), i)
        state.gone[s] += 1


@nb.njit(cache=True)
def expire_all(rows, plan, state, before):  # type: ignore[no-untyped-def]
    """Every window loses the rows whose last instant is before ``before``, or those that its size leaves no room
    for."""
    for s in range(len(plan.place)):
        if plan.rows[s] > 0:
            overflow(rows, plan, state, s)
        else:
            expire(rows, plan, state, s, before)


@nb.njit(cache=True)
def arrive(rows, plan, state, i):  # type: ignore[no-untyped-def]
    """Row i enters its window."""
    insert(rows, plan, state, i)
    state.came[rows.stream[i]] += 1
    held_more(state)
