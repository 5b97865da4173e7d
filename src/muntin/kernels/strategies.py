"""Per-tuple state structures of thesis 3.5.2 that count every tuple access, for comparing execution strategies.

A store is a pool of nodes in doubly linked chains: one chain (a list in arrival order), one per partition of expiry
times (a calendar queue, each partition sorted by expiry), or one per hash value of a key (newest first, as in any
chained table). The queries over them are in ``strategies_join``, ``strategies_distinct`` and ``strategies_negation``.
"""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

LIST, CALENDAR, LOCATED, HASH, GROUP = 0, 1, 2, 3, 4
"""Kinds of store. LOCATED: a calendar queue in which a negative tuple names its partition by the expiry it carries;
GROUP: an array of chains, one per key 0, 1, ..."""

INSERTS, PROBES, EXPIRIES, VISITS, NEGATIVES, PREMATURE, RESULTS, STORED, STEPS, PEAK = range(10)
"""Places of the counters: inserts; comparisons in probes and searches; tuples looked at for expiry; partitions and
queue ends visited; negative tuples processed (these five are work); then results that left early, results produced,
the sum over instants of stored tuples, the number of those instants, and the largest number of results held."""

KEY, EXP, ID, ID2, NEXT, PREV = range(6)
FREE, SIZE, USED, KIND, PARTS, WIDTH, DONE, BAG = range(8)
COUNT, SUM = 0, 1


class Store(NamedTuple):
    """``cell``: nodes (key, exp, two ids, links); ``head``, ``tail``: of each chain; ``meta``: sizes and parameters."""

    cell: Ints
    head: Ints
    tail: Ints
    meta: Ints


