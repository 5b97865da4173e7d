"""What the query shows of interval rows: their coming and going, or all of them at every instant.

Rows that are still valid stay in a structure ordered by expiry (a calendar queue), so those that leave are found by
bisection; rows that start later wait there too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal as OneOf

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch, concat_rows, forever, no_columns
from muntin.core.time import FOREVER
from muntin.kernels.keys import key_ids
from muntin.kernels.schedule import live_spans, spread, tick_times
from muntin.operators.context import Context
from muntin.operators.marks import marked
from muntin.operators.net import net
from muntin.operators.operator import Described, Show
from muntin.operators.structures import STRUCTURES
from muntin.plan.patterns import Pattern
from muntin.plan.windows import Ticks
from muntin.state.shard_state import ShardState
from muntin.state.window_rows import (
    EXP,
    START,
    WEIGHT,
    alive,
    by_expiry,
    cancel,
    entering,
    expire,
    insert,
    int64s,
    leaving,
    merge_closed,
    remaining,
    timed,
)


@dataclass(frozen=True)
class Materialize(Described):
    """Interval rows become what the query shows: "changes" (both signs) or "snapshots" (all live rows per instant).

    Snapshots are taken at ``ticks``, or where there are none at every instant at which a row of the further arguments
    (or of the inputs that only mark instants) enters or leaves.
    """

    emit: OneOf["changes", "snapshots"]
    ticks: Ticks | None = None

    stateful = True

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        return materialize(self, state, "op", inputs[0], marked(state, "op", inputs[1:], ctx))

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """Changes keep the pattern; snapshots are a stream of whole answers."""
        return inputs[0] if self.emit == "changes" else Pattern.MON

    def words(self, show: Show) -> str:
        return f"materialize, emit {self.emit}"

    def keeps(self, inputs: Sequence[Pattern], show: Show) -> str:
        whole = self.emit == "snapshots" and inputs[0] is Pattern.MON
        return "all rows" if whole else STRUCTURES[inputs[0]]


@dataclass(frozen=True)
class Insertions(Described):
    """Interval rows seen as insertions at their start: Istream of rows that can never be netted away."""

    stateful = True

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        return insertions(self, state, "op", inputs[0], ctx)

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """Rows are only added."""
        return Pattern.MON

    def words(self, show: Show) -> str:
        return "insertions"

    def keeps(self, inputs: Sequence[Pattern], show: Show) -> str:
        return "rows that start later"



def materialize(op: Materialize, state: ShardState, name: str, batch: Batch, ctx: Context) -> Batch:
    """Interval rows in; changes, or interval rows with ts = the instant (snapshots), out."""
    snapshots = op.emit == "snapshots"
    shown = _snapshots(op, state, name, batch, ctx) if snapshots else _changes(state, name, batch, ctx)
    expire(state, name, ctx.high, keep_forever=snapshots)
    if snapshots and batch.sign is not None:
        merge_closed(state, name, ctx.high, None, rebuild=_without_cancelled)
    else:
        merge_closed(state, name, ctx.high, ctx.pane)
    return shown


def _without_cancelled(rows: pa.RecordBatch) -> pa.RecordBatch:
    return by_expiry(cancel(rows, WEIGHT))


def _kept(batch: Batch) -> pa.RecordBatch:
    """The rows as they are stored."""
    rows = timed(batch.columns, batch.ts, batch.exp)
    return rows if batch.sign is None else rows.append_column(WEIGHT, pa.array(batch.sign))


def insertions(op: Insertions, state: ShardState, name: str, batch: Batch, ctx: Context) -> Batch:
    """Each row once, at its start; rows that start later wait."""
    waited = entering(state, name, ctx.low, ctx.high)
    late = batch.ts >= ctx.high
    if late.any():
        later = batch.where(late)
        insert(state, name, _kept(later))
        batch = batch.where(~late)
    state.keep(name, lambda c: c.meta["max_start"] >= ctx.high)
    rows = [batch, *(_as_batch(r, batch.columns.schema) for r in waited)]
    whole = Batch.concat(rows)
    return Batch(whole.columns, whole.ts, whole.exp, np.ones(len(whole), np.int8))


def _changes(state: ShardState, name: str, batch: Batch, ctx: Context) -> Batch:
    schema = batch.columns.schema
    waited = entering(state, name, ctx.low, ctx.high)
    left = leaving(state, name, ctx.low, ctx.high, ctx.scan)
    started = batch.ts < ctx.high
    stored = batch.where(~(started & ((batch.exp == FOREVER) | (batch.exp < ctx.high))))
    insert(state, name, _kept(stored))
    now = batch.where(started)
    gone = now.where(now.exp < ctx.high)
    entered = [now, *(_as_batch(r, schema) for r in waited)]
    over = [gone, *(_as_batch(r, schema) for r in left)]
    plus, minus = Batch.concat(entered), Batch.concat(over)
    both = Batch.concat([_signed(minus, minus.exp, -1), _signed(plus, plus.ts, 1)])
    return net(both.take(np.argsort(both.ts, kind="stable")))


def _signed(rows: Batch, at: NDArray[np.int64], sign: int) -> Batch:
    weights = np.full(len(rows), sign, np.int8) if rows.sign is None else rows.sign * np.int8(sign)
    return Batch(rows.columns, at, rows.exp, weights)


def _as_batch(rows: pa.RecordBatch, schema: pa.Schema) -> Batch:
    columns = rows.select(schema.names) if schema.names else no_columns(rows.num_rows)
    sign = np.asarray(rows.column(WEIGHT).to_numpy(), np.int8) if WEIGHT in rows.schema.names else None
    return Batch(columns, int64s(rows, START), int64s(rows, EXP), sign)


def _snapshots(op: Materialize, state: ShardState, name: str, batch: Batch, ctx: Context) -> Batch:
    insert(state, name, _kept(batch))
    stored = alive(state, name, ctx.low - 1)
    if not stored:
        return Batch.empty(batch.columns.schema)
    rows = concat_rows(stored)
    start, exp = int64s(rows, START), int64s(rows, EXP)
    if op.ticks is not None:
        instants = tick_times(
            live_spans(start, exp), op.ticks.slides, op.ticks.origins, max(ctx.low, ctx.first), ctx.until
        )
    else:
        assert ctx.instants is not None
        instants = ctx.instants
    row, time = spread(start, exp, instants)
    order = np.argsort(time, kind="stable")
    row, time = row[order], time[order]
    picked = _as_batch(rows.take(pa.array(row)), batch.columns.schema)
    shown = Batch(picked.columns, time, picked.exp, picked.sign)
    return shown if shown.sign is None else _whole(shown)


def _whole(shown: Batch) -> Batch:
    """Signed rows of each instant as plain rows: those that negative tuples took away are left out."""
    assert shown.sign is not None
    ids, count, _ = key_ids([*shown.columns.columns, pa.array(shown.ts)], len(shown))
    balance = np.bincount(ids, weights=shown.sign, minlength=count).astype(np.int64)
    kept = shown.where(remaining(ids, shown.sign, balance)) if len(shown) else shown
    return Batch(kept.columns, kept.ts, forever(len(kept)))
