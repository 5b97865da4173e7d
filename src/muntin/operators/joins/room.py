"""How many combinations a step of a join may make; where there would be more, the step is cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from muntin.core.allocation import memory_limit
from muntin.core.batch import Batch
from muntin.core.errors import BudgetError
from muntin.kernels.joining import UNBOUNDED, Found
from muntin.kernels.spans import Spans
from muntin.operators.context import Context, Cut
from muntin.operators.joins.indexed_window import OpenChunk
from muntin.state.window_rows import START, int64s

SHARE = 0.75
"""How much of the room rows are to take that are let in by what is expected of them."""


PAIR = 16
"""Bytes that a combination takes at the least."""


class Room:
    """What is left of a step's room: ``most`` combinations, until it shows that one instant alone has more."""

    def __init__(self, windows: Sequence[Sequence[OpenChunk]], ctx: Context) -> None:
        self._windows, self._ctx = windows, ctx
        self.most = ctx.most or UNBOUNDED
        self.looked = 0
        """Rows of the windows that probes looked at."""

    def middle(self) -> int | None:
        """A time inside the step with about half of the new rows before it; None if all start at one instant."""
        return _middle(self._windows, self._ctx)

    def check(self, rows: int) -> None:
        """Raises Cut at the middle of the new rows if ``rows`` are too many."""
        if rows <= self.most:
            return
        at = self.middle()
        if at is not None:
            raise Cut(at)
        self.most = UNBOUNDED

    def found(self, find: Callable[[int], Found], before: int = 0) -> Found:
        """What ``find`` (given how many pairs to stop after) finds, if it fits beside ``before`` rows."""
        pairs = find(self.most)
        if before + len(pairs[0]) > self.most:
            self.check(before + len(pairs[0]))
            pairs = find(self.most)
            fits_in_memory(before + len(pairs[0]))
        self.looked += int(pairs[2])
        return pairs

    def spans(self, find: Callable[[int], Spans], before: int = 0) -> Spans:
        """As ``found``, of a probe that gives spans."""
        found = find(self.most)
        if before + found.pairs > self.most:
            self.check(before + found.pairs)
            found = find(self.most)
            fits_in_memory(before + found.pairs)
        self.looked += found.looked
        return found


def fits_in_memory(rows: int) -> None:
    """Raises BudgetError where so many combinations of one instant are more than the machine can hold: it would end the
    process without a word."""
    limit = memory_limit()
    if rows * PAIR > limit > 0:
        raise BudgetError(
            f"{rows:,} combinations of rows meet in a join at one instant, and {limit:,} bytes of memory hold no more "
            f"than {limit // PAIR:,}: take shorter windows or a stricter condition, or aggregate each stream in a "
            "sub-query and join the groups"
        )


def cut_ahead(each: float, came: Sequence[Batch], ctx: Context) -> None:
    """Raises Cut before anything is done where the rows that start now, with ``each`` results a row as in the steps
    before, would make more than a step may give: at a time before which about as many of them start as have room."""
    if ctx.most is None or each * sum(map(len, came)) <= ctx.most:
        return
    starts = np.concatenate([b.ts for b in came])
    starts = starts[ctx.within(starts)]
    if each * len(starts) <= ctx.most:
        return
    fits = int(SHARE * ctx.most / each)
    at, first = int(np.partition(starts, fits)[fits]), int(starts.min())
    later = starts[starts > first]
    if len(later):
        raise Cut(at if at > first else int(later.min()))


def _middle(windows: Sequence[Sequence[OpenChunk]], ctx: Context) -> int | None:
    """A time inside the step with about half of the new rows before it; None if all start at one instant."""
    found = [int64s(c.rows, START)[mask] for w in windows for c in w if (mask := c.starting(ctx)) is not None]
    starts = np.sort(np.concatenate(found))
    later = starts[starts > starts[0]]
    return None if len(later) == 0 else max(int(starts[len(starts) // 2]), int(later[0]))