def new_store(kind: int, parts: int, room: int, span: int = 1, bag: bool = False) -> Store:
    """An empty store for ``room`` nodes. ``span``: the longest time to expiry, cut into ``parts`` by a calendar queue.

    ``bag``: as a view, compare its rows by the value in ID2 and not by identity.
    """
    chains = 1 if kind == LIST else parts
    meta = np.zeros(8, np.int64)
    meta[FREE] = -1
    meta[KIND], meta[PARTS], meta[WIDTH], meta[DONE] = kind, chains, max(1, -(-span // chains)), -1
    meta[BAG] = bag
    ends = np.full(chains, -1, np.int64)
    return Store(np.zeros((room, 6), np.int64), ends, ends.copy(), meta)


@nb.njit(cache=True)
def mix(a, b):  # type: ignore[no-untyped-def]
    """A 62-bit hash of two integers; answers are compared by sums of it."""
    h = nb.uint64(a) * nb.uint64(0x9E3779B97F4A7C15) + nb.uint64(b)
    h ^= h >> nb.uint64(29)
    h *= nb.uint64(0xBF58476D1CE4E5B9)
    h ^= h >> nb.uint64(32)
    h *= nb.uint64(0x94D049BB133111EB)
    return nb.int64((h ^ (h >> nb.uint64(29))) >> nb.uint64(2))


@nb.njit(cache=True)
def chain(s, key, exp):  # type: ignore[no-untyped-def]
    kind = s.meta[KIND]
    if kind == LIST:
        return 0
    if kind == HASH:
        return mix(key, 7) % s.meta[PARTS]
    if kind == GROUP:
        return key
    return (exp // s.meta[WIDTH]) % s.meta[PARTS]


@nb.njit(cache=True)
def _take(s):  # type: ignore[no-untyped-def]
    n = s.meta[FREE]
    if n >= 0:
        s.meta[FREE] = s.cell[n, NEXT]
    else:
        n = s.meta[USED]
        if n == len(s.cell):
            raise OverflowError("a store is full")
        s.meta[USED] += 1
    s.meta[SIZE] += 1
    return n


@nb.njit(cache=True)
def _link_after(s, b, p, n):  # type: ignore[no-untyped-def]
    """Put node n behind node p of chain b; p = -1: at its head."""
    q = s.head[b] if p < 0 else s.cell[p, NEXT]
    s.cell[n, PREV], s.cell[n, NEXT] = p, q
    if p < 0:
        s.head[b] = n
    else:
        s.cell[p, NEXT] = n
    if q < 0:
        s.tail[b] = n
    else:
        s.cell[q, PREV] = n


@nb.njit(cache=True)
def drop(s, n):  # type: ignore[no-untyped-def]
    """Unlink node n and free it."""
    b = chain(s, s.cell[n, KEY], s.cell[n, EXP])
    p, q = s.cell[n, PREV], s.cell[n, NEXT]
    if p < 0:
        s.head[b] = q
    else:
        s.cell[p, NEXT] = q
    if q < 0:
        s.tail[b] = p
    else:
        s.cell[q, PREV] = p
    s.cell[n, NEXT] = s.meta[FREE]
    s.meta[FREE] = n
    s.meta[SIZE] -= 1


@nb.njit(cache=True)
def insert(s, key, exp, one, two, w):  # type: ignore[no-untyped-def]
    """A new node where the kind of store wants it; a calendar queue searches from the latest expiry backwards."""
    n = _take(s)
    s.cell[n, KEY], s.cell[n, EXP], s.cell[n, ID], s.cell[n, ID2] = key, exp, one, two
    b = chain(s, key, exp)
    w[INSERTS] += 1
    kind = s.meta[KIND]
    if kind == HASH or kind == GROUP:
        _link_after(s, b, -1, n)
        return n
    p = s.tail[b]
    if kind != LIST:
        while p >= 0 and s.cell[p, EXP] > exp:
            w[PROBES] += 1
            p = s.cell[p, PREV]
    _link_after(s, b, p, n)
    return n


@nb.njit(cache=True)
def find(s, key, exp, one, two, w):  # type: ignore[no-untyped-def]
    """The node with these ids, or -1. A hash looks through one chain, LOCATED through one partition, others through all."""
    kind = s.meta[KIND]
    first, last = 0, s.meta[PARTS]
    if kind == HASH or kind == LOCATED or kind == GROUP:
        first = chain(s, key, exp)
        last = first + 1
    for b in range(first, last):
        w[VISITS] += 1
        n = s.head[b]
        while n >= 0:
            w[PROBES] += 1
            if s.cell[n, ID] == one and s.cell[n, ID2] == two:
                return n
            n = s.cell[n, NEXT]
    return -1


@nb.njit(cache=True)
def find_key(s, key, w):  # type: ignore[no-untyped-def]
    """The newest node of a hash with this key, or -1."""
    n = s.head[chain(s, key, 0)]
    while n >= 0:
        w[PROBES] += 1
        if s.cell[n, KEY] == key:
            return n
        n = s.cell[n, NEXT]
    return -1


@nb.njit(cache=True)
def next_expired(s, now, w):  # type: ignore[no-untyped-def]
    """A node of a calendar queue with exp <= now, or -1. Every partition that time has reached is visited."""
    part = s.meta[DONE]
    last = now // s.meta[WIDTH]
    if part < 0 or last - part >= s.meta[PARTS]:
        part = max(0, last - s.meta[PARTS] + 1)
    while part <= last:
        w[VISITS] += 1
        n = s.head[part % s.meta[PARTS]]
        if n >= 0:
            w[EXPIRIES] += 1
            if s.cell[n, EXP] <= now:
                s.meta[DONE] = part
                return n
        part += 1
    s.meta[DONE] = last
    return -1


@nb.njit(cache=True)
def _mark(view, n):  # type: ignore[no-untyped-def]
    return mix(view.cell[n, ID2], 1) if view.meta[BAG] else view.cell[n, KEY]


@nb.njit(cache=True)
def show(view, answer, key, exp, one, two, w):  # type: ignore[no-untyped-def]
    """A result enters the view; ``answer`` keeps its size and the sum of its rows' hashes."""
    n = insert(view, key, exp, one, two, w)
    w[RESULTS] += 1
    w[PEAK] = max(w[PEAK], view.meta[SIZE])
    answer[COUNT] += 1
    answer[SUM] += _mark(view, n)


@nb.njit(cache=True)
def leave(view, answer, n):  # type: ignore[no-untyped-def]
    """Node n of the view is no longer a result."""
    answer[COUNT] -= 1
    answer[SUM] -= _mark(view, n)
    drop(view, n)


@nb.njit(cache=True)
def retract(view, answer, key, exp, one, two, w):  # type: ignore[no-untyped-def]
    """A negative tuple takes a result out of the view. Raises ValueError if it is not there."""
    w[NEGATIVES] += 1
    n = find(view, key, exp, one, two, w)
    if n < 0:
        raise ValueError("a negative tuple without its result")
    leave(view, answer, n)


@nb.njit(cache=True)
def expire(view, answer, now, w):  # type: ignore[no-untyped-def]
    """Results with exp <= now leave: a list is looked through from end to end, a calendar queue from its current partition."""
    if view.meta[KIND] == LIST:
        n = view.head[0]
        while n >= 0:
            w[EXPIRIES] += 1
            q = view.cell[n, NEXT]
            if view.cell[n, EXP] <= now:
                leave(view, answer, n)
            n = q
        return
    n = next_expired(view, now, w)
    while n >= 0:
        leave(view, answer, n)
        n = next_expired(view, now, w)


@nb.njit(cache=True)
def expire_oldest(s, now, w):  # type: ignore[no-untyped-def]
    """Drop expired nodes of a hash whose chains are in arrival order, which is the order of expiry of a base window."""
    for b in range(s.meta[PARTS]):
        w[VISITS] += 1
        n = s.tail[b]
        while n >= 0:
            w[EXPIRIES] += 1
            if s.cell[n, EXP] > now:
                break
            p = s.cell[n, PREV]
            drop(s, n)
            n = p


@nb.njit(cache=True)
def delete(s, key, one, w):  # type: ignore[no-untyped-def]
    """Drop the node of a hash with this key and id, if it is there; whether it was."""
    n = find(s, key, 0, one, -1, w)
    if n >= 0:
        drop(s, n)
    return n >= 0


@nb.njit(cache=True)
def log(answer, clock, logs):  # type: ignore[no-untyped-def]
    """Note the answer of the instant that has ended. ``clock``: current instant, its number, next lazy expiry, oldest tuple."""
    if clock[1] >= 0:
        logs[clock[1], 0], logs[clock[1], 1] = answer[COUNT], answer[SUM]
    clock[1] += 1
