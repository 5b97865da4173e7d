"""When groups are evaluated: instants, the events before each, and which groups show a value at each.

A schedule separates time from arithmetic: every aggregate's kernel replays the same events and emissions::

    instant 0:  events[0 : ev_end[0]]            then emissions[0 : em_end[0]]
    instant 1:  events[ev_end[0] : ev_end[1]]    then emissions[em_end[0] : em_end[1]]
    ...
"""

from __future__ import annotations

from dataclasses import dataclass

import numba as nb
import numpy as np
from numpy.typing import NDArray

from muntin.core.calendar import Span
from muntin.core.zones import ticks_between
from muntin.kernels.lazy import kernel
from muntin.kernels.types import I8, I64, MI64


@dataclass(frozen=True)
class Schedule:
    """``time[i]``, ``ev_end[i]``, ``em_end[i]`` by instant; ``group[e]``, ``live[e]`` (rows in the group then) by
    emission."""

    time: NDArray[np.int64]
    ev_end: NDArray[np.int64]
    em_end: NDArray[np.int64]
    group: NDArray[np.int64]
    live: NDArray[np.int64]

    def instant_of_emission(self) -> NDArray[np.int64]:
        """The instant number of each emission."""
        return np.repeat(np.arange(len(self.time)), np.diff(self.em_end, prepend=0))


@kernel(nb.types.UniTuple(nb.int64, 2)(I64, I64, I8, MI64, I64, MI64, MI64, MI64, MI64, MI64, MI64), cache=True)
def _changes(ev_time, ev_group, ev_sign, live, extra, seen, time, ev_end, em_end, group, alive):  # type: ignore[no-untyped-def]
    """Instant 0 has no events and shows every touched group as it was; then one instant per distinct event time.
    ``extra``: (instant, group) pairs flattened, at which a group is to be shown even without events; ``seen``: -1 by
    group. Returns how many instants and emissions there are."""
    n = len(ev_time)
    m = len(extra) // 2
    used = 0
    for i in range(n + m):
        g = ev_group[i] if i < n else extra[2 * (i - n) + 1]
        if seen[g] < 0:
            seen[g] = 0
            group[used] = g
            alive[used] = live[g]
            used += 1
    time[0] = 0  # the caller sets it just before the first event
    ev_end[0] = 0
    em_end[0] = used
    instants = 1
    i = 0
    k = 0
    while i < n or k < m:
        now = ev_time[i] if i < n else extra[2 * k]
        if k < m and extra[2 * k] < now:
            now = extra[2 * k]
        first = used
        while True:
            if i < n and ev_time[i] == now:
                g = ev_group[i]
                live[g] += ev_sign[i]
                i += 1
            elif k < m and extra[2 * k] == now:
                g = extra[2 * k + 1]
                k += 1
            else:
                break
            if seen[g] < instants:
                seen[g] = instants
                group[used] = g
                used += 1
        for e in range(first, used):
            alive[e] = live[group[e]]
        time[instants] = now
        ev_end[instants] = i
        em_end[instants] = used
        instants += 1
    return instants, used


def at_changes(
    ev_time: NDArray[np.int64],
    ev_group: NDArray[np.int64],
    ev_sign: NDArray[np.int8],
    live: NDArray[np.int64],
    forced: list[tuple[int, int]],
) -> Schedule:
    """Each group is shown at each instant at which a row enters or leaves it (and at ``forced`` (instant, group)).

    Events are in time order; ``live`` (rows by group) is moved to the end of the batch. Instant 0 is the state before.
    """
    extra = np.array([v for pair in sorted(forced) for v in pair], np.int64)
    most = len(ev_time) + len(forced)
    instants = tuple(np.empty(most + 1, np.int64) for _ in range(3))
    emissions = tuple(np.empty(2 * most, np.int64) for _ in range(2))
    seen = np.full(len(live), -1, np.int64)
    shown, used = _changes(ev_time, ev_group, ev_sign, live, extra, seen, *instants, *emissions)
    schedule = Schedule(*(a[:shown] for a in instants), *(a[:used] for a in emissions))
    if shown > 1:
        schedule.time[0] = schedule.time[1] - 1
    return schedule


