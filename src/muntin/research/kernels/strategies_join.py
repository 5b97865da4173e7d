"""Query 1 of thesis 3.6: a join of two windows on a key, its result kept as a view, per tuple and counted."""

from __future__ import annotations

import numba as nb

from muntin.research.kernels.strategies import (
    EXP,
    EXPIRIES,
    ID,
    INSERTS,
    KEY,
    NEGATIVES,
    NEXT,
    PROBES,
    SIZE,
    STEPS,
    STORED,
    VISITS,
    chain,
    delete,
    expire,
    expire_oldest,
    insert,
    log,
    mix,
    retract,
    show,
)


@nb.njit(cache=True)
def _probe(events, view, answer, other, i, exp, link, positive, now, w):  # type: ignore[no-untyped-def]
    """Results of tuple i with the other side: into the view, or out of it."""
    key = events[2, i]
    n = other[chain(other, key, 0)]
    while n >= 0:
        w[PROBES] += 1
        if other[n + KEY] == key:
            one, two = (i, other[n + ID]) if link == 0 else (other[n + ID], i)
            until = min(exp, other[n + EXP])
            w[PROBES] += 1  # a comparison of times
            if not positive:
                retract(view, answer, mix(one, two), until, one, two, w)
            elif other[n + EXP] > now:  # expired tuples wait here for the lazy expiry
                show(view, answer, mix(one, two), until, one, two, w)
        n = other[n + NEXT]


@nb.njit(cache=True)
def _negatives(events, window, left, right, view, answer, now, clock, w):  # type: ignore[no-untyped-def]
    """The windows announce every expired tuple; the join undoes its results."""
    w[VISITS] += 2
    while events[0, clock[3]] + window <= now:
        i = clock[3]
        clock[3] += 1
        w[EXPIRIES] += 1
        w[NEGATIVES] += 1
        if events[3, i] == 0:
            continue
        w[NEGATIVES] += 1
        own, other = (left, right) if events[1, i] == 0 else (right, left)
        delete(own, events[2, i], i, w)
        _probe(events, view, answer, other, i, events[0, i] + window, events[1, i], False, now, w)


@nb.njit(cache=True)
def join_query(events, start, stop, window, lazy, negative, left, right, view, answer, clock, logs, w):  # type: ignore[no-untyped-def]
    """Process tuples ``start`` to ``stop``. ``events``: rows ts, link (0 or 1), key, whether the selection keeps it.

    ``negative``: the negative tuple approach; else tuples expire by their exp: the view at every instant, the join's
    sides every ``lazy`` units. State goes on from one call to the next. Counters: ``strategies``.
    """
    for i in range(start, stop):
        now = events[0, i]
        if now != clock[0]:
            log(answer, clock, logs)
            clock[0] = now
            if negative:
                _negatives(events, window, left, right, view, answer, now, clock, w)
            else:
                expire(view, answer, now, w)
                if now >= clock[2]:
                    expire_oldest(left, now, w)
                    expire_oldest(right, now, w)
                    clock[2] = now + lazy
            held = i - clock[3] if negative else 0
            w[STORED] += held + left[SIZE] + right[SIZE] + view[SIZE]
            w[STEPS] += 1
        w[PROBES] += 1  # the selection
        if negative:
            w[INSERTS] += 1  # into the materialised window
        if events[3, i] == 0:
            continue
        own, other = (left, right) if events[1, i] == 0 else (right, left)
        insert(own, events[2, i], now + window, i, -1, w)
        _probe(events, view, answer, other, i, now + window, events[1, i], True, now, w)
