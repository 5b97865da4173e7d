"""Eager evaluation: EAGER and NAIVE MULTI-WAY joins of Golab & Ozsu (2003), 3.1 and 3.2, and Algorithms 2 and 3 of the
thesis (5.2.1), negative tuples included."""

from __future__ import annotations

import numba as nb

from muntin.kernels.multiway import DONE, LAST, NEVER, arrive, expire, expire_all, overflow, search, unlink
from muntin.kernels.multiway_loops import UNEXPIRED, UNTIMED, loops


@nb.njit(cache=True)
def _make_room(rows, plan, state, s, now, every):  # type: ignore[no-untyped-def]
    """Expiry before the probes for a tuple of stream s."""
    if plan.rows[s] > 0:
        overflow(rows, plan, state, s)
    if every == 0:
        for j in range(len(plan.place)):
            if j != s:
                expire(rows, plan, state, j, now)
    elif now // every != state.clock[LAST]:
        expire_all(rows, plan, state, now)
        state.clock[LAST] = now // every


@nb.njit(cache=True)
def eager(rows, plan, state, stop, every):  # type: ignore[no-untyped-def]
    """Process the rows up to number ``stop``, each joined as it arrives.

    ``every``: 0 expires the other windows before each probe (Algorithm 2), so that times need no test; else all windows
    every so many time units, and expired rows are passed over (Algorithm 3). A count window is overwritten at once
    either way. A negative tuple is joined like the row that it undoes, with results of sign -1, and that row deleted;
    it is ignored if the row has left already.
    """
    timed = UNTIMED if every == 0 else UNEXPIRED
    for i in range(state.clock[DONE], stop):
        s, now, match = rows.stream[i], rows.ts[i], rows.partner[i]
        if match < 0:
            arrive(rows, plan, state, i)
        _make_room(rows, plan, state, s, now, every)
        if match < 0:
            loops(rows, plan, state, s, i, i + 1, timed, 1, now)
        elif plan.kind[s] == NEVER or state.until[match] >= now:
            c = search(rows, plan, state, match)
            if c >= 0:
                loops(rows, plan, state, s, match, i + 1, timed, -1, now)
                unlink(state, c, match)
    state.clock[DONE] = max(stop, state.clock[DONE])
