"""State of multi-way window joins, tuple at a time and counted (Golab & Ozsu 2003, 6.1; thesis 5.2): per window, or per
hash bucket of it, a chain of rows.

A chain is a queue in order of arrival, a plain list, or one partition of a calendar queue, sorted by expiry. A row is
named by its number in the merged input; -1 is none. What walks over the chains is in ``multiway_loops``, the strategies
are in ``multiway_eager``, ``multiway_lazy`` and ``multiway_batch``. Their entry points take a whole ``State``; inner
functions take its arrays one by one, because a tuple of arrays is slow to hand from call to call.
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

TS, STREAM, NUMBER, PARTNER, FOLLOW, PREV, NEXT, UNTIL, VALUE = range(9)
"""Columns of ``cells``. ``NUMBER``: of the row in its stream, from 1. ``PARTNER``: of a negative tuple the row that it
undoes, else -1. ``FOLLOW``: the stream's next row, or N. ``PREV``, ``NEXT``: links. ``UNTIL``: the last instant at
which the row joins (ts + T; Algorithm 5 lets a negative tuple set it). Attribute a is in column VALUE + a."""

KIND, ROWS, HASHED, BUCKETS, PARTS, WIDTH, FIRST, START, PLACE = range(9)
NEWS, CAME, GONE, SWEPT, SPENT = range(9, 14)
"""Columns of ``wins``. What a window is: kind of chain, rows of a count window or 0, attribute of the hash index,
number of buckets, partitions of a bucket and their width in time, number of its first chain, where its rows begin in
``at``, position of its new rows in the order for them. What it is now: the first row since the last re-execution, or
-1; rows that have come, and have left a count window; up to when it has been expired; tuples that inner loops have
looked at for its new rows."""

POSITION_STREAM, LOOKUP, LOOKUP_VALUE, TESTS = 0, 1, 2, 3
"""Columns of ``orders`` at a position: its stream; position and attribute whose value names the bucket, or -1 to go
through all; then tests of four columns each: own attribute or -1, position compared with, its attribute, width. A test
holds if the two values differ by at most the width."""

HEAD, TAIL, FRESH = 0, 1, 2
"""Columns of ``chains``: its ends, and the last row before those since the last re-execution."""

CURSOR, CHAIN, LAST_CHAIN, ROW = 0, 1, 2, 3
"""Columns of ``stack``: next row and chains of a loop, and the row that it holds."""

COMPARISONS, LOOKED, SCANNED, TIMES, CHAINS, AGES, SEARCHED, DELETIONS, INSERTS, RESULTS, HELD, PEAK = range(12)
"""Places of the counters.

