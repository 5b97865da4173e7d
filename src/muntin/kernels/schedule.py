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

from muntin.core.zones import ticks_between
from muntin.kernels.joining import _grown
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


@nb.njit(nb.types.Tuple((MI64, MI64, MI64, MI64, MI64))(I64, I64, I8, MI64, I64), cache=True)
def _changes(ev_time, ev_group, ev_sign, live, extra):  # type: ignore[no-untyped-def]
    """Instant 0 has no events and shows every touched group as it was; then one instant per distinct event time.
    ``extra``: (instant, group) pairs flattened, at which a group is to be shown even without events."""
    n = len(ev_time)
    m = len(extra) // 2
    time = np.empty(n + m + 1, np.int64)
    ev_end = np.empty(n + m + 1, np.int64)
    em_end = np.empty(n + m + 1, np.int64)
    group = np.empty(2 * (n + m), np.int64)
    alive = np.empty(2 * (n + m), np.int64)
    seen = np.full(len(live), -1, np.int64)
    used = 0
    for i in range(n):
        if seen[ev_group[i]] < 0:
            seen[ev_group[i]] = 0
            group[used] = ev_group[i]
            alive[used] = live[ev_group[i]]
            used += 1
    for k in range(m):
        g = extra[2 * k + 1]
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
        while i < n and ev_time[i] == now:
            g = ev_group[i]
            live[g] += ev_sign[i]
            if seen[g] < instants:
                seen[g] = instants
                group[used] = g
                used += 1
            i += 1
        while k < m and extra[2 * k] == now:
            g = extra[2 * k + 1]
            if seen[g] < instants:
                seen[g] = instants
                group[used] = g
                used += 1
            k += 1
        for e in range(first, used):
            alive[e] = live[group[e]]
        time[instants] = now
        ev_end[instants] = i
        em_end[instants] = used
        instants += 1
    return time[:instants], ev_end[:instants], em_end[:instants], group[:used], alive[:used]


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
    schedule = Schedule(*_changes(ev_time, ev_group, ev_sign, live, extra))
    if len(schedule.time) > 1:
        schedule.time[0] = schedule.time[1] - 1
    return schedule


@nb.njit(MI64(I64, nb.int64), cache=True)
def previous_emission(group, groups):  # type: ignore[no-untyped-def]
    """The emission of the same group before each one; -1 for a group's first."""
    last = np.full(groups, -1, np.int64)
    previous = np.empty(len(group), np.int64)
    for e in range(len(group)):
        previous[e] = last[group[e]]
        last[group[e]] = e
    return previous


@nb.njit(
    nb.types.Tuple((MI64, MI64, MI64, MI64, MI64, nb.int64))(I64, I64, I8, MI64, I64, nb.int64, nb.boolean),
    cache=True,
)
def _snapshots(ev_time, ev_group, ev_sign, live, instants, total, always):  # type: ignore[no-untyped-def]
    n = len(ev_time)
    time = np.empty(max(16, len(instants)), np.int64)
    ev_end = np.empty(max(16, len(instants)), np.int64)
    em_end = np.empty(max(16, len(instants)), np.int64)
    group = np.empty(1024, np.int64)
    alive = np.empty(1024, np.int64)
    used = 0
    shown = 0
    i = 0
    for k in range(len(instants)):
        now = instants[k]
        while i < n and ev_time[i] <= now:
            g = ev_group[i]
            before = live[g]
            live[g] += ev_sign[i]
            total += (live[g] > 0) - (before > 0)
            i += 1
        if total > 0 or always:
            if used + len(live) > len(group):
                room = max(2 * len(group), used + len(live))
                group, alive = _grown(group, used, room), _grown(alive, used, room)
            for g in range(len(live)):
                if live[g] > 0 or always:
                    group[used] = g
                    alive[used] = live[g]
                    used += 1
        time[shown] = now
        ev_end[shown] = i
        em_end[shown] = used
        shown += 1
    return time[:shown], ev_end[:shown], em_end[:shown], group[:used], alive[:used], i


def at_instants(
    ev_time: NDArray[np.int64],
    ev_group: NDArray[np.int64],
    ev_sign: NDArray[np.int8],
    live: NDArray[np.int64],
    instants: NDArray[np.int64],
    always: bool,
) -> Schedule:
    """Every live group (every group when ``always``) is shown at each of ``instants`` (sorted).

    Events after the last instant are applied by a closing instant that shows nothing, so state ends where the batch
    ends.
    """
    total = int((live > 0).sum())
    *parts, applied = _snapshots(ev_time, ev_group, ev_sign, live, instants, total, always)
    time, ev_end, em_end, group, alive = parts
    if applied < len(ev_time):
        np.add.at(live, ev_group[applied:], ev_sign[applied:])
        time = np.append(time, ev_time[-1])
        ev_end = np.append(ev_end, len(ev_time))
        em_end = np.append(em_end, len(group))
    return Schedule(time, ev_end, em_end, group, alive)


def tick_times(
    spans: tuple[NDArray[np.int64], NDArray[np.int64]],
    slides: tuple[int, ...],
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


@nb.njit(nb.types.Tuple((MI64, MI64))(I64, I64, I64), cache=True)
def _spread(start, exp, instants):  # type: ignore[no-untyped-def]
    total = 0
    for i in range(len(start)):
        total += np.searchsorted(instants, exp[i]) - np.searchsorted(instants, start[i])
    row = np.empty(total, np.int64)
    time = np.empty(total, np.int64)
    used = 0
    for i in range(len(start)):
        k = np.searchsorted(instants, start[i])
        while k < len(instants) and instants[k] < exp[i]:
            row[used] = i
            time[used] = instants[k]
            used += 1
            k += 1
    return row, time


def spread(
    start: NDArray[np.int64], exp: NDArray[np.int64], instants: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(row, instant) for every instant at which a row is valid. Cost: the size of the output."""
    return _spread(start, exp, instants)
