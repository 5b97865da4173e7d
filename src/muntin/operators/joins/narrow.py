"""Of the results of a join that several queries share, those of one query: the join's windows are the longest, the
query's are narrower (Hammad et al., 2.2: a shared join, and a routing step with an output for each window).

A result belongs to a query iff its parts are in the query's windows together. Each part brings its event time as a
column, so the query's windows say anew when it enters and leaves, SLIDE included; the result is there while all are.
A result may then start later than the step in which it was found: at the query's next evaluation instant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch, no_columns
from muntin.core.time import Instants
from muntin.operators.compute import Compute, compute
from muntin.operators.context import Context
from muntin.operators.operator import Described, Show
from muntin.operators.time_window import TimeWindow
from muntin.optimizer.plan_text import window_text
from muntin.plan.exprs import TRUE, Expr
from muntin.plan.patterns import Pattern
from muntin.plan.windows import own_ticks, validity
from muntin.state.shard_state import ShardState


@dataclass(frozen=True)
class WindowedPart:
    """A part of a joined row. ``time``: the column of its event time, a timestamp or an integer counted in ``unit``
    microseconds; ``window``: the query's window on it."""

    time: str
    window: TimeWindow
    unit: int = 1

    @property
    def slides(self) -> bool:
        """Whether rows enter and leave at evaluation instants only."""
        return self.window.ticks is not None or own_ticks(self.window.window, self.window.options) is not None

    def at_tick(self, times: Instants) -> Instants:
        """When the window and then its query show what starts or ends at ``times``."""
        for ticks in (own_ticks(self.window.window, self.window.options), self.window.ticks):
            times = times if ticks is None else ticks.at_or_after(times)
        return times


@dataclass(frozen=True)
class Narrow(Described):
    """Interval rows of a join whose ``parts`` are in a query's windows together, and for which ``keep`` is true: what
    the query asks beyond what the shared join does. ``columns``: those of the join that the query reads, in order; they
    are called c0, c1, ... from here on.

    Cost: the join's results, and a copy of those that stay.
    """

    parts: tuple[WindowedPart, ...]
    columns: tuple[str, ...]
    keep: Expr = TRUE

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        return narrow(self, inputs[0])

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """A result leaves with the first of its parts, which need not be the part that came first."""
        return Pattern.WK

    def words(self, show: Show) -> str:
        windows = ", ".join(f"{show.column(p.time)} in {window_text(p.window.window)}" for p in self.parts)
        kept = "" if self.keep == TRUE else f", keep {show(self.keep)}"
        return f"narrow to {windows}{kept}"


def narrow(op: Narrow, batch: Batch) -> Batch:
    """The rows of the query. Rows come without signs: a row of a window of time is never taken back."""
    if len(batch) == 0:
        return Batch(_selected(op, batch.columns), batch.ts, batch.exp)
    times = [event_time(batch.columns.column(p.time), p.unit) for p in op.parts]
    start, exp = _interval(op, times, batch.ts)
    kept = start < exp
    found = Batch(batch.columns, start, exp).where(kept)
    if op.keep != TRUE:
        found = compute(Compute(op.keep), found)
    return found.with_columns(_selected(op, found.columns))


def _interval(op: Narrow, times: list[Instants], came: Instants) -> tuple[Instants, Instants]:
    """Start and expiry of each row in the query's windows. ``came``: when the join gave it, which is the latest event
    time of its parts, unless its rows were taken up later than they came: then it starts no earlier."""
    starts, ends = zip(*(_valid(p.window, t) for p, t in zip(op.parts, times, strict=True)), strict=True)
    start, exp = np.maximum.reduce(starts), np.minimum.reduce(ends)
    later = came > np.maximum.reduce(times)
    if later.any():
        since = np.maximum.reduce([p.at_tick(came) for p in op.parts])
        start = np.where(later, np.maximum(start, since), start)
    return start, exp


def _valid(window: TimeWindow, times: Instants) -> tuple[Instants, Instants]:
    start, exp = validity(window.window, times, window.options)
    if window.ticks is None:
        return start, exp
    return window.ticks.at_or_after(start), window.ticks.at_or_after(exp)


def _selected(op: Narrow, rows: pa.RecordBatch) -> pa.RecordBatch:
    if not op.columns:
        return no_columns(rows.num_rows)
    arrays = [rows.column(c) for c in op.columns]
    return pa.RecordBatch.from_arrays(arrays, names=[f"c{i}" for i in range(len(arrays))])


def event_time(column: pa.Array, unit: int) -> NDArray[np.int64]:
    """Microseconds of a column of event times, which has no NULL."""
    if pa.types.is_timestamp(column.type):
        column, unit = column.cast(pa.timestamp("us", column.type.tz)), 1
    raw = column.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return raw if unit == 1 else raw * unit