``COMPARISONS``: of join attributes. ``LOOKED``: tuples looked at in inner loops, ``SCANNED``: in the outermost one.
``TIMES``: comparisons of timestamps or of positions in a window. ``CHAINS``, ``AGES``: chains visited and tuples looked
at for expiry. ``SEARCHED``: tuples passed in search of the match of a negative tuple, or of a place in a partition.
``DELETIONS``, ``INSERTS``, ``RESULTS``. ``HELD``, ``PEAK``: rows held now, and at most."""

COUNTERS = 12

LAST, DUE, DONE = 0, 1, 2
"""Places of the clock: when all windows were last expired, the next re-execution, the rows processed."""


class State(NamedTuple):
    """A run: N rows in time order, n streams.

    cells: int64[N, VALUE + attributes]; wins: int64[n, 14]; orders: int64[n, n, TESTS + 4 tests], per origin and
    position from the outermost; chains: int64[chains, 3]; stack: int64[n, 4]; work: int64[COUNTERS]; clock: int64[3];
    at: int64[N], rows by stream; upto: int64[n, N or 1], for count windows the rows that had come before a row;
    sink: int64[room, n + 2], results: a row per stream, 1 or -1, when reported. Without room they are only counted.
    """

    cells: Ints
    wins: Ints
    orders: Ints
    chains: Ints
    stack: Ints
    work: Ints
    clock: Ints
    at: Ints
    upto: Ints
    sink: Ints


@nb.njit(cache=True)
def chain_of(cells, wins, i):  # type: ignore[no-untyped-def]
    """The chain that row i belongs in."""
    s = cells[i, STREAM]
    c = wins[s, FIRST] + (cells[i, VALUE + wins[s, HASHED]] % wins[s, BUCKETS]) * wins[s, PARTS]
    if wins[s, KIND] == CALENDAR:
        c += (cells[i, UNTIL] // wins[s, WIDTH]) % wins[s, PARTS]
    return c


@nb.njit(cache=True)
def held_more(work):  # type: ignore[no-untyped-def]
    """One more row is held."""
    work[HELD] += 1
    work[PEAK] = max(work[PEAK], work[HELD])


@nb.njit(cache=True)
def insert(cells, wins, chains, work, i):  # type: ignore[no-untyped-def]
    """Row i at the tail of its chain; into a calendar's partition where its expiry belongs, searched for from the
    tail."""
    c = chain_of(cells, wins, i)
    p, q = chains[c, TAIL], -1
    if wins[cells[i, STREAM], KIND] == CALENDAR:
        while p >= 0 and cells[p, UNTIL] > cells[i, UNTIL]:
            work[SEARCHED] += 1
            p, q = cells[p, PREV], p
    cells[i, PREV], cells[i, NEXT] = p, q
    if p < 0:
        chains[c, HEAD] = i
    else:
        cells[p, NEXT] = i
    if q < 0:
        chains[c, TAIL] = i
    else:
        cells[q, PREV] = i
    work[INSERTS] += 1


@nb.njit(cache=True)
def arrive(cells, wins, chains, work, i):  # type: ignore[no-untyped-def]
    """Row i enters its window."""
    insert(cells, wins, chains, work, i)
    wins[cells[i, STREAM], CAME] += 1
    held_more(work)


@nb.njit(cache=True)
def unlink(cells, chains, work, c, i):  # type: ignore[no-untyped-def]
    """Row i out of chain c."""
    p, q = cells[i, PREV], cells[i, NEXT]
    if p < 0:
        chains[c, HEAD] = q
    else:
        cells[p, NEXT] = q
    if q < 0:
        chains[c, TAIL] = p
    else:
        cells[q, PREV] = p
    work[DELETIONS] += 1
    work[HELD] -= 1


@nb.njit(cache=True)
def search(cells, wins, chains, work, i):  # type: ignore[no-untyped-def]
    """The chain in which row i is, looked for from its head; -1 if it is not there."""
    c = chain_of(cells, wins, i)
    node = chains[c, HEAD]
    while node >= 0:
        work[SEARCHED] += 1
        if node == i:
            return c
        node = cells[node, NEXT]
    return -1


@nb.njit(cache=True)
def _expire_chain(cells, wins, chains, work, s, c, before):  # type: ignore[no-untyped-def]
    work[CHAINS] += 1
    node = chains[c, HEAD]
    while node >= 0:
        work[AGES] += 1
        q = cells[node, NEXT]
        if cells[node, UNTIL] < before:
            unlink(cells, chains, work, c, node)
        elif wins[s, KIND] != LIST:
            break
        node = q


@nb.njit(cache=True)
def expire(cells, wins, chains, work, s, before):  # type: ignore[no-untyped-def]
    """Window s loses the rows whose last instant is before ``before`` (G 6.1: the head of every chain moves on).

    Every chain is visited; of a calendar queue the partitions that time has passed since the last expiry.
    """
    if wins[s, KIND] == NEVER:
        return
    low, high, parts = 0, wins[s, PARTS] - 1, wins[s, PARTS]
    if wins[s, KIND] == CALENDAR:
        high = (before - 1) // wins[s, WIDTH]
        low = max(wins[s, SWEPT] // wins[s, WIDTH], high - parts + 1)
    for bucket in range(wins[s, BUCKETS]):
        for part in range(low, high + 1):
            _expire_chain(cells, wins, chains, work, s, wins[s, FIRST] + bucket * parts + part % parts, before)
    wins[s, SWEPT] = before


@nb.njit(cache=True)
def overflow(cells, wins, chains, work, at, s):  # type: ignore[no-untyped-def]
    """Count window s keeps the last of the rows that have come. Those that leave are found by their number, as in a
    circular array, and each is the head of its chain."""
    while wins[s, CAME] - wins[s, GONE] > wins[s, ROWS]:
        i = at[wins[s, START] + wins[s, GONE]]
        unlink(cells, chains, work, chain_of(cells, wins, i), i)
        wins[s, GONE] += 1


@nb.njit(cache=True)
def expire_all(cells, wins, chains, work, at, before):  # type: ignore[no-untyped-def]
    """Every window loses the rows whose last instant is before ``before``, or those that its size has no room for."""
    for s in range(len(wins)):
        if wins[s, ROWS] > 0:
            overflow(cells, wins, chains, work, at, s)
        else:
            expire(cells, wins, chains, work, s, before)
