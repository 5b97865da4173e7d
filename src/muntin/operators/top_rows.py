"""The first k rows of a window, or of each group of it: their changes, with rows that come back when others leave.

All live rows are remembered, counted, in sorted runs (``state.sorted_runs``). Of them a step reads, for each group that
it touches, the first k and as many more as leave in it, puts those and its own in order and keeps a counting tree over
them, so an instant costs k searches a group, whatever the window holds (thesis 2.2.2, holistic aggregates). Rows whose
keys tie with the k-th are read with it: they share its coarse key.
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
from muntin.kernels.ordered import ABOVE, DENSE, NUMBER, RANK, first_places
from muntin.kernels.runs import GREATEST, LEAST
from muntin.operators.context import Context
from muntin.operators.events import events_of
from muntin.operators.net import net
from muntin.operators.operator import Described, Show
from muntin.plan.exprs import Expr
from muntin.plan.nodes import RankKind
from muntin.plan.patterns import Pattern
from muntin.scalars.evaluate import evaluate
from muntin.state.keyed_table import KeyedTable
from muntin.state.shard_state import ShardState
from muntin.state.sorted_runs import Found, around, count_rows, counted_rows

_BITS = {"row_number": NUMBER, "rank": RANK, "dense_rank": DENSE}
_COLUMNS = {"row_number": 2, "rank": 3, "dense_rank": 4}


@dataclass(frozen=True)
class TopRows(Described):
    """Changes of the first rows, as ``plan.nodes.TopK`` says: ``by`` are columns; ``ranks`` further columns behind
    those of the input."""

    keys: tuple[tuple[Expr, bool, bool], ...]
    count: int
    by: tuple[str, ...] = ()
    offset: int = 0
    ties: bool = False
    ranks: tuple[RankKind, ...] = ()

    stateful = True

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        return top_rows(self, state, inputs[0], ctx)

    def current(self, inputs: Sequence[Batch], state: ShardState, at: int, ctx: Context) -> Batch:
        """The first of the rows that are there. Cost: all of these."""
        rows, count = counted_rows(state, LIVE)
        if rows is None:
            return self.step([Batch.empty(inputs[0].columns.schema)], ShardState(), ctx)
        kinds = np.repeat(np.arange(len(count)), count)
        there = Batch(rows.take(pa.array(kinds)), np.full(len(kinds), ctx.low), forever(len(kinds)))
        return self.step([there], ShardState(), ctx)

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """Other rows coming and going decide."""
        return Pattern.STR

    def words(self, show: Show) -> str:
        rows = f"{self.count} rows" if not self.offset else f"{self.count} rows behind {self.offset}"
        of = f" of each {', '.join(show.columns(self.by))}" if self.by else ""
        by = ", ".join(show(e) + (" desc" if d else "") for e, d, _ in self.keys)
        return f"first {rows}{of} by {by}{', with ties' if self.ties else ''}{self._ranked()}"

    def _ranked(self) -> str:
        return f", showing {', '.join(r.replace('_', ' ') for r in self.ranks)}" if self.ranks else ""

    def keeps(self, inputs: Sequence[Pattern], show: Show) -> str:
        return f"all rows in order, and those shown{'; group table' if self.by else ''}"


Ints = NDArray[np.int64]
LIVE = "live"


@dataclass(frozen=True)
class _Rows:
    """The different rows at hand in order of group and keys: ``rows``, and by row its group, its coarse key, how many
    there are before the step and the number of its class of equal keys."""

    rows: pa.RecordBatch
    group: Ints
    key: Ints
    count: Ints
    tie: Ints


def top_rows(op: TopRows, state: ShardState, batch: Batch, ctx: Context) -> Batch:
    """Weighted rows in; changes of the first rows out."""
    moves = events_of(state, "rows", batch, ctx)
    assert moves.sign is not None
    rows, time, sign = moves.columns, moves.ts, moves.sign.astype(np.int64)
    table = KeyedTable(state, "groups", pa.schema([rows.schema.field(n) for n in op.by]))
    group = table.ids_of(rows.select(list(op.by)), len(moves)) if op.by else np.zeros(len(moves), np.int64)
    groups = len(table) if op.by else 1
    stored, greatest = _stored(op, state, table.numbers() if op.by else np.zeros(1, np.int64), group, sign)
    known, place = _known(op, rows, group, stored)
    _write(op, state, known, place, sign, table)
    mine = np.where(known.key[place] > greatest[group], ABOVE, place)
    instants, instant = np.unique(time, return_inverse=True)
    order = np.lexsort([instant, group])
    events = _offsets(group, groups), mine[order], sign[order], instant[order]
    show = sum(_BITS[r] for r in set(op.ranks))
    wanted = op.offset, op.count, op.ties, show
    found = first_places(events, (_offsets(known.group, groups), known.count, known.tie), wanted)
    found = found[np.argsort(found[:, 0], kind="stable")]
    return net(_shown(op, known.rows, instants, found))


def _stored(op: TopRows, state: ShardState, number: Ints, group: Ints, sign: Ints) -> tuple[tuple[Found, Ints], Ints]:
    """What the runs hold of the first rows of each group, with the group of each row; by group the greatest key of
    which all rows are there."""
    reach = op.offset + op.count - 1 + np.bincount(group[sign < 0], minlength=len(number)).astype(np.int64)
    order = np.argsort(number)
    found = around(state, LIVE, number[order], (np.zeros(len(number), np.int64), reach[order]), 0.0)
    greatest = np.empty(len(number), np.int64)
    greatest[order] = found.greatest
    return (found, order[found.asked]), greatest


def _known(op: TopRows, rows: pa.RecordBatch, group: Ints, stored: tuple[Found, Ints]) -> tuple[_Rows, Ints]:
    """The different rows among those stored and those that come and go, and the place of each of the latter."""
    found, stored_group = stored
    names, before = rows.schema.names, len(found.count)
    both = rows if found.rows is None else concat_rows([found.rows.select(names), rows])
    of = np.append(stored_group, group)
    columns = [*both.columns, pa.array(of)] if op.by else both.columns
    ids, kinds, first = key_ids(columns, both.num_rows)
    kept = both.take(pa.array(first)) if names else both.slice(0, kinds)
    order, tie = _order(op, kept, of[first])
    place = np.empty(kinds, np.int64)
    place[order] = np.arange(kinds)
    count = np.zeros(kinds, np.int64)
    np.add.at(count, place[ids[:before]], found.count)
    kept = kept.take(pa.array(order)) if names else kept
    return _Rows(kept, of[first][order], _coarse(op, kept), count, tie), place[ids[before:]]


def _shown(op: TopRows, rows: pa.RecordBatch, instants: Ints, found: Ints) -> Batch:
    """The changes as rows, with their ranks."""
    columns = rows.take(pa.array(found[:, 1]))
    ranks = [pa.array(found[:, _COLUMNS[r]]).cast(pa.int32()) for r in op.ranks]
    if ranks:
        names = [f"c{i}" for i in range(columns.num_columns + len(ranks))]
        columns = pa.RecordBatch.from_arrays([*columns.columns, *ranks], names=names)
    return Batch(columns, instants[found[:, 0]], forever(len(found)), found[:, 5].astype(np.int8))


def _offsets(group: Ints, groups: int) -> Ints:
    return np.append(0, np.cumsum(np.bincount(group, minlength=groups)))


def _write(op: TopRows, state: ShardState, known: _Rows, place: Ints, sign: Ints, table: KeyedTable) -> None:
    """Add what the step changes to the counts of the rows, and of the groups."""
    change = np.zeros(known.rows.num_rows, np.int64)
    np.add.at(change, place, sign)
    changed = np.flatnonzero(change)
    group = known.group[changed]
    number = table.numbers()[group] if op.by else group
    count_rows(state, LIVE, known.rows.take(pa.array(changed)), number, known.key[changed], change[changed])
    if op.by:
        np.add.at(table.live, known.group[place], sign)
        table.save(np.flatnonzero(np.bincount(known.group[place], minlength=len(table))))


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


def _order(op: TopRows, rows: pa.RecordBatch, group: Ints) -> tuple[Ints, Ints]:
    """The rows' order by group, by the keys, then by all columns (ascending, NULLs first); in that order the number of
    each row's class of equal keys."""
    keys: list[Ints] = [group]
    for e, descending, nulls_first in op.keys:
        keys += sort_keys(evaluate(e, rows), descending, nulls_first)
    ties = len(keys)
    for column in rows.columns:
        keys += sort_keys(column, descending=False, nulls_first=True)
    order = np.lexsort(keys[::-1])
    differ = np.zeros(len(order), np.bool_)
    for key in keys[:ties]:
        differ[1:] |= np.diff(key[order]) != 0
    return order, np.cumsum(differ)
