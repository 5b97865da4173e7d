"""Queries 3 and 4 of thesis 3.6: the negation of two windows, alone and with a join below or above it, counted."""

from __future__ import annotations

import numba as nb

from muntin.research.kernels.strategies import (
    EXP,
    EXPIRIES,
    ID,
    ID2,
    INSERTS,
    KEY,
    NEGATIVES,
    NEXT,
    PREMATURE,
    PROBES,
    SIZE,
    STEPS,
    STORED,
    VISITS,
    chain,
    delete,
    drop,
    expire,
    expire_oldest,
    find,
    insert,
    log,
    mix,
    next_expired,
    retract,
    show,
)

# Rows of the integer arrays that the negation of Query 3 keeps: per tuple, and per value.
AFTER, BEFORE, SHOWN = 0, 1, 2
OLDEST, YOUNGEST, LEFT, RIGHT, SHOWS = 0, 1, 2, 3, 4


@nb.njit(cache=True)
def _append(events, rows, values, window, view, answer, key, w):  # type: ignore[no-untyped-def]
    """One more result with this value: its youngest tuple that is not one."""
    i = values[YOUNGEST, key]
    while rows[SHOWN, i]:
        w[PROBES] += 1
        i = rows[BEFORE, i]
    w[PROBES] += 1
    rows[SHOWN, i] = 1
    values[SHOWS, key] += 1
    show(view, answer, mix(i, 3), events[0, i] + window, i, key, w)


@nb.njit(cache=True)
def _withdraw(events, rows, values, window, view, answer, key, w):  # type: ignore[no-untyped-def]
    """One result with this value fewer before its time: the oldest, by a negative tuple."""
    i = values[OLDEST, key]
    while not rows[SHOWN, i]:
        w[PROBES] += 1
        i = rows[AFTER, i]
    w[PROBES] += 1
    rows[SHOWN, i] = 0
    values[SHOWS, key] -= 1
    w[PREMATURE] += 1
    retract(view, answer, mix(i, 3), events[0, i] + window, i, key, w)


@nb.njit(cache=True)
def _left_expires(events, rows, values, window, negative, view, answer, i, w):  # type: ignore[no-untyped-def]
    key = events[2, i]
    a, b = rows[BEFORE, i], rows[AFTER, i]
    if a < 0:
        values[OLDEST, key] = b
    else:
        rows[AFTER, a] = b
    if b < 0:
        values[YOUNGEST, key] = a
    else:
        rows[BEFORE, b] = a
    values[LEFT, key] -= 1
    if rows[SHOWN, i]:
        rows[SHOWN, i] = 0
        values[SHOWS, key] -= 1
        if negative:
            retract(view, answer, mix(i, 3), events[0, i] + window, i, key, w)
    elif values[SHOWS, key] > max(values[LEFT, key] - values[RIGHT, key], 0):
        _withdraw(events, rows, values, window, view, answer, key, w)


@nb.njit(cache=True)
def _left_arrives(events, rows, values, window, view, answer, i, w):  # type: ignore[no-untyped-def]
    key = events[2, i]
    last = values[YOUNGEST, key]
    rows[BEFORE, i], rows[AFTER, i] = last, -1
    if last < 0:
        values[OLDEST, key] = i
    else:
        rows[AFTER, last] = i
    values[YOUNGEST, key] = i
    values[LEFT, key] += 1
    if values[LEFT, key] > values[RIGHT, key]:
        rows[SHOWN, i] = 1
        values[SHOWS, key] += 1
        show(view, answer, mix(i, 3), events[0, i] + window, i, key, w)


@nb.njit(cache=True)
def _advance(events, rows, values, window, negative, view, answer, now, clock, w):  # type: ignore[no-untyped-def]
    """Expiry: left tuples first, so that none that is due can be shown again; then right ones; then results by exp."""
    w[VISITS] += 2
    for link in range(2):
        while events[0, clock[3 + link]] + window <= now:
            i = clock[3 + link]
            clock[3 + link] += 1
            if events[1, i] != link:
                continue
            w[EXPIRIES] += 1
            w[PROBES] += 1  # the counter
            if negative:
                w[NEGATIVES] += 2  # out of the materialised window, and through the negation
            key = events[2, i]
            if link == 0:
                _left_expires(events, rows, values, window, negative, view, answer, i, w)
                continue
            values[RIGHT, key] -= 1
            if values[LEFT, key] > values[RIGHT, key]:
                _append(events, rows, values, window, view, answer, key, w)
    if not negative:
        expire(view, answer, now, w)


