"""The sequencer: windows of the latest rows (``[ROWS n]``, ``[PARTITION BY k ROWS n]``), exact over the whole stream.

Row number i of a partition is in the window from the moment at which the count reaches i (with SLIDE m: the next
multiple
of m) until it reaches i + n (rounded up likewise). The moment it leaves is known only when that later row comes, so the
output is signed: an open row, and later a negative tuple; a row that comes and goes within one step has an interval.
State: the last n (+ m) rows of each partition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from muntin.aggregates.extremes import sort_keys
from muntin.core.batch import Batch, concat_rows
from muntin.core.time import FOREVER
from muntin.kernels.keys import key_ids
from muntin.operators.context import Context
from muntin.operators.operator import Described, Show
from muntin.optimizer.plan_text import window_text
from muntin.plan.patterns import Pattern
from muntin.plan.windows import Rows
from muntin.state.shard_state import ShardState
from muntin.state.window_rows import EXP, START, entering, expire, insert, int64s, timed


@dataclass(frozen=True)
class RowsWindow(Described):
    """Rows of an unbounded stream, in order, become the rows of ``[ROWS count]`` or ``[PARTITION BY by ROWS count]``.

    A negative tuple takes each row away when the row that pushes it out comes (signed output). With ``slide`` the
    contents move only when the count of rows (of the partition) is a multiple of it. ``order``: the column that orders
    rows of equal event time (None, and for its own ties: as they arrive). ``by_value``: all columns do, one after the
    other, NULLs first (nested ones apart): results of a query have no order of arrival of their own.
    """

    count: int
    slide: int | None
    by: tuple[str, ...]
    order: str | None = None
    by_value: bool = False

    stateful = True

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        return rows_window(self, state, "op", inputs[0], ctx)

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """Later rows decide when one leaves."""
        return Pattern.STR

    def words(self, show: Show) -> str:
        return f"number the rows and window them: {window_text(Rows(self.count, self.slide, show.columns(self.by)))}"

    def keeps(self, inputs: Sequence[Pattern], show: Show) -> str:
        return "the last rows of each partition, numbered"


NUMBER = "__number"

Ints = NDArray[np.int64]


def rows_window(op: RowsWindow, state: ShardState, name: str, batch: Batch, ctx: Context) -> Batch:
    """Rows of an unbounded stream in, in order; weighted rows of the window out."""
    fresh = released(op.order, state, f"{name}.waiting", batch, ctx)
    if op.by_value:
        fresh = fresh.take(pa.array(_by_value(fresh, batch.columns.schema.names)))
    held = [c.load() for c in state.list(f"{name}.held")]
    slide = op.slide or 1
    rows, number, old = _numbered(op, held, fresh)
    group, count, _ = key_ids([rows.column(b) for b in op.by], rows.num_rows)
    start = int64s(rows, START)
    enters = _moment(group, number, start, -(-number // slide) * slide)
    leaves = _moment(group, number, start, -(-(number + op.count) // slide) * slide)
    last = _last_numbers(group, number, count)
    _remember(op, state, name, rows, number, last[group], slide)
    return _emitted(op, batch, rows, old, enters, leaves, ctx)


def released(order: str | None, state: ShardState, structure: str, batch: Batch, ctx: Context) -> pa.RecordBatch:
    """Rows whose instant is complete, in order of time, then of the column ``order``; the others wait."""
    rows = timed(batch.columns, batch.ts, batch.exp)
    waited = entering(state, structure, ctx.low, ctx.high)
    now = batch.ts < ctx.high
    if not now.all():
        insert(state, structure, rows.take(pa.array(np.flatnonzero(~now))))
        rows = rows.take(pa.array(np.flatnonzero(now)))
    expire(state, structure, ctx.high, keep_forever=False)
    whole = concat_rows([*waited, rows])  # rows that waited came before those of the same instant that did not
    if order is None:
        return whole.take(pa.array(np.argsort(int64s(whole, START), kind="stable")))
    keys = [(START, "ascending"), (order, "ascending")]
    return whole.take(pc.sort_indices(whole, sort_keys=keys))


def _by_value(rows: pa.RecordBatch, names: list[str]) -> Ints:
    """The rows' order by time and, in an instant, by value."""
    plain = [rows.column(n) for n in names if not pa.types.is_nested(rows.schema.field(n).type)]
    keys = [k for column in plain for k in sort_keys(column, descending=False, nulls_first=True)]
    return np.lexsort([*keys[::-1], int64s(rows, START)])


