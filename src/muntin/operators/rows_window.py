"""The sequencer: windows of the latest rows (``[ROWS n]``, ``[PARTITION BY k ROWS n]``), exact over the whole stream.

Row number i of a partition is in the window from the moment at which the count reaches i (with SLIDE m: the next
multiple of m) until it reaches i + n (rounded up likewise). The moment it leaves is known only when that later row
comes, so the output is signed: an open row, and later a negative tuple; a row that comes and goes within one step has
an interval. State: how many rows each partition has had, and the last n (+ m) rows of each, in runs by partition and
number (``state.runs``): a step reads the rows that it pushes out and writes those that come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from muntin.aggregates.order import sort_keys
from muntin.core.batch import Batch, all_plus, concat_rows, forever, no_columns
from muntin.core.time import FOREVER, NEVER
from muntin.operators.context import Context
from muntin.operators.operator import Described, Show
from muntin.optimizer.plan_text import window_text
from muntin.plan.patterns import Pattern
from muntin.plan.windows import Rows
from muntin.state.keyed_table import KeyedTable
from muntin.state.runs import add_run
from muntin.state.shard_state import ShardState
from muntin.state.sorted_runs import GROUP, between
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
        return rows_window(self, state, inputs[0], ctx)

    def current(self, inputs: Sequence[Batch], state: ShardState, at: int, ctx: Context) -> Batch:
        """The rows of the window. Cost: those that are kept."""
        return rows_in(self, self.count, state, inputs[0].columns.schema, at)

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """Later rows decide when one leaves."""
        return Pattern.STR

    def words(self, show: Show) -> str:
        return f"number the rows and window them: {window_text(Rows(self.count, self.slide, show.columns(self.by)))}"

    def keeps(self, inputs: Sequence[Pattern], show: Show) -> str:
        return "the last rows of each partition, numbered"


NUMBER = "__number"

Ints = NDArray[np.int64]


def rows_window(op: RowsWindow, state: ShardState, batch: Batch, ctx: Context) -> Batch:
    """Rows of an unbounded stream in, in order; weighted rows of the window out."""
    found = windows_of(op, (op.count,), state, batch, ctx)
    return found[0] if found else Batch.empty(batch.columns.schema, signed=True)


def windows_of(
    op: RowsWindow, counts: Sequence[int], state: ShardState, batch: Batch, ctx: Context
) -> list[Batch]:
    """As ``rows_window``, of windows of several sizes up to ``op.count`` over the same rows, which are numbered and
    kept once; none where no rows have come."""
    fresh = released(op.order, state, "waiting", batch, ctx)
    if op.by_value:
        fresh = fresh.take(pa.array(_by_value(fresh, batch.columns.schema.names)))
    if fresh.num_rows == 0:
        return []
    slide = op.slide or 1
    partitions = KeyedTable(state, "partitions", _keys(op, fresh).schema)
    group = partitions.ids_of(_keys(op, fresh), fresh.num_rows)
    had = partitions.counter("rows").copy()
    number = had[group] + rank_within(group) + 1
    has = had + np.bincount(group, minlength=len(had))
    moments = _Moments(had, has, group, number, int64s(fresh, START))
    found = []
    for count in counts:
        held, held_group = _moving(op, count, state, "held", partitions.numbers(), had, has)
        rows = fresh if held is None else concat_rows([held.select(fresh.schema.names), fresh])
        of, at = np.append(held_group, group), number if held is None else np.append(int64s(held, NUMBER), number)
        enters = moments.of(of, -(-at // slide) * slide)
        leaves = moments.of(of, -(-(at + count) // slide) * slide)
        found.append(_emitted(batch, rows, enters, leaves, ctx))
    partitions.counter("rows")[:] = has
    partitions.live[:] = 1
    partitions.save(np.arange(len(has)))
    staying = np.flatnonzero(moments.of(group, -(-(number + op.count) // slide) * slide) == FOREVER)
    own = [pa.array(number[staying]), pa.array(partitions.numbers()[group[staying]])]
    _remember(op, state, fresh.take(pa.array(staying)), own, int(has.max()))
    return found


def rows_in(op: RowsWindow, count: int, state: ShardState, schema: pa.Schema, at: int) -> Batch:
    """The rows of a window of ``count`` (up to ``op.count``) as they are kept, as entering at ``at``."""
    chunks = [c.load() for c in state.list("held")]
    if not chunks:
        return Batch.empty(schema, signed=True)
    slide, whole = op.slide or 1, concat_rows(chunks)
    has, number = _counts(op, state, whole), int64s(whole, NUMBER)
    last = has // slide * slide
    inside = np.flatnonzero((number > last - count) & (number <= last))
    rows = whole.select(schema.names).take(pa.array(inside))
    return Batch(rows, np.full(len(inside), at, np.int64), forever(len(inside)), all_plus(len(inside)))


def begin_rows(
    op: RowsWindow, state: ShardState, partitions: tuple[pa.RecordBatch, Ints], numbered: tuple[pa.RecordBatch, Ints],
    ahead: Batch,
) -> None:  # fmt: skip
    """Let an empty state go on where one is that has had these rows. ``partitions``: keys, and how many rows each has
    had; ``numbered``: the last rows of each at least, with their numbers; ``ahead``: rows whose instant is to come."""
    (keys, had), (rows, number) = partitions, numbered
    table = KeyedTable(state, "partitions", keys.schema)
    ids = table.ids_of(keys, len(had))
    table.counter("rows")[ids] = had
    table.live[:] = 1
    given = table.numbers()
    table.save(ids)
    if len(ahead):
        insert(state, "waiting", timed(ahead.columns, ahead.ts, ahead.exp))
    slide, group = op.slide or 1, table.ids_of(_keys(op, rows), rows.num_rows)
    staying = np.flatnonzero(number > table.counter("rows")[group] // slide * slide - op.count)
    if len(staying):
        own = [pa.array(number[staying]), pa.array(given[group[staying]])]
        kept = timed(rows.take(pa.array(staying)), np.zeros(len(staying), np.int64), forever(len(staying)))
        _remember(op, state, kept, own, int(had.max()))


def _keys(op: RowsWindow, rows: pa.RecordBatch) -> pa.RecordBatch:
    return rows.select(list(op.by)) if op.by else no_columns(rows.num_rows)


def _moving(
    op: RowsWindow, count: int, state: ShardState, structure: str, fixed: Ints, had: Ints, has: Ints
) -> tuple[pa.RecordBatch | None, Ints]:
    """Held rows that enter or leave a window of ``count`` as the counts of rows move from ``had`` to ``has``, and their
    partitions."""
    slide = op.slide or 1
    before, now = had // slide * slide, has // slide * slide
    last = np.minimum(now - count, had)
    leaving = (before - count + 1, last)
    entering = (np.maximum(before, last) + 1, np.where(now > before, had, 0))
    order = np.argsort(np.tile(fixed, 2), kind="stable")
    low, high = (np.concatenate(p)[order] for p in zip(leaving, entering, strict=True))
    rows, asked = between(state, structure, NUMBER, (np.tile(fixed, 2)[order], low, high))
    return rows, order[asked] % len(fixed)


@dataclass(frozen=True)
class _Moments:
    """When which row of a partition came. ``had`` and ``has``: rows by partition before and after the step; by fresh
    row its partition, number and time."""

    had: Ints
    has: Ints
    group: Ints
    number: Ints
    start: Ints

    def of(self, group: Ints, target: Ints) -> Ints:
        """When row ``target`` of each partition came: FOREVER if it has not, NEVER if before this step."""
        times = self.start[np.lexsort([self.number, self.group])]
        begin = np.cumsum(self.has - self.had) - (self.has - self.had)
        here = (target > self.had[group]) & (target <= self.has[group])
        place = np.where(here, begin[group] + target - self.had[group] - 1, 0)
        return np.where(here, times[place], np.where(target > self.has[group], FOREVER, NEVER))


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


def rank_within(group: Ints) -> Ints:
    """How many rows of the same group come before each."""
    order = np.argsort(group, kind="stable")
    first = np.flatnonzero(np.append(True, np.diff(group[order]) != 0)) if len(group) else np.empty(0, np.int64)
    rank = np.empty(len(group), np.int64)
    rank[order] = np.arange(len(group)) - np.repeat(first, np.diff(np.append(first, len(group))))
    return rank


def _remember(
    op: RowsWindow, state: ShardState, rows: pa.RecordBatch, own: list[pa.Array], most: int
) -> None:
    """Keep the rows, which have not left, in order of partition and number (``own``: number and partition). ``most``:
    rows that some partition has had."""
    structure = "held"
    slide = op.slide or 1
    if not op.by:
        state.keep(structure, lambda c: c.meta["max_number"] > most // slide * slide - op.count)
    marked = rows.append_column(NUMBER, own[0]).append_column(GROUP, own[1])

    def merged(runs: list[pa.RecordBatch], every: bool) -> pa.RecordBatch:
        """Several runs as one, without rows that have left."""
        whole = concat_rows(runs)
        has = _counts(op, state, whole)
        return _by_number(whole.take(pa.array(np.flatnonzero(int64s(whole, NUMBER) > has // slide * slide - op.count))))

    add_run(state, structure, _by_number(marked), merged, _newest)


def _counts(op: RowsWindow, state: ShardState, rows: pa.RecordBatch) -> Ints:
    """How many rows the partition of each row has had."""
    keys = _keys(op, rows)
    partitions = KeyedTable(state, "partitions", keys.schema)
    group = partitions.ids_of(keys, rows.num_rows)
    return partitions.counter("rows")[group]


def _by_number(rows: pa.RecordBatch) -> pa.RecordBatch:
    return rows.take(pa.array(np.lexsort([int64s(rows, NUMBER), int64s(rows, GROUP)])))


def _newest(rows: pa.RecordBatch) -> dict[str, int]:
    return {"max_number": int(int64s(rows, NUMBER).max())}


def _emitted(batch: Batch, rows: pa.RecordBatch, enters: Ints, leaves: Ints, ctx: Context) -> Batch:
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