@nb.njit(cache=True)
def except_query(events, start, stop, window, negative, rows, values, view, answer, clock, logs, w):  # type: ignore[no-untyped-def]
    """Duplicate-preserving negation W1 - W2 (thesis 2.2.2 with both corrections): max(v1 - v2, 0) results per value.

    ``events``: rows ts, link (0 or 1), value. ``negative``: windows announce expiry and every result leaves by a
    negative tuple; else results expire by exp, and only early ones leave by negative tuples.
    """
    for i in range(start, stop):
        now, key = events[0, i], events[2, i]
        if now != clock[0]:
            log(answer, clock, logs)
            clock[0] = now
            _advance(events, rows, values, window, negative, view, answer, now, clock, w)
            w[STEPS] += 1
        w[INSERTS] += 2 if negative else 1
        w[PROBES] += 1
        if events[1, i] == 0:
            _left_arrives(events, rows, values, window, view, answer, i, w)
            continue
        values[RIGHT, key] += 1
        if values[RIGHT, key] <= values[LEFT, key]:
            _withdraw(events, rows, values, window, view, answer, key, w)


@nb.njit(cache=True)
def _pairs_change(events, own, other, pairs, order, mute, window, negative, view, answer, i, positive, w):  # type: ignore[no-untyped-def]
    """Join results of tuple i enter or leave the left input of the negation, and the view where no match silences
    them."""
    key, link, now = events[2, i], events[1, i], events[0, i]
    n = other[chain(other, key, 0)]
    while n >= 0:
        w[PROBES] += 1
        if other[n + KEY] == key and (negative or other[n + EXP] > now):
            one, two = (i, other[n + ID]) if link == 0 else (other[n + ID], i)
            until = min(now + window, other[n + EXP])
            if positive:
                insert(pairs, key, until, one, two, w)
                if not negative:
                    insert(order, key, until, one, two, w)
                if mute[key] == 0:
                    show(view, answer, mix(one, two), until, one, two, w)
            else:
                w[NEGATIVES] += 1
                _pair_leaves(pairs, mute, view, answer, key, until, one, two, w)
        n = other[n + NEXT]


@nb.njit(cache=True)
def _pair_leaves(pairs, mute, view, answer, key, until, one, two, w):  # type: ignore[no-untyped-def]
    drop(pairs, find(pairs, key, until, one, two, w))
    if mute[key] == 0:
        retract(view, answer, mix(one, two), until, one, two, w)


@nb.njit(cache=True)
def _pairs_turn(pairs, view, answer, key, positive, w):  # type: ignore[no-untyped-def]
    """The last match of a value has left, or its first has come: all its pairs are shown, or withdrawn."""
    n = pairs[chain(pairs, key, 0)]
    while n >= 0:
        w[PROBES] += 1
        one, two, until = pairs[n + ID], pairs[n + ID2], pairs[n + EXP]
        if positive:
            show(view, answer, mix(one, two), until, one, two, w)
        else:
            w[PREMATURE] += 1
            retract(view, answer, mix(one, two), until, one, two, w)
        n = pairs[n + NEXT]


@nb.njit(cache=True)
def _expire_up(events, window, negative, left, right, pairs, order, mute, view, answer, now, lazy, clock, w):  # type: ignore[no-untyped-def]
    if negative:
        w[VISITS] += 3
        while events[0, clock[3]] + window <= now:
            i = clock[3]
            clock[3] += 1
            w[EXPIRIES] += 1
            w[NEGATIVES] += 1 + (events[1, i] == 1)
            if events[1, i] != 2 and events[3, i]:
                own, other = (left, right) if events[1, i] == 0 else (right, left)
                w[NEGATIVES] += 1
                delete(own, events[2, i], i, w)
                _pairs_change(events, own, other, pairs, order, mute, window, True, view, answer, i, False, w)
    else:
        w[VISITS] += 1
        n = next_expired(order, now, w)
        while n >= 0:
            key, until, one, two = order[n + KEY], order[n + EXP], order[n + ID], order[n + ID2]
            drop(order, n)
            _pair_leaves(pairs, mute, view, answer, key, until, one, two, w)
            n = next_expired(order, now, w)
        if now >= clock[2]:
            expire_oldest(left, now, w)
            expire_oldest(right, now, w)
            clock[2] = now + lazy
    while events[0, clock[4]] + window <= now:
        i = clock[4]
        clock[4] += 1
        if events[1, i] == 2:
            w[EXPIRIES] += 1
            w[PROBES] += 1
            w[NEGATIVES] += negative
            mute[events[2, i]] -= 1
            if mute[events[2, i]] == 0:
                _pairs_turn(pairs, view, answer, events[2, i], True, w)


@nb.njit(cache=True)
def negation_up(  # type: ignore[no-untyped-def]
    events, start, stop, window, lazy, negative, left, right, pairs, order, mute, view, answer, clock, logs, w
):
    """Query 4 with the negation pulled up: (S1 join S2), then those without a match in S3.

    ``events``: rows ts, link (0 S1, 1 S2 with the selection, 2 S3), value, kept. ``pairs``: join results by value;
    ``order``: the same by expiry (not with ``negative``). The view is kept by negative tuples either way.
    """
    for i in range(start, stop):
        now, link, key = events[0, i], events[1, i], events[2, i]
        if now != clock[0]:
            log(answer, clock, logs)
            clock[0] = now
            _expire_up(events, window, negative, left, right, pairs, order, mute, view, answer, now, lazy, clock, w)
            w[STORED] += left[SIZE] + right[SIZE] + pairs[SIZE] + view[SIZE]
            w[STEPS] += 1
        w[INSERTS] += negative
        if link == 2:
            w[INSERTS] += 1
            w[PROBES] += 1
            mute[key] += 1
            if mute[key] == 1:
                _pairs_turn(pairs, view, answer, key, False, w)
            continue
        w[PROBES] += link  # the selection on S2
        if events[3, i]:
            own, other = (left, right) if link == 0 else (right, left)
            insert(own, key, now + window, i, -1, w)
            _pairs_change(events, own, other, pairs, order, mute, window, negative, view, answer, i, True, w)


