"""Joins of windows that are done slice by slice for the queries that share them (Hammad et al., 3.2 and 3.3;
``scheduling.slices``).

The slices lie between the windows of the queries: a combination is of the slice in which the time between its newest
and its oldest row lies, however many rows it has; of windows of rows, that in which the number of rows lies that have
come after a part of it when it begins. Small windows need few slices. In a step those slices are done that some query
which is due needs; for the others the rows of the step wait in the windows, where they are anyway, and are origins when
the slice is done next. Slices that have been done up to the same instant are done together, in one *turn*: where
nothing waits, the join is done whole. Results of a slice that was put off start before the step: the operators of the
queries that waited for it are as far back (``engine.deferral``).

In a turn of windows of time the origin is the newest row of its combinations, and windows are entered by time, so that
only rows are met that are near enough; in the last one combinations without a row of the turn's own age meet no younger
ones. So each combination is met in one turn; of more windows than two, those before the last are entered again by a
turn that takes up older slices, since nothing is kept of what other turns found in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from muntin.operators.context import Context
from muntin.operators.joins.harvest import Reading
from muntin.operators.joins.indexed_window import OpenChunk
from muntin.scheduling.policies import POLICIES
from muntin.scheduling.slices import sizes_of
from muntin.state.shard_state import ShardState

DONE = "slices"
"""Head of the state: for each slice the instant before which it is done."""

Ints = NDArray[np.int64]
T = TypeVar("T", bound=Sized)


@dataclass(frozen=True)
class Slices:
    """Slices that end with windows of ``ends`` (microseconds or rows, ascending). ``schedule``: name of the policy by
    which they are done, which is no part of what a join does."""

    ends: tuple[int, ...]
    schedule: str = field(default="swf", compare=False)

    def order(self) -> tuple[int, ...]:
        """Numbers of the slices in the order in which they are done."""
        return POLICIES[self.schedule].order(sizes_of(self.ends))

    def last(self, apart: int | None) -> int:
        """The last slice that a query needs of which rows are less than ``apart`` apart (None: as far as any)."""
        return len(self.ends) - 1 if apart is None else min(sum(e < apart for e in self.ends), len(self.ends) - 1)


def slices_of(op: object) -> Slices | None:
    """The slices of a join that is done so; None for all other operators."""
    found = getattr(op, "slices", None)
    return found if isinstance(found, Slices) else None


def words_of(slices: Slices | None) -> str:
    """For EXPLAIN, after what a join does."""
    return "" if slices is None else f", in {len(slices.ends)} slices ({slices.schedule})"


def in_turns(
    slices: Slices | None, state: ShardState, ctx: Context, join: Callable[[Context], list[T]]
) -> tuple[list[T], int, Context]:
    """What a step gives, turn by turn: its results, how many of them are of rows that start now, and the step up to
    where all slices are done. Notes in the state what is done. One turn, the step itself, where a join is done whole.

    Raises Cut where there are more results than a step may give (turns that take up older rows come first, so a cut
    before the step leaves the others for later).
    """
    if slices is None:
        whole = join(ctx)
        return whole, sum(map(len, whole)), ctx
    results: list[T] = []
    fresh = 0
    turns, done = _turns(slices, list(state.heads.get(DONE, [ctx.low] * len(slices.ends))), ctx)
    for turn in turns:
        left = None if turn.most is None else max(1, turn.most - sum(map(len, results)))
        found = join(replace(turn, most=left, narrowed=turn.narrowed if len(turns) == 1 else None))
        fresh += sum(map(len, found)) if turn.low >= ctx.low else 0
        results += found
    state.heads[DONE] = done
    return results, fresh, replace(ctx, high=min(done))


def _turns(slices: Slices, done: list[int], ctx: Context) -> tuple[list[Context], list[int]]:
    """The turns of a step, and up to where each slice is done then. Slices that are due are the first ones, so none has
    been done further than one before it."""
    turns = []
    last = slices.last(ctx.asked)
    for since, numbers in groupby(range(last, -1, -1), done.__getitem__):
        own = sorted(numbers)
        upto = max(since, min(ctx.high, ctx.reach))
        if upto > since:
            turns.append(replace(ctx, low=since, high=upto, apart=_apart(slices, own[0], own[-1])))
            done[own[0] : own[-1] + 1] = [upto] * len(own)
    return turns, done


def _apart(slices: Slices, first: int, last: int) -> tuple[int, int] | None:
    if first == 0 and last == len(slices.ends) - 1:
        return None
    return slices.ends[first - 1] if first else 0, slices.ends[last]


def entered(
    window: Sequence[OpenChunk], apart: tuple[int, int] | None, since: int, before: int, reading: Reading | None
) -> Iterator[tuple[int, OpenChunk]]:
    """The chunks of a window, by number, that may have partners for rows that start at ``since`` or later: with rows
    that start ``before`` and are in the window, near enough, by then; where windows are harvested those that are read.
    """
    for number, chunk in enumerate(window):
        if _leaves_by(chunk.meta, apart) <= since or chunk.meta["min_start"] >= before:
            continue
        if reading is None or reading.wants(chunk.meta):
            yield number, chunk


def _leaves_by(meta: Mapping[str, int], apart: tuple[int, int] | None) -> int:
    """When all rows of a chunk have left the window, or are too far from what starts then."""
    return meta["max_exp"] if apart is None else min(meta["max_exp"], meta["max_start"] + apart[1])


def near(chunk: OpenChunk, since: Ints, times: tuple[Ints, Ints], apart: tuple[int, int] | None) -> tuple[Ints, Ints]:
    """(since, exp): rows of a chunk with ``times`` (start, expiry) are in the window at the instants ``since`` and
    started less than ``apart[1]`` before them, iff exp > since of what is given.

    Cost: of the instants, where the chunk's rows all stay equally long; of its rows where not (those that a new join
    took up later than they came)."""
    start, exp = times
    if apart is None:
        return since, exp
    stays = chunk.meta["min_exp"] - chunk.meta["min_start"]
    if stays == chunk.meta["max_exp"] - chunk.meta["max_start"]:
        return (since + (stays - apart[1]) if stays > apart[1] else since), exp
    return since, np.minimum(exp, start + apart[1])


def starts_before(newest: Ints, oldest: Ints, tie: int, apart: tuple[int, int]) -> Ints:
    """Before which rows of the last window start that make a combination of these slices: its newest row starts at
    ``newest`` and its oldest so far at ``oldest``; ``tie``: 1 if they may start together with the newest."""
    low = apart[0]
    return np.where(newest - oldest < low, newest - low + 1, newest + tie)
