"""The clock that the panes of a synopsis are cut by, and the instants of its windows on it.

Panes lie on the clock of UTC, or on the wall clock of a zone (``core.zones.Zone.wall``), which never goes back: a
window of whole days in a zone is one of the same length on that clock, whatever is changed on the way. Where RANGE
equals SLIDE it reaches to the instant before, which is further where the clock skips one.

Windows of hours in a zone are of real time, while their instants go by its clock: their panes (``of_hours``) lie on the
clock of UTC, on a grid that has the instants of all offsets (``core.zones.grid_of``).

Of ``closed`` windows, which hold rows of both of their ends, the rows of the last instant of a pane (of the last
granule) are kept apart from the others of it: these get a pane that ends half a pane earlier. A window then takes all
panes from where it begins on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from muntin.core.time import DAY, MICROSECOND, USABLE, ceil_to
from muntin.core.zones import ticks_between, zone

if TYPE_CHECKING:
    from muntin.operators.synopsis import Synopsis

Ints = NDArray[np.int64]


MOST = 1 << 20
"""Instants of a window in a zone that are listed in a step at most."""


@dataclass(frozen=True)
class Runs:
    """Windows at instants that follow each other by their slide. ``table``: by run the place of the window, the length
    of what it reads, its slide, where its multiples count from, the first instant and the end of the run: all on the
    clock of the panes."""

    table: Ints

    @property
    def window(self) -> Ints:
        """By run the place of its window."""
        return self.table[:, 0]

    @property
    def length(self) -> Ints:
        return self.table[:, 1]

    @property
    def after(self) -> int:
        """The end of the newest pane that none of them reads."""
        return int((self.table[:, 4] - self.table[:, 1]).min())


def panes_of(op: Synopsis, ts: Ints) -> Ints:
    """The ends of the panes of rows."""
    if op.of_hours:
        return op.ends.ceil(ts + op.shift)
    at = ts + op.shift if op.zone is None else zone(op.zone).wall(ts + op.shift)
    end = ceil_to(at, op.grid, op.base)
    return np.where(at > end - op.granule, end, end - op.unit) if op.granule else end


def whole_before(op: Synopsis, until: int) -> int:
    """No row comes any more for panes that end before it, when all rows before ``until`` are there. A part of a pane
    without its last granule, which stands before its rows' end, is whole with that."""
    if abs(until) >= USABLE:
        return until
    at = until if op.zone is None or op.of_hours else int(zone(op.zone).wall(np.array([until]))[0])
    return int(ceil_to(np.array([at]), op.grid, op.base)[0]) - op.unit if op.granule else at


def instants(op: Synopsis, shown: Ints) -> Ints:
    """When the clock of the panes shows its readings first."""
    return shown if op.zone is None or op.of_hours else zone(op.zone).reach(shown)


def runs(op: Synopsis, first: Sequence[int], until: int, held: tuple[int, int]) -> Runs:
    """What windows show: each from its instant ``first`` on, before ``until``. ``held``: the ends of the first and the
    last pane that is held: beyond, windows by group have nothing to show."""
    lengths, slides, origins = op.clocks
    due = [w for w, f in enumerate(first) if f < until]
    if op.zone is None:
        at = np.array(due, np.int64)
        whole = [at, lengths[at], slides[at], origins[at], np.array(first, np.int64)[at], np.full(len(at), until)]
        return Runs(np.column_stack(whole).astype(np.int64).reshape(-1, 6))
    rows: list[tuple[int, ...]] = []
    for w in due:
        low, high = first[w], min(until, USABLE)
        if op.groups:
            reach = instants(op, np.array([held[0], held[1] + 3 * int(lengths[w] + slides[w])], np.int64))
            low, high = max(low, int(reach[0])), min(high, int(reach[1]) + 1)
        rows += [(w, *r) for r in _zoned(op, w, low, high)]
    return Runs(np.array(rows, np.int64).reshape(-1, 6))


def too_far(op: Synopsis, first: Sequence[int], until: int, held: tuple[int, int]) -> int | None:
    """Where a step would have to end that has not too many instants to list; None where this one has not. As ``runs``.
    """
    if op.zone is None:
        return None
    slide, low = int(op.clocks[1].min()), min(first)
    if op.groups:
        ends = instants(op, np.array([held[0], held[1] + 4 * op.longest], np.int64))
        low, until = max(low, int(ends[0])), min(until, int(ends[1]))
    return low + slide * MOST if until - low > 2 * slide * MOST else None


def _zoned(op: Synopsis, window: int, low: int, high: int) -> list[tuple[int, int, int, int, int]]:
    shown, reach = readings(op, window, low, high)
    slide = int(op.clocks[1][window])
    if len(shown) == 0:
        return []
    cut = np.flatnonzero((np.diff(shown) != slide) | (np.diff(reach) != 0)) + 1
    parts = zip(np.split(shown, cut), np.split(reach, cut), strict=True)
    return [(int(r[0]), slide, int(s[0]), int(s[0]), int(s[-1]) + 1) for s, r in parts]


def readings(op: Synopsis, window: int, low: int, high: int) -> tuple[Ints, Ints]:
    """(what the clock of the panes shows at the window's instants in [low, high), how far it reaches back from each).
    """
    w, clock = op.windows[window], zone(op.zone)
    before = low - 3 * w.slide - DAY if w.length == w.slide else low
    ticks = ticks_between(before, high, w.slide, w.origin, op.zone) if high > low else np.empty(0, np.int64)
    shown, length = ticks if op.of_hours else clock.local(ticks), int(op.clocks[0][window])
    reach = np.full(len(shown), length)
    if w.length == w.slide:
        reach[1:] = np.diff(shown) + (length - w.length)
    kept = instants(op, shown) >= low
    return shown[kept], reach[kept]


def last_instants(op: Synopsis, at: int) -> tuple[Ints, Ints]:
    """By window (its last instant at or before a time, the end of the newest pane that it does not read there)."""
    lengths, slides, origins = op.clocks
    if op.zone is None:
        last = (at - origins) // slides * slides + origins
        return last, last - lengths
    found = np.empty((len(op.windows), 2), np.int64)
    for w in range(len(op.windows)):
        shown, reach = readings(op, w, at - 3 * int(slides[w]) - DAY, at + MICROSECOND)
        found[w] = int(instants(op, shown[-1:])[0]), int(shown[-1] - reach[-1])
    return np.ascontiguousarray(found[:, 0]), np.ascontiguousarray(found[:, 1])


def first_instants(op: Synopsis, at: int) -> Ints:
    """By window its first instant at or after a time."""
    _, slides, origins = op.clocks
    if op.zone is None:
        return np.asarray(-((origins - at) // slides) * slides + origins)
    clock, time = zone(op.zone), np.array([at], np.int64)
    return np.array([int(clock.ceil(time, w.slide, w.origin)[0]) for w in op.windows], np.int64)
