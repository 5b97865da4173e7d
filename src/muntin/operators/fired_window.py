"""A time window that moves with the rows: ``[RANGE t SLIDE n]`` with n rows (a mixed jumping window, thesis 2.1).

It fires at every n-th row and then shows the rows of its length up to that instant. When a row leaves is known only
when a later row fires, so the output is signed. State: how many rows there have been, the rows since the last firing,
and those that it showed in order of expiry: a firing reads the former, which enter, and what leaves of the latter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch, concat_rows
from muntin.core.calendar import nominal
from muntin.core.time import FOREVER, NEVER
from muntin.operators.context import Context
from muntin.operators.operator import Described, Show
from muntin.operators.rows_window import released
from muntin.optimizer.plan_text import window_text
from muntin.plan.patterns import Pattern
from muntin.plan.windows import QueryOptions, Range, Window, validity
from muntin.state.runs import add_run
from muntin.state.shard_state import ShardState
from muntin.state.window_rows import (
    EXP,
    PANES,
    START,
    expire,
    insert,
    int64s,
    leaving,
    merge_closed,
    timed,
)


@dataclass(frozen=True)
class FiredWindow(Described):
    """Rows of an unbounded stream, in order, become the rows of a time window that moves with the rows.

    Its contents are those of ``window`` (without SLIDE) as of the last row whose number is a multiple of ``rows``.
    """

    window: Window
    rows: int
    options: QueryOptions

    stateful = True

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        return fired_window(self, state, inputs[0], ctx)

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """Later rows decide when one leaves."""
        return Pattern.STR

    def words(self, show: Show) -> str:
        return f"window that moves every {self.rows} rows: {window_text(self.window)}"

    def keeps(self, inputs: Sequence[Pattern], show: Show) -> str:
        return "rows since the last firing that a later one may show"


Ints = NDArray[np.int64]


def fired_window(op: FiredWindow, state: ShardState, batch: Batch, ctx: Context) -> Batch:
    """Rows of an unbounded stream in, in order; weighted rows of the window out."""
    fresh = released(None, state, "waiting", batch, ctx)
    seen = int(state.heads.get("count", 0))
    numbers = seen + 1 + np.arange(fresh.num_rows)
    fires = int64s(fresh, START)[numbers % op.rows == 0]
    state.heads["count"] = seen + fresh.num_rows
    fresh = _expiring(op, fresh)
    if len(fires) == 0:
        _wait(state, "new", fresh)
        return Batch.empty(batch.columns.schema, signed=True)
    rows = concat_rows([*(c.load() for c in state.list("new")), fresh])
    enters, leaves = (_first_fire(fires, int64s(rows, n)) for n in (START, EXP))
    state.keep("new", lambda _: False)
    _wait(state, "new", rows.take(pa.array(np.flatnonzero(enters == FOREVER))))
    staying = (enters < FOREVER) & (leaves == FOREVER) & (int64s(rows, EXP) < FOREVER)
    gone = _moved(op, state, rows.take(pa.array(np.flatnonzero(staying))), int(fires[-1]))
    coming = np.flatnonzero((enters < FOREVER) & (enters < leaves))
    entered = (rows.take(pa.array(coming)), enters[coming], leaves[coming])
    return _emitted(batch, entered, gone, _first_fire(fires, int64s(gone, EXP)))


def _wait(state: ShardState, structure: str, rows: pa.RecordBatch) -> None:
    """Keep rows until the next firing."""
    add_run(state, structure, rows, lambda runs, _: concat_rows(runs))


def _moved(op: FiredWindow, state: ShardState, shown: pa.RecordBatch, last: int) -> pa.RecordBatch:
    """Keep the rows that are shown now; returns those shown before that leave by the ``last`` firing."""
    structure, before = "shown", state.heads.get("fired", NEVER)
    gone = leaving(state, structure, before + 1, last + 1)
    state.heads["fired"] = last
    expire(state, structure, last + 1, keep_forever=False)
    insert(state, structure, shown)
    pane = max(1, nominal(op.window.length) // PANES) if isinstance(op.window, Range) else None
    merge_closed(state, structure, last + 1, pane)
    return concat_rows([shown.slice(0, 0), *gone])


def _expiring(op: FiredWindow, rows: pa.RecordBatch) -> pa.RecordBatch:
    """The rows with the expiry that the window gives them."""
    start, exp = validity(op.window, int64s(rows, START), op.options)
    return timed(rows.drop_columns([START, EXP]), start, exp)


def _first_fire(fires: Ints, at: Ints) -> Ints:
    """The first firing at or after each instant; FOREVER if there has been none."""
    place = np.searchsorted(fires, at)
    return np.append(fires, FOREVER)[place]


def _emitted(batch: Batch, entered: tuple[pa.RecordBatch, Ints, Ints], gone: pa.RecordBatch, at: Ints) -> Batch:
    """Rows that are shown for the first time (from, to), then negative tuples of those that go (``at``)."""
    rows, enters, leaves = entered
    ts, exp = np.append(enters, at), np.append(leaves, np.full(len(at), FOREVER, np.int64))
    sign = np.repeat(np.array([1, -1], np.int8), [len(enters), len(at)])
    columns = concat_rows([rows, gone]).drop_columns([START, EXP]).select(batch.columns.schema.names)
    return Batch(columns, ts, exp, sign).in_time()