@kernel(nb.void(I64, MI64, MI64), cache=True)
def _previous(group, last, previous):  # type: ignore[no-untyped-def]
    for e in range(len(group)):
        previous[e] = last[group[e]]
        last[group[e]] = e


def previous_emission(group: NDArray[np.int64], groups: int) -> NDArray[np.int64]:
    """The emission of the same group before each one; -1 for a group's first."""
    previous = np.empty(len(group), np.int64)
    _previous(group, np.full(groups, -1, np.int64), previous)
    return previous


@kernel(nb.void(I64, I64, I8, MI64, I64, I64, MI64, MI64, MI64, MI64, MI64, MI64, MI64, MI64), cache=True)
def _snapshots(  # type: ignore[no-untyped-def]
    ev_time, ev_group, ev_sign, live, instants, rules, members, place, time, ev_end, em_end, group, alive, at
):
    """As ``at_instants``, until the instants, what ``rules`` allow, or the room of ``group`` and ``alive`` has come to
    an end; ``at`` says where it stands and is where the next call goes on. Cost: events, groups, and emissions; a group
    that is gone is not looked at again.

    ``rules``: rows or groups counted against what is allowed (1, 0), most of them; ``members``: the groups to show, and
    ``place`` where each stands among them.
    """
    i, k, used, count, total, given = at[0], at[1], at[2], at[3], at[4], at[5]
    while k < len(instants):
        while i < len(ev_time) and ev_time[i] <= instants[k]:
            g = ev_group[i]
            before = live[g]
            after = before + ev_sign[i]
            live[g] = after
            i += 1
            if before > 0:
                total -= before
            if after > 0:
                total += after
                if place[g] < 0:
                    members[count] = g
                    place[g] = count
                    count += 1
            elif place[g] >= 0 and rules[2] == 0:
                count -= 1
                members[place[g]] = members[count]
                place[members[count]] = place[g]
                place[g] = -1
        more = given + (total if rules[0] else count)
        if used + count > len(group) or (rules[1] > 0 and k > 0 and more > rules[1]):
            break
        given = more
        for m in range(count):
            group[used + m] = members[m]
            alive[used + m] = live[members[m]]
        used += count
        time[k] = instants[k]
        ev_end[k] = i
        em_end[k] = used
        k += 1
    at[0], at[1], at[2], at[3], at[4], at[5] = i, k, used, count, total, given


def at_instants(
    ev_time: NDArray[np.int64],
    ev_group: NDArray[np.int64],
    ev_sign: NDArray[np.int8],
    live: NDArray[np.int64],
    instants: NDArray[np.int64],
    always: bool = False,
    copies: bool = False,
    most: int | None = None,
) -> tuple[Schedule, int | None]:
    """Every live group (every group when ``always``) is shown at each of ``instants`` (sorted).

    Events after the last instant are applied by a closing instant that shows nothing, so state ends where the batch
    ends. With ``most`` emissions allowed (``copies``: rows in them), and more wanted, the second result is the first
    instant that does not fit (never the very first one); the schedule then ends before it, and ``live`` is of no use.
    Cost: events, groups and emissions.
    """
    members, place = np.empty(len(live), np.int64), np.full(len(live), -1, np.int64)
    there = np.arange(len(live)) if always else np.flatnonzero(live > 0)
    members[: len(there)], place[there] = there, np.arange(len(there))
    rules = np.array([copies, most or 0, always], np.int64)
    time, ev_end, em_end = (np.empty(len(instants), np.int64) for _ in range(3))
    at = np.array([0, 0, 0, len(there), np.maximum(live, 0).sum(), 0])
    group = alive = np.empty(0, np.int64)
    while True:
        room = max(1024, 2 * len(group), at[2] + at[3])
        group, alive = _wider(group, at[2], room), _wider(alive, at[2], room)
        _snapshots(
            ev_time, ev_group, ev_sign, live, instants, rules, members, place, time, ev_end, em_end, group, alive, at
        )
        applied, shown, used, count, *_ = at.tolist()
        if shown == len(instants) or used + count <= room:
            break
    time, ev_end, em_end, group, alive = time[:shown], ev_end[:shown], em_end[:shown], group[:used], alive[:used]
    if shown < len(instants):
        return Schedule(time, ev_end, em_end, group, alive), int(instants[shown])
    if applied < len(ev_time):
        np.add.at(live, ev_group[applied:], ev_sign[applied:])
        time = np.append(time, ev_time[-1])
        ev_end = np.append(ev_end, len(ev_time))
        em_end = np.append(em_end, len(group))
    return Schedule(time, ev_end, em_end, group, alive), None