@nb.njit(cache=True)
def _survivor(events, window, left, right, view, answer, i, positive, w):  # type: ignore[no-untyped-def]
    """A tuple of S1 enters or leaves the result of the negation, and with it its join results."""
    key = events[2, i]
    if positive:
        insert(left, key, events[0, i] + window, i, -1, w)
    else:
        w[NEGATIVES] += 1
        delete(left, key, i, w)
    n = right[chain(right, key, 0)]
    while n >= 0:
        w[PROBES] += 1
        if right[n + KEY] == key:
            two, until = right[n + ID], min(events[0, i] + window, right[n + EXP])
            if positive:
                show(view, answer, mix(i, two), until, i, two, w)
            else:
                retract(view, answer, mix(i, two), until, i, two, w)
        n = right[n + NEXT]


@nb.njit(cache=True)
def _partner(events, window, left, right, view, answer, i, positive, w):  # type: ignore[no-untyped-def]
    """A kept tuple of S2 comes or goes."""
    key = events[2, i]
    if positive:
        insert(right, key, events[0, i] + window, i, -1, w)
    else:
        delete(right, key, i, w)
    n = left[chain(left, key, 0)]
    while n >= 0:
        w[PROBES] += 1
        if left[n + KEY] == key:
            one, until = left[n + ID], min(events[0, i] + window, left[n + EXP])
            if positive:
                show(view, answer, mix(one, i), until, one, i, w)
            else:
                retract(view, answer, mix(one, i), until, one, i, w)
        n = left[n + NEXT]


@nb.njit(cache=True)
def _survivors_turn(events, window, stored, left, right, view, answer, key, positive, w):  # type: ignore[no-untyped-def]
    n = stored[chain(stored, key, 0)]
    while n >= 0:
        w[PROBES] += 1
        w[PREMATURE] += not positive
        _survivor(events, window, left, right, view, answer, stored[n + ID], positive, w)
        n = stored[n + NEXT]


@nb.njit(cache=True)
def _expire_down(events, window, stored, left, right, mute, view, answer, now, clock, w):  # type: ignore[no-untyped-def]
    """Negative tuples of the windows: of S1 and S2 first, then of S3, which brings back only what is still alive."""
    w[VISITS] += 3
    while events[0, clock[3]] + window <= now:
        i = clock[3]
        clock[3] += 1
        w[EXPIRIES] += 1
        w[NEGATIVES] += 2
        key = events[2, i]
        if events[1, i] == 0:
            drop(stored, find(stored, key, 0, i, -1, w))
            if mute[key] == 0:
                _survivor(events, window, left, right, view, answer, i, False, w)
        elif events[1, i] == 1 and events[3, i]:
            w[NEGATIVES] += 1
            _partner(events, window, left, right, view, answer, i, False, w)
    while events[0, clock[4]] + window <= now:
        i = clock[4]
        clock[4] += 1
        if events[1, i] == 2:
            w[PROBES] += 1
            mute[events[2, i]] -= 1
            if mute[events[2, i]] == 0:
                _survivors_turn(events, window, stored, left, right, view, answer, events[2, i], True, w)


@nb.njit(cache=True)
def negation_down(events, start, stop, window, stored, left, right, mute, view, answer, clock, logs, w):  # type: ignore[no-untyped-def]
    """Query 4 with the join pulled up: (S1 without a match in S3), joined with S2; negative tuples throughout.

    ``events`` as in ``negation_up``; ``stored``: S1 by value; ``left``: what the negation lets through, by hash.
    """
    for i in range(start, stop):
        now, link, key = events[0, i], events[1, i], events[2, i]
        if now != clock[0]:
            log(answer, clock, logs)
            clock[0] = now
            _expire_down(events, window, stored, left, right, mute, view, answer, now, clock, w)
            w[STORED] += stored[SIZE] + left[SIZE] + right[SIZE] + view[SIZE]
            w[STEPS] += 1
        w[INSERTS] += 1
        if link == 0:
            insert(stored, key, now + window, i, -1, w)
            w[PROBES] += 1
            if mute[key] == 0:
                _survivor(events, window, left, right, view, answer, i, True, w)
        elif link == 1:
            w[PROBES] += 1
            if events[3, i]:
                _partner(events, window, left, right, view, answer, i, True, w)
        else:
            w[INSERTS] += 1
            w[PROBES] += 1
            mute[key] += 1
            if mute[key] == 1:
                _survivors_turn(events, window, stored, left, right, view, answer, key, False, w)