def _numbered(op: RowsWindow, held: list[pa.RecordBatch], fresh: pa.RecordBatch) -> tuple[pa.RecordBatch, Ints, int]:
    """Held rows, then fresh ones, with their numbers in their partitions (from 1), and how many are held."""
    old = sum(h.num_rows for h in held)
    plain = [h.drop_columns([NUMBER]) for h in held]
    rows = concat_rows([*plain, fresh])
    group, count, _ = key_ids([rows.column(b) for b in op.by], rows.num_rows)
    number = np.empty(rows.num_rows, np.int64)
    if held:
        number[:old] = np.concatenate([int64s(h, NUMBER) for h in held])
    base = np.zeros(count, np.int64)
    np.maximum.at(base, group[:old], number[:old])
    number[old:] = base[group[old:]] + _rank_within(group[old:]) + 1
    return rows, number, old


def _rank_within(group: Ints) -> Ints:
    """How many rows of the same group come before each."""
    order = np.argsort(group, kind="stable")
    first = np.flatnonzero(np.append(True, np.diff(group[order]) != 0)) if len(group) else np.empty(0, np.int64)
    rank = np.empty(len(group), np.int64)
    rank[order] = np.arange(len(group)) - np.repeat(first, np.diff(np.append(first, len(group))))
    return rank


def _moment(group: Ints, number: Ints, start: Ints, target: Ints) -> Ints:
    """When row ``target`` of each row's partition came; FOREVER if it has not. Held rows reach back far enough."""
    order = np.lexsort([number, group])
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    at = place + (target - number)
    inside = at < len(order)
    hit = order[np.where(inside, at, 0)]
    found = inside & (group[hit] == group) & (number[hit] == target)
    return np.where(found, start[hit], FOREVER)


def _last_numbers(group: Ints, number: Ints, count: int) -> Ints:
    last = np.zeros(count, np.int64)
    np.maximum.at(last, group, number)
    return last


def _remember(
    op: RowsWindow, state: ShardState, name: str, rows: pa.RecordBatch, number: Ints, last: Ints, slide: int
) -> None:
    """Keep the rows that are in the window, or will be, or whose number is the partition's newest."""
    needed = np.flatnonzero(number > last - op.count - slide)
    structure = f"{name}.held"
    state.replace(structure, list(state.list(structure)), None)
    if len(needed):
        kept = rows.append_column(NUMBER, pa.array(number)).take(pa.array(needed))
        state.append(structure, kept)


def _emitted(
    op: RowsWindow, batch: Batch, rows: pa.RecordBatch, old: int, enters: Ints, leaves: Ints, ctx: Context
) -> Batch:
    """Rows that enter in this step (with their end if it is known), then negative tuples of those that leave."""
    names = batch.columns.schema.names
    coming = np.flatnonzero((enters >= ctx.low) & (enters < FOREVER) & (enters < leaves))
    going = np.flatnonzero((enters < ctx.low) & (leaves >= ctx.low) & (leaves < FOREVER))
    index = np.concatenate([coming, going])
    ts = np.concatenate([enters[coming], leaves[going]])
    exp = np.concatenate([leaves[coming], np.full(len(going), FOREVER, np.int64)])
    sign = np.repeat(np.array([1, -1], np.int8), [len(coming), len(going)])
    columns = rows.drop_columns([START, EXP]).select(names).take(pa.array(index))
    order = np.argsort(ts, kind="stable")
    return Batch(columns, ts, exp, sign).take(order)