def _wider(values: NDArray[np.int64], used: int, room: int) -> NDArray[np.int64]:
    wider = np.empty(room, np.int64)
    wider[:used] = values[:used]
    return wider


def tick_times(
    spans: tuple[NDArray[np.int64], NDArray[np.int64]],
    slides: tuple[Span, ...],
    origins: tuple[int, ...],
    begin: int,
    until: int,
    zone: str | None = None,
) -> NDArray[np.int64]:
    """Sorted evaluation instants in ``[begin, until)`` that fall into one of ``spans`` (sorted, disjoint [from, to)).

    ``zone``: whose clock shows the multiples (None: UTC). Only spans are enumerated: a gap without live rows costs
    nothing, however fine the slide.
    """
    found = []
    for low, high in zip(*spans, strict=True):
        low, high = max(int(low), begin), min(int(high), until)
        if low >= high:
            continue
        for slide, origin in zip(slides, origins, strict=True):
            found.append(ticks_between(low, high, slide, origin, zone))
    return np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)


def live_spans(start: NDArray[np.int64], exp: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The union of validity intervals as sorted, disjoint [from, to)."""
    if len(start) == 0:
        return start, exp
    order = np.argsort(start, kind="stable")
    low, high = start[order], np.maximum.accumulate(exp[order])
    new = np.append(True, low[1:] > high[:-1])
    last = np.append(new[1:], True)
    return low[new], high[last]


def populated_spans(
    ev_time: NDArray[np.int64], ev_sign: NDArray[np.integer], before: int, low: int, high: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """When, in ``[low, high)``, anything is there: sorted, disjoint [from, to).

    Events (in time order) change the number of rows, which is ``before`` at first.
    """
    if low >= high:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    at = np.concatenate([np.array([low]), np.minimum(np.maximum(ev_time, low), high)]).astype(np.int64)
    total = np.cumsum(np.concatenate([np.array([before]), ev_sign]).astype(np.int64))
    last = np.append(at[1:] != at[:-1], True)  # what an instant's last event leaves
    at, there = at[last], total[last] > 0
    begins = there & np.append(True, ~there[:-1])
    ends = ~there & np.append(False, there[:-1])
    return at[begins], np.append(at[ends], np.full(int(begins.sum() - ends.sum()), high, np.int64))


@kernel(nb.types.Tuple((MI64, MI64))(I64, I64, I64, I64), cache=True)
def _spread(first, last, instants, begin):  # type: ignore[no-untyped-def]
    row = np.empty(begin[len(instants)], np.int64)
    time = np.empty(begin[len(instants)], np.int64)
    used = begin[:-1].copy()
    for i in range(len(first)):
        for k in range(first[i], last[i]):
            row[used[k]] = i
            time[used[k]] = instants[k]
            used[k] += 1
    return row, time


def spread(
    start: NDArray[np.int64], exp: NDArray[np.int64], instants: NDArray[np.int64], most: int | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64], int | None]:
    """(row, instant) for every instant at which a row is valid, in the order of instants. Cost: rows and output.

    With ``most`` pairs allowed, and more wanted, only the third result counts: the first instant that does not fit
    (never the very first one).
    """
    first, last = np.searchsorted(instants, start), np.searchsorted(instants, exp)
    there = np.bincount(first, minlength=len(instants) + 1) - np.bincount(last, minlength=len(instants) + 1)
    begin = np.append(0, np.cumsum(np.cumsum(there[:-1])))
    if most is not None and begin[-1] > most:
        fits = max(1, int(np.searchsorted(begin[1:], most, "right")))
        if fits < len(instants):
            return first[:0], last[:0], int(instants[fits])
    return *_spread(first, last, instants, begin), None
