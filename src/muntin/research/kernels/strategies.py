"""Per-tuple state structures of thesis 3.5.2 that count every tuple access, for comparing execution strategies.

A store is a pool of nodes in doubly linked chains: one chain (a list in arrival order), one per partition of expiry
times (a calendar queue, each partition sorted by expiry), or one per hash value of a key (newest first, as in any
chained table). The queries over them are in ``strategies_join``, ``strategies_distinct`` and ``strategies_negation``.
"""

from __future__ import annotations

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


Store = Ints
"""One array, so that a call hands over one: sizes and parameters, the head of every chain, the tail of every chain,
and the nodes (key, exp, two ids, links). A node or a chain is named by its place in the array; -1 is none."""

WIDTH_OF_NODE = 6
CHAINS = 8


def new_store(kind: int, parts: int, room: int, span: int = 1, bag: bool = False) -> Store:
    """An empty store for ``room`` nodes. ``span``: the longest time to expiry, cut into ``parts`` by a calendar queue.

    ``bag``: as a view, compare its rows by the value in ID2 and not by identity.
    """
    chains = 1 if kind == LIST else parts
    nodes = CHAINS + 2 * chains
    store = np.full(nodes + WIDTH_OF_NODE * room, -1, np.int64)
    store[:CHAINS] = 0
    store[KIND], store[PARTS], store[WIDTH], store[DONE] = kind, chains, max(1, -(-span // chains)), -1
    store[FREE], store[USED], store[BAG] = -1, nodes, bag
    return store


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
    """The place of the head of the chain for a key or an expiry, as the kind of store has it."""
    kind = s[KIND]
    if kind == LIST:
        return CHAINS
    if kind == HASH:
        return CHAINS + mix(key, 7) % s[PARTS]
    if kind == GROUP:
        return CHAINS + key
    return CHAINS + ((exp - 1) // s[WIDTH]) % s[PARTS]


@nb.njit(cache=True)
def _take(s):  # type: ignore[no-untyped-def]
    n = s[FREE]
    if n >= 0:
        s[FREE] = s[n + NEXT]
    else:
        n = s[USED]
        if n == len(s):
            raise OverflowError("a store is full")
        s[USED] += WIDTH_OF_NODE
    s[SIZE] += 1
    return n


@nb.njit(cache=True)
def _link_after(s, b, p, n):  # type: ignore[no-untyped-def]
    """Put node n behind node p of chain b; p = -1: at its head."""
    q = s[b] if p < 0 else s[p + NEXT]
    s[n + PREV], s[n + NEXT] = p, q
    if p < 0:
        s[b] = n
    else:
        s[p + NEXT] = n
    if q < 0:
        s[b + s[PARTS]] = n
    else:
        s[q + PREV] = n


@nb.njit(cache=True)
def drop(s, n):  # type: ignore[no-untyped-def]
    """Unlink node n and free it."""
    b = chain(s, s[n + KEY], s[n + EXP])
    p, q = s[n + PREV], s[n + NEXT]
    if p < 0:
        s[b] = q
    else:
        s[p + NEXT] = q
    if q < 0:
        s[b + s[PARTS]] = p
    else:
        s[q + PREV] = p
    s[n + NEXT] = s[FREE]
    s[FREE] = n
    s[SIZE] -= 1


@nb.njit(cache=True)
def insert(s, key, exp, one, two, w):  # type: ignore[no-untyped-def]
    """A new node where the kind of store wants it; a calendar queue searches from the latest expiry backwards."""
    n = _take(s)
    s[n + KEY], s[n + EXP], s[n + ID], s[n + ID2] = key, exp, one, two
    b = chain(s, key, exp)
    w[INSERTS] += 1
    kind = s[KIND]
    if kind in (HASH, GROUP):
        _link_after(s, b, -1, n)
        return n
    p = s[b + s[PARTS]]
    if kind != LIST:
        while p >= 0 and s[p + EXP] > exp:
            w[PROBES] += 1
            p = s[p + PREV]
    _link_after(s, b, p, n)
    return n


@nb.njit(cache=True)
def find(s, key, exp, one, two, w):  # type: ignore[no-untyped-def]
    """The node with these ids, or -1. A hash looks through one chain, LOCATED through one partition, others through
    all."""
    kind = s[KIND]
    first, last = CHAINS, CHAINS + s[PARTS]
    if kind in (HASH, LOCATED, GROUP):
        first = chain(s, key, exp)
        last = first + 1
    for b in range(first, last):
        w[VISITS] += 1
        n = s[b]
        while n >= 0:
            w[PROBES] += 1
            if s[n + ID] == one and s[n + ID2] == two:
                return n
            n = s[n + NEXT]
    return -1


@nb.njit(cache=True)
def find_key(s, key, w):  # type: ignore[no-untyped-def]
    """The newest node of a hash with this key, or -1."""
    n = s[chain(s, key, 0)]
    while n >= 0:
        w[PROBES] += 1
        if s[n + KEY] == key:
            return n
        n = s[n + NEXT]
    return -1


@nb.njit(cache=True)
def next_expired(s, now, w):  # type: ignore[no-untyped-def]
    """A node of a calendar queue with exp <= now, or -1. Every partition that time has reached is visited."""
    part = s[DONE]
    last = (now - 1) // s[WIDTH]
    if part < 0 or last - part >= s[PARTS]:
        part = max(0, last - s[PARTS] + 1)
    while part <= last:
        w[VISITS] += 1
        n = s[CHAINS + part % s[PARTS]]
        if n >= 0:
            w[EXPIRIES] += 1
            if s[n + EXP] <= now:
                s[DONE] = part
                return n
        part += 1
    s[DONE] = last
    return -1


@nb.njit(cache=True)
def _mark(view, n):  # type: ignore[no-untyped-def]
    return mix(view[n + ID2], 1) if view[BAG] else view[n + KEY]


@nb.njit(cache=True)
def show(view, answer, key, exp, one, two, w):  # type: ignore[no-untyped-def]
    """A result enters the view; ``answer`` keeps its size and the sum of its rows' hashes."""
    n = insert(view, key, exp, one, two, w)
    w[RESULTS] += 1
    w[PEAK] = max(w[PEAK], view[SIZE])
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
    """Results with exp <= now leave: a list is looked through from end to end, a calendar queue from its current
    partition."""
    if view[KIND] == LIST:
        n = view[CHAINS]
        while n >= 0:
            w[EXPIRIES] += 1
            q = view[n + NEXT]
            if view[n + EXP] <= now:
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
    for b in range(s[PARTS]):
        w[VISITS] += 1
        n = s[CHAINS + s[PARTS] + b]
        while n >= 0:
            w[EXPIRIES] += 1
            if s[n + EXP] > now:
                break
            p = s[n + PREV]
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
    """Note the answer of the instant that has ended. ``clock``: current instant, its number, next lazy expiry,
    oldest tuple."""
    if clock[1] >= 0:
        logs[clock[1], 0], logs[clock[1], 1] = answer[COUNT], answer[SUM]
    clock[1] += 1
