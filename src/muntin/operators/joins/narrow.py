"""Of the results of a join that several queries share, those of one query: the join's windows are the longest, the
query's are narrower (Hammad et al., 2.2: a shared join, and a routing step with an output for each window).

A result belongs to a query iff its parts are in the query's windows together. Each part brings its event time as a
column, so the query's windows say anew when it enters and leaves, SLIDE included; the result is there while all are.
A result may then start later than the step in which it was found: at the query's next evaluation instant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch, no_columns
from muntin.core.time import DAY, Instants
from muntin.kernels.narrowing import MOST_WINDOWS, Windows
from muntin.operators.compute import Compute, compute
from muntin.operators.context import Context
from muntin.operators.joins.window_order import InOrder, rows_in_order
from muntin.operators.operator import Described, Show
from muntin.operators.time_window import TimeWindow
from muntin.optimizer.plan_text import window_text
from muntin.plan.exprs import TRUE, Expr, columns_of
from muntin.plan.patterns import Pattern
from muntin.plan.windows import Now, Range, own_ticks, validity
from muntin.state.shard_state import ShardState

MANY = 2
"""Queries from which on the results of their join are put in order of their windows for all of them."""


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

    Cost: the join's results, and a copy of those that stay. Where several queries with one window on all parts read a
    join, its results are put in order of their windows once (a join of two windows does it before it writes them), and
    each query takes those up to its own as they lie.
    """

    parts: tuple[WindowedPart, ...]
    columns: tuple[str, ...]
    keep: Expr = TRUE

    @cached_property
    def times(self) -> tuple[str, ...]:
        """The columns of event times."""
        return tuple(p.time for p in self.parts)

    @cached_property
    def reach(self) -> int | None:
        """Microseconds after which rows leave, where all parts have one window that does not slide; else None."""
        found = {_plain_reach(p) for p in self.parts}
        return found.pop() if len(found) == 1 else None

    @cached_property
    def apart(self) -> int | None:
        """Microseconds that parts of a result are less than apart; None where windows are moved apart by SLIDE."""
        if len({(own_ticks(p.window.window, p.window.options), p.window.ticks) for p in self.parts}) > 1:
            return None
        found = [_stays(p) for p in self.parts]
        return None if None in found else max(f for f in found if f is not None)

    @cached_property
    def read(self) -> frozenset[str]:
        """The columns that it needs of results in order of their windows."""
        return frozenset((*self.columns, *(c.name for c in columns_of(self.keep))))

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        batch = inputs[0]
        if self.reach is None or len(batch) == 0:
            return narrow(self, batch)
        if isinstance(batch, InOrder):
            return _from_order(self, batch, ctx.expires)
        key = (id(batch), self.times)
        if key not in ctx.shared:
            made = _in_order(self, batch, _alike(self, ctx.beside))
            ctx.shared[key] = made, batch  # the batch stays, and with it its name
        ordered: InOrder | None = ctx.shared[key][0]
        return narrow(self, batch) if ordered is None else _from_order(self, ordered, ctx.expires)

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """A result leaves with the first of its parts, which need not be the part that came first."""
        return Pattern.WK

    def words(self, show: Show) -> str:
        windows = ", ".join(f"{show.column(p.time)} in {window_text(p.window.window)}" for p in self.parts)
        kept = "" if self.keep == TRUE else f", keep {show(self.keep)}"
        return f"narrow to {windows}{kept}"


def _plain_reach(part: WindowedPart) -> int | None:
    """How long a row is in the window after its event time, which is when it enters."""
    return None if part.slides else _stays(part)


def _stays(part: WindowedPart) -> int | None:
    """How long a row is in the window after its event time, before SLIDE moves both."""
    window, options = part.window.window, part.window.options
    if options.bounds == "start":
        return None
    match window:
        case Now():
            return options.granule
        case Range(length=int(length), rows=None) if options.zone is None or length % DAY:
            return length + (options.granule if options.bounds == "closed" else 0)
    return None


def narrow(op: Narrow, batch: Batch) -> Batch:
    """The rows of the query. Rows come without signs: a row of a window of time is never taken back."""
    if len(batch) == 0:
        return Batch(_selected(op, batch.columns), batch.ts, batch.exp)
    times = [event_time(batch.columns.column(p.time), p.unit) for p in op.parts]
    start, exp = _interval(op, times, batch.ts)
    kept = start < exp
    if op.keep != TRUE:
        found = compute(Compute(op.keep), Batch(batch.columns, start, exp).where(kept))
        return found.with_columns(_selected(op, found.columns))
    return Batch(_selected(op, batch.columns), start, exp).where(kept)


def _interval(op: Narrow, times: list[Instants], came: Instants) -> tuple[Instants, Instants]:
    """Start and expiry of each row in the query's windows. ``came``: when the join gave it, which is the latest event
    time of its parts, unless its rows were taken up later than they came: then it starts no earlier."""
    starts, ends = zip(*(_valid(p.window, t) for p, t in zip(op.parts, times, strict=True)), strict=True)
    start, exp = reduce(np.maximum, starts), reduce(np.minimum, ends)
    later = came > reduce(np.maximum, times)
    if later.any():
        since = reduce(np.maximum, [p.at_tick(came) for p in op.parts])
        start = np.where(later, np.maximum(start, since), start)
    return start, exp


@dataclass(frozen=True)
class Narrowed:
    """How a join of two windows of ``lengths`` microseconds is read: by ``readers`` alone, most of which take their
    results from those in order of ``windows``. ``expires``: whether one of them reads when results expire."""

    readers: tuple[Narrow, ...]
    lengths: tuple[int, ...]
    windows: Windows
    expires: bool

    @staticmethod
    def of(readers: Sequence[object], lengths: Sequence[int], expires: bool) -> Narrowed | None:
        """None where its results need no order."""
        found = tuple(r for r in readers if isinstance(r, Narrow))
        alike = [r for r in found if r.reach is not None]
        if len(found) < len(readers) or len({r.times for r in alike}) != 1 or not MANY <= len(alike) <= MOST_WINDOWS:
            return None
        return Narrowed(found, tuple(lengths), _windows(alike), expires)

    @cached_property
    def read(self) -> frozenset[str]:
        """The columns that somebody reads."""
        return frozenset(c for r in self.readers for c in (*r.read, *(() if r.reach is not None else r.times)))


def _alike(op: Narrow, beside: Sequence[object]) -> list[Narrow]:
    """Those that can take theirs from the same results in order."""
    return [o for o in beside if isinstance(o, Narrow) and o.times == op.times and o.reach is not None]


def _windows(readers: Sequence[Narrow]) -> Windows:
    return Windows.of(np.unique(np.array([r.reach for r in readers], np.int64)))


def _in_order(op: Narrow, batch: Batch, alike: Sequence[Narrow]) -> InOrder | None:
    """The results in order; None where that is not worth it, or some were taken up later than they came."""
    if not MANY <= len(alike) <= MOST_WINDOWS:
        return None
    times = [event_time(batch.columns.column(p.time), p.unit) for p in op.parts]
    if (batch.ts != reduce(np.maximum, times)).any():
        return None
    return rows_in_order(batch.columns, times, _windows(alike), frozenset().union(*(o.read for o in alike)))


def _from_order(op: Narrow, made: InOrder, expires: bool) -> Batch:
    """The rows of the query from what it and those beside it share."""
    assert op.reach is not None
    found = made.held(op.reach, expires)
    if op.keep != TRUE:
        found = compute(Compute(op.keep), found)
    return found.with_columns(_selected(op, found.columns))


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
