"""Query 2 of thesis 3.6: the distinct values of a window, in the implementations of 3.2.2 and 3.5.2, counted."""

from __future__ import annotations

import numba as nb

from muntin.research.kernels.strategies import (
    CHAINS,
    COUNT,
    EXP,
    EXPIRIES,
    ID,
    INSERTS,
    KEY,
    KIND,
    LIST,
    NEGATIVES,
    NEXT,
    PEAK,
    PROBES,
    RESULTS,
    SIZE,
    STEPS,
    STORED,
    SUM,
    VISITS,
    delete,
    drop,
    expire_oldest,
    find_key,
    insert,
    log,
    mix,
    next_expired,
)


@nb.njit(cache=True)
def _emit(order, index, answer, ordered, key, exp, one, w):  # type: ignore[no-untyped-def]
    """A value becomes a result with tuple ``one`` for it: into the index by value, and into the order of expiry."""
    insert(index, key, exp, one, -1, w)
    if ordered:
        insert(order, key, exp, one, -1, w)
    w[RESULTS] += 1
    answer[COUNT] += 1
    answer[SUM] += mix(key, 1)
    w[PEAK] = max(w[PEAK], index[SIZE])


@nb.njit(cache=True)
def _withdraw(index, answer, n):  # type: ignore[no-untyped-def]
    answer[COUNT] -= 1
    answer[SUM] -= mix(index[n + KEY], 1)
    drop(index, n)


@nb.njit(cache=True)
def _replace(order, index, answer, rest, ordered, star, key, now, w):  # type: ignore[no-untyped-def]
    """The result for ``key`` has expired: another live tuple with that value takes its place, if there is one."""
    _withdraw(index, answer, find_key(index, key, w))
    n = find_key(rest, key, w)
    if n < 0:
        return
    exp, one = rest[n + EXP], rest[n + ID]
    if star:
        drop(rest, n)
    if exp <= now:
        return
    _emit(order, index, answer, ordered, key, exp, one, w)


@nb.njit(cache=True)
def _expire_results(order, index, answer, rest, star, now, w):  # type: ignore[no-untyped-def]
    """Results by their exp: a list is looked through from end to end, a calendar queue from its current partition."""
    if order[KIND] != LIST:
        n = next_expired(order, now, w)
        while n >= 0:
            key = order[n + KEY]
            drop(order, n)
            _replace(order, index, answer, rest, True, star, key, now, w)
            n = next_expired(order, now, w)
        return
    n = order[CHAINS]
    while n >= 0:
        w[EXPIRIES] += 1
        q = order[n + NEXT]
        if order[n + EXP] <= now:
            key = order[n + KEY]
            drop(order, n)
            _replace(order, index, answer, rest, True, star, key, now, w)
        n = q


@nb.njit(cache=True)
def _negatives(events, order, index, answer, rest, now, clock, w):  # type: ignore[no-untyped-def]
    w[VISITS] += 1
    while events[1, clock[3]] <= now:
        i = clock[3]
        clock[3] += 1
        w[EXPIRIES] += 1
        w[NEGATIVES] += 1
        key = events[2, i]
        delete(rest, key, i, w)
        n = find_key(index, key, w)
        if index[n + ID] == i:
            _replace(order, index, answer, rest, False, False, key, now, w)


@nb.njit(cache=True)
def naive_delta(events, start, stop, negative, rest, order, index, answer, clock, logs, w):  # type: ignore[no-untyped-def]
    """delta: the whole input is stored (``rest``), and searched when a result expires. ``events``: rows ts, exp, value.

    ``negative``: windows announce expiry (exp must not decrease); else results expire by exp from ``order``.
    ``index``: results by value. ``exp`` of the input must not decrease.
    """
    for i in range(start, stop):
        now, exp, key = events[0, i], events[1, i], events[2, i]
        if now != clock[0]:
            log(answer, clock, logs)
            clock[0] = now
            if negative:
                _negatives(events, order, index, answer, rest, now, clock, w)
            else:
                _expire_results(order, index, answer, rest, False, now, w)
                expire_oldest(rest, now, w)
            w[STORED] += rest[SIZE] + index[SIZE] + (i - clock[3] if negative else 0)
            w[STEPS] += 1
        if negative:
            w[INSERTS] += 1
        insert(rest, key, exp, i, -1, w)
        if find_key(index, key, w) < 0:
            _emit(order, index, answer, not negative, key, exp, i, w)


@nb.njit(cache=True)
def delta_star(events, start, stop, youngest, aux, order, index, answer, clock, logs, w):  # type: ignore[no-untyped-def]
    """delta*: beside the results only one duplicate per value is stored (``aux``): the one with the latest exp.

    ``youngest``: keep the youngest duplicate instead, as the thesis prints it; wrong when exp may decrease (a join's
    output). Returns the largest state / result ratio seen, in percent.
    """
    worst = 0
    for i in range(start, stop):
        now, exp, key = events[0, i], events[1, i], events[2, i]
        if now != clock[0]:
            log(answer, clock, logs)
            clock[0] = now
            _expire_results(order, index, answer, aux, True, now, w)
            w[STORED] += aux[SIZE] + index[SIZE]
            w[STEPS] += 1
        if find_key(index, key, w) < 0:
            _emit(order, index, answer, True, key, exp, i, w)
        else:
            n = find_key(aux, key, w)
            if n < 0:
                insert(aux, key, exp, i, -1, w)
            elif youngest or aux[n + EXP] < exp:
                w[INSERTS] += 1
                aux[n + EXP], aux[n + ID] = exp, i
        worst = max(worst, 100 * (aux[SIZE] + index[SIZE]) // index[SIZE])
    return worst


@nb.njit(cache=True)
def counters(events, start, stop, counts, answer, clock, logs, w):  # type: ignore[no-untyped-def]
    """The strict form: one counter per value, fed with negative tuples; a result leaves when its counter reaches 0."""
    for i in range(start, stop):
        now = events[0, i]
        if now != clock[0]:
            log(answer, clock, logs)
            clock[0] = now
            w[VISITS] += 1
            while events[1, clock[3]] <= now:
                key = events[2, clock[3]]
                clock[3] += 1
                w[EXPIRIES] += 1
                w[NEGATIVES] += 1
                counts[key] -= 1
                if counts[key] == 0:
                    w[NEGATIVES] += 1
                    answer[COUNT] -= 1
                    answer[SUM] -= mix(key, 1)
            w[STORED] += i - clock[3] + answer[COUNT]
            w[STEPS] += 1
        key = events[2, i]
        w[INSERTS] += 1
        w[PROBES] += 1
        counts[key] += 1
        if counts[key] == 1:
            w[RESULTS] += 1
            answer[COUNT] += 1
            answer[SUM] += mix(key, 1)
