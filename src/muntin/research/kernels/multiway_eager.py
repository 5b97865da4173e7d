"""Eager evaluation: EAGER and NAIVE MULTI-WAY joins of Golab & Ozsu (2003), 3.1 and 3.2, and Algorithms 2 and 3 of the
thesis (5.2.1), negative tuples included."""

from __future__ import annotations

import numba as nb

from muntin.research.kernels.multiway import (
    DONE,
    KIND,
    LAST,
    NEVER,
    PARTNER,
    ROWS,
    STREAM,
    TS,
    UNTIL,
    arrive,
    expire,
    expire_all,
    overflow,
    search,
    unlink,
)
from muntin.research.kernels.multiway_loops import UNEXPIRED, UNTIMED, nested


@nb.njit(cache=True)
def _make_room(cells, wins, chains, work, clock, at, s, now, every):  # type: ignore[no-untyped-def]
    """Expiry before the probes for a tuple of stream s."""
    if wins[s, ROWS] > 0:
        overflow(cells, wins, chains, work, at, s)
    if every == 0:
        for j in range(len(wins)):
            if j != s:
                expire(cells, wins, chains, work, j, now)
    elif now // every != clock[LAST]:
        expire_all(cells, wins, chains, work, at, now)
        clock[LAST] = now // every


@nb.njit(cache=True)
def eager(state, stop, every):  # type: ignore[no-untyped-def]
    """Process the rows up to number ``stop``, each joined as it arrives.

    ``every``: 0 expires the other windows before each probe (Algorithm 2), so that times need no test; else all windows
    every so many time units, and expired rows are passed over (Algorithm 3). A count window is overwritten at once
    either way. A negative tuple is joined like the row that it undoes, with results of sign -1, and that row deleted;
    it is ignored if the row has left already.
    """
    cells, wins, orders, chains, stack, work, clock, at, upto, sink = state
    timed = UNTIMED if every == 0 else UNEXPIRED
    for i in range(clock[DONE], stop):
        s, now, match = cells[i, STREAM], cells[i, TS], cells[i, PARTNER]
        if match < 0:
            arrive(cells, wins, chains, work, i)
        _make_room(cells, wins, chains, work, clock, at, s, now, every)
        c, row, sign = -1, i, 1
        if match >= 0:
            if wins[s, KIND] == NEVER or cells[match, UNTIL] >= now:
                c = search(cells, wins, chains, work, match)
            if c < 0:
                continue
            row, sign = match, -1
        nested(cells, wins, orders, chains, stack, work, upto, sink, s, row, i + 1, timed, sign, now)
        if c >= 0:
            unlink(cells, chains, work, c, match)
    clock[DONE] = max(stop, clock[DONE])
