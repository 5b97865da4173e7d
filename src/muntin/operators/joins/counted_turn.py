"""An interval of time of one input of a join of windows of rows: which row of which partition came when in it.

A step of a join that is done whole has one, the step itself; where the join is done slice by slice there is one for the
slices that have been done up to the same instant (``slices.in_turns``), which may begin before the step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from muntin.core.time import FOREVER, NEVER
from muntin.operators.joins.counted_rows import PLACE, CountedRows, Numbered
from muntin.operators.joins.gather import Refs, gather
from muntin.operators.joins.room import Room
from muntin.state.window_rows import START, int64s

Ints = NDArray[np.int64]


class CountedTurn:
    """The ``rows`` of an input in a turn of their join: what comes at ``since`` or later and ``before`` an instant.
    ``had``, ``has``: how many rows of each partition had entered before the turn, and by its end: with SLIDE m those up
    to the last multiple of m.

    ``upto`` and ``moment`` cost a bisection in the rows that come.
    """

    def __init__(self, rows: CountedRows, since: int, before: int) -> None:
        self.rows, self.given, self._within_step = rows, rows.given, since >= rows.low
        self._earlier, start = rows.logged(since)
        group, start = np.concatenate([self._earlier, rows.group]), np.concatenate([start, rows.start])
        end = int(np.searchsorted(start, before))
        self.group, self.start = group[:end], start[:end]
        order = np.argsort(self.group, kind="stable")
        self._times = self.start[order]
        self._instants = np.unique(self.start)
        self._by_group = self._at(self.group[order], np.searchsorted(self._instants, self._times))
        self._count()

    def _count(self) -> None:
        counts, slide = self.rows.counts, self.given.slide
        self._had = counts - np.bincount(self._earlier, minlength=len(counts))
        came = np.bincount(self.group, minlength=len(counts))
        self._has, self._begin = self._had + came, np.cumsum(came) - came
        self.had, self.has = self._had // slide * slide, self._has // slide * slide

    def _at(self, group: Ints, instant: Ints) -> Ints:
        """One number for a partition and the place of an instant, in their order."""
        return group * (len(self._instants) + 1) + instant

    def partitions_of(self, rows: Numbered, other: CountedTurn) -> Ints:
        """The partitions of rows of the other input, as this one is partitioned by what is joined."""
        if not self.given.by:
            return np.zeros(len(rows), np.int64)
        theirs = [other.given.keys[self.given.keys.index(n)] for n in self.given.by]
        found = self.rows.ids_of(gather(rows.refs, other.rows.window, theirs).columns, len(rows))
        self._count()
        return found

    def in_partitions(self, rows: Numbered) -> Numbered:
        """Rows of this input with their partitions."""
        found = self.rows.in_partitions(rows)
        self._count()
        return found

    def upto(self, group: Ints, at: Ints, before: bool = False) -> Ints:
        """How many rows of the partitions had entered at the instants (``before``: before them)."""
        instants = np.searchsorted(self._instants, at, side="left" if before else "right")
        here = np.searchsorted(self._by_group, self._at(group, instants)) - self._begin[group]
        return (self._had[group] + here) // self.given.slide * self.given.slide

    def moment(self, group: Ints, number: Ints) -> Ints:
        """When row ``number`` of each partition entered: FOREVER if it has not by the end of the turn, NEVER if before
        it."""
        number, had, has = -(-number // self.given.slide) * self.given.slide, self._had[group], self._has[group]
        here = (number > had) & (number <= has)
        place = np.where(here, self._begin[group] + number - had - 1, 0)
        times = self._times[place] if len(self._times) else np.zeros(len(place), np.int64)
        return np.where(here, times, np.where(number > has, FOREVER, NEVER))

    def coming(self, room: Room) -> tuple[Numbered, Ints] | None:
        """The rows that enter and are kept, and when they do; None for none."""
        if not self._within_step or self.given.slide > 1:
            group = np.unique(self.group)
            found = self.rows.of_partitions(group, (self.had[group] + 1, self.has[group]), room)
            return (found, self.moment(found.group, found.number)) if len(found) else None
        new = self.rows.new
        if new is None:
            return None
        place, number = int64s(new.rows, PLACE), int64s(new.rows, START)
        refs = Refs(np.full(len(place), len(self.rows.chunks)), np.arange(len(place)))
        return Numbered(refs, self.group[place], number), self.start[place]

    def leaving(self, count: int, room: Room, new: bool) -> Numbered | None:
        """The rows that are pushed out of a window of ``count``: of those that came before the turn, or of all if those
        that come in it are wanted too (``new``); None for none."""
        group = np.unique(self.group)
        last = self.has[group] - count
        numbers = self.had[group] - count + 1, last if new else np.minimum(last, self.had[group])
        found = self.rows.of_partitions(group, numbers, room, new)
        return found if len(found) else None

    def held(self, count: int) -> Numbered:
        """The rows that are in a window of ``count`` before the turn. Cost: all rows that are kept."""
        rows = self.rows.kept()
        self._count()
        behind = self.had[rows.group] - rows.number
        return rows.take(np.flatnonzero((behind >= 0) & (behind < count)))
