"""ORDER BY ... LIMIT k over a window: the changes of the first k rows, with rows that come back when others leave.

All live rows are remembered, counted, in sorted runs (``state.sorted_runs``). Of them a step reads the first k and as
many more as leave in it, puts those and its own in order and keeps a counting tree over them, so an instant costs k
searches, whatever the window holds (thesis 2.2.2, holistic aggregates).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.aggregates.order import sort_keys
from muntin.core.batch import Batch, concat_rows, forever
from muntin.kernels.coarse import coarse_keys
from muntin.kernels.keys import key_ids
from muntin.kernels.ordered import ABOVE, first_places
from muntin.kernels.runs import GREATEST, LEAST
from muntin.operators.context import Context
from muntin.operators.events import events_of
from muntin.operators.net import net
from muntin.operators.operator import Described, Show
from muntin.plan.exprs import Expr
from muntin.plan.patterns import Pattern
from muntin.scalars.evaluate import evaluate
from muntin.state.shard_state import ShardState
from muntin.state.sorted_runs import around, count_rows


@dataclass(frozen=True)
class TopRows(Described):
    """Changes of the first ``count`` rows by ``keys`` ((expression, descending, nulls first)), ties by all columns."""

    keys: tuple[tuple[Expr, bool, bool], ...]
    count: int

    stateful = True

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        return top_rows(self, state, inputs[0], ctx)

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """Other rows coming and going decide."""
        return Pattern.STR

    def words(self, show: Show) -> str:
        return f"first {self.count} rows by {', '.join(show(e) + (' desc' if d else '') for e, d, _ in self.keys)}"

    def keeps(self, inputs: Sequence[Pattern], show: Show) -> str:
        return "all rows in order, and those shown"


Ints = NDArray[np.int64]


def top_rows(op: TopRows, state: ShardState, batch: Batch, ctx: Context) -> Batch:
    """Weighted rows in; changes of the first rows out."""
    moves = events_of(state, "rows", batch, ctx)
    assert moves.sign is not None
    rows, time, sign = moves.columns, moves.ts, moves.sign.astype(np.int64)
    structure, nothing = "live", np.zeros(1, np.int64)
    reach = op.count - 1 + int((sign < 0).sum())
    stored = around(state, structure, nothing, (nothing, np.array([reach])), 0.0)
    names = batch.columns.schema.names
    known = len(stored.count)
    both = rows if stored.rows is None else concat_rows([stored.rows.select(names), rows])
    ids, kinds, first = key_ids(both.columns, both.num_rows)
    rows_known = both.take(pa.array(first)) if names else both.slice(0, kinds)
    key = _coarse(op, rows_known)
    count = np.zeros(kinds, np.int64)
    np.add.at(count, ids[:known], stored.count)
    order = _order(op, rows_known)
    place = np.empty(kinds, np.int64)
    place[order] = np.arange(kinds)
    instants, ends = np.unique(time, return_index=True)
    mine = np.where(key[ids[known:]] > stored.greatest[0], ABOVE, place[ids[known:]])
    shown = first_places(mine, sign, np.append(ends[1:], len(time)), count[order], op.count)
    _write(state, structure, rows_known, key, ids[known:], sign)
    at, found, change = shown
    columns = rows_known.take(pa.array(order[found]))
    return net(Batch(columns, instants[at], forever(len(at)), change.astype(np.int8)))


def _write(state: ShardState, structure: str, rows: pa.RecordBatch, key: Ints, ids: Ints, sign: Ints) -> None:
    """Add what the step changes to the counts of the rows."""
    change = np.zeros(rows.num_rows, np.int64)
    np.add.at(change, ids, sign)
    changed = np.flatnonzero(change)
    group = np.zeros(len(changed), np.int64)
    count_rows(state, structure, rows.take(pa.array(changed)), group, key[changed], change[changed])


def _coarse(op: TopRows, rows: pa.RecordBatch) -> Ints:
    """A key by row that never contradicts the order."""
    if op.keys:
        e, descending, nulls_first = op.keys[0]
        column = evaluate(e, rows)
    elif rows.num_columns:
        column, descending, nulls_first = rows.column(0), False, True
    else:
        return np.zeros(rows.num_rows, np.int64)
    key = coarse_keys(column)
    null = np.asarray(column.is_null())
    return np.where(null, LEAST if nulls_first else GREATEST, ~key if descending else key)


def _order(op: TopRows, rows: pa.RecordBatch) -> Ints:
    """The rows' order by the keys, then by all columns (ascending, NULLs first)."""
    keys: list[Ints] = []
    for e, descending, nulls_first in op.keys:
        keys += sort_keys(evaluate(e, rows), descending, nulls_first)
    for column in rows.columns:
        keys += sort_keys(column, descending=False, nulls_first=True)
    return np.lexsort(keys[::-1]) if keys else np.arange(rows.num_rows)
