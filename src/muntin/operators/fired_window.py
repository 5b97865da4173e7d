"""A time window that moves with the rows: ``[RANGE t SLIDE n]`` with n rows (a mixed jumping window, thesis 2.1).

It fires at every n-th row and then shows the rows of its length up to that instant. When a row leaves is known only
when
a later row fires, so the output is signed. State: the rows that have not left, and how many rows there have been.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch, concat_rows
from muntin.core.time import FOREVER
from muntin.operators.context import Context
from muntin.operators.operator import Described, Show
from muntin.operators.rows_window import released
from muntin.optimizer.plan_text import window_text
from muntin.plan.patterns import Pattern
from muntin.plan.windows import QueryOptions, Window, validity
from muntin.state.shard_state import ShardState
from muntin.state.window_rows import EXP, START, int64s


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
        return fired_window(self, state, "op", inputs[0], ctx)

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """Later rows decide when one leaves."""
        return Pattern.STR

    def words(self, show: Show) -> str:
        return f"window that moves every {self.rows} rows: {window_text(self.window)}"

    def keeps(self, inputs: Sequence[Pattern], show: Show) -> str:
        return "rows since the last firing that a later one may show"


SHOWN = "__shown"
"""When a held row was first shown (FOREVER: not yet)."""

Ints = NDArray[np.int64]


def fired_window(op: FiredWindow, state: ShardState, name: str, batch: Batch, ctx: Context) -> Batch:
    """Rows of an unbounded stream in, in order; weighted rows of the window out."""
    fresh = released(None, state, f"{name}.waiting", batch, ctx)
    seen = int(state.heads.get(f"{name}.count", 0))
    numbers = seen + 1 + np.arange(fresh.num_rows)
    fires = int64s(fresh, START)[numbers % op.rows == 0]
    state.heads[f"{name}.count"] = seen + fresh.num_rows
    new = fresh.append_column(SHOWN, pa.array(np.full(fresh.num_rows, FOREVER, np.int64)))
    held = [c.load() for c in state.list(f"{name}.held")]
    rows = concat_rows([*held, new])
    shown = int64s(rows, SHOWN)
    start, exp = validity(op.window, int64s(rows, START), op.options)
    enters = np.where(shown < FOREVER, shown, _first_fire(fires, start))
    leaves = _first_fire(fires, exp)
    _remember(state, f"{name}.held", rows, enters, leaves)
    return _emitted(batch, rows, enters, leaves, shown < FOREVER)


def _first_fire(fires: Ints, at: Ints) -> Ints:
    """The first firing at or after each instant; FOREVER if there has been none."""
    place = np.searchsorted(fires, at)
    return np.append(fires, FOREVER)[place]


def _remember(state: ShardState, structure: str, rows: pa.RecordBatch, enters: Ints, leaves: Ints) -> None:
    """Keep the rows that may still come or go."""
    kept = np.flatnonzero(leaves == FOREVER)
    state.replace(structure, list(state.list(structure)), None)
    if len(kept):
        place = rows.schema.get_field_index(SHOWN)
        marked = rows.set_column(place, SHOWN, pa.array(enters))
        state.append(structure, marked.take(pa.array(kept)))


def _emitted(batch: Batch, rows: pa.RecordBatch, enters: Ints, leaves: Ints, before: NDArray[np.bool_]) -> Batch:
    """Rows that are shown for the first time, then negative tuples of those that go."""
    coming = np.flatnonzero(~before & (enters < FOREVER) & (enters < leaves))
    going = np.flatnonzero(before & (leaves < FOREVER))
    index = np.concatenate([coming, going])
    ts = np.concatenate([enters[coming], leaves[going]])
    exp = np.concatenate([leaves[coming], np.full(len(going), FOREVER, np.int64)])
    sign = np.repeat(np.array([1, -1], np.int8), [len(coming), len(going)])
    columns = rows.drop_columns([START, EXP, SHOWN]).select(batch.columns.schema.names).take(pa.array(index))
    return Batch(columns, ts, exp, sign).take(np.argsort(ts, kind="stable"))
