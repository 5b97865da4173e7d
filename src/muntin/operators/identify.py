"""Rows told apart: each with its start and its number among equal rows of that start (INTERNAL windows, thesis 3.3.2).

What is shown once and stays has to be known again when an equal row comes or goes. A negative tuple does not say which
row it takes away, nor when that row started: of equal rows the oldest leaves first. State: of rows that negative tuples
take away those that are there, by value; of others those that have not started. Cost: the rows of the step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch, forever
from muntin.core.errors import InternalError
from muntin.kernels.hashing import hash_columns
from muntin.kernels.keys import key_ids
from muntin.operators.context import Context
from muntin.operators.events import events_of
from muntin.operators.held_back import held_back
from muntin.operators.net import net
from muntin.operators.operator import Described, Show
from muntin.plan.patterns import Pattern
from muntin.state.live_rows import add_live, live
from muntin.state.shard_state import ShardState
from muntin.state.window_rows import int64s

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Identify(Described):
    """The rows with two more columns (int64): start in microseconds, and number. Equal rows are on one shard.

    ``events``: rows come and go as events, with negative tuples, whatever expiry they came with; else they keep it.
    ``by_value``: equal rows that come and go at one instant cancel (results of aggregates, negation and the like).
    """

    columns: tuple[str, str]
    events: bool
    by_value: bool = False

    stateful = True

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        return _signed(self, state, inputs[0], ctx) if self.events else _started(self, state, inputs[0], ctx)

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """Events are taken back by negative tuples."""
        return Pattern.STR if self.events else inputs[0]

    def words(self, show: Show) -> str:
        return "tell equal rows apart"

    def keeps(self, inputs: Sequence[Pattern], show: Show) -> str:
        return "hash index of the rows that are there" if self.events else ""


def _started(op: Identify, state: ShardState, batch: Batch, ctx: Context) -> Batch:
    """Interval rows, once they start."""
    rows = held_back(state, "waiting", batch, ctx)
    return rows.with_columns(_named(op, rows.columns, rows.ts, _number(rows.columns, rows.ts)))


def _signed(op: Identify, state: ShardState, batch: Batch, ctx: Context) -> Batch:
    """Events; a negative tuple gets the start and number of the oldest row that it can be about."""
    both = events_of(state, "rows", batch, ctx)
    both = net(both) if op.by_value else both
    assert both.sign is not None
    come, gone = both.where(both.sign > 0), both.where(both.sign < 0)
    fresh = _named(op, come.columns, come.ts, _number(come.columns, come.ts))
    wanted = hash_columns(gone.columns.columns, len(gone))
    known = live(state, "live", wanted) if len(gone) else None
    there = fresh if known is None else pa.Table.from_batches([known, fresh]).combine_chunks().to_batches()[0]
    left = _oldest(op, there, gone) if len(gone) else fresh.slice(0, 0)
    add_live(state, "live", fresh, hash_columns(come.columns.columns, len(come)), 1, ctx.high)
    add_live(state, "live", left, wanted, -1, ctx.high)
    out = [
        Batch(rows, at, forever(len(at)), np.full(len(at), sign, np.int8))
        for rows, at, sign in ((left, gone.ts, -1), (fresh, come.ts, 1))
    ]
    return Batch.concat(out).in_time()


def _oldest(op: Identify, there: pa.RecordBatch, gone: Batch) -> pa.RecordBatch:
    """The rows of ``there`` that leave: of each value as many as go, the oldest first, in the order of ``gone``."""
    n = there.num_rows
    names = gone.columns.schema.names
    both = [pa.concat_arrays([there.column(c), gone.columns.column(c)]) for c in names]
    ids, _, _ = key_ids(both, n + len(gone))
    start, number = (int64s(there, c) for c in op.columns)
    order = np.lexsort([number, start, ids[:n]])
    asked = np.lexsort([gone.ts, ids[n:]])
    first = np.searchsorted(ids[:n][order], ids[n:][asked])
    place = first + _rank(ids[n:][asked])
    if (place >= n).any() or (ids[:n][order][place] != ids[n:][asked]).any():
        raise InternalError("a row leaves that is not there")
    found = np.empty(len(gone), np.int64)
    found[asked] = order[place]
    return there.take(pa.array(found))


def _number(columns: pa.RecordBatch, ts: Ints) -> Ints:
    """Of each row its number among the equal ones of its instant."""
    ids, _, _ = key_ids([*columns.columns, pa.array(ts)], len(ts))
    order = np.argsort(ids, kind="stable")
    found = np.empty(len(ts), np.int64)
    found[order] = _rank(ids[order])
    return found


def _rank(ids: Ints) -> Ints:
    """Of each row its place among the neighbours with its id."""
    first = np.flatnonzero(np.append(True, np.diff(ids) != 0)) if len(ids) else np.empty(0, np.int64)
    return np.arange(len(ids)) - np.repeat(first, np.diff(np.append(first, len(ids))))


def _named(op: Identify, columns: pa.RecordBatch, start: Ints, number: Ints) -> pa.RecordBatch:
    arrays = [*columns.columns, pa.array(start), pa.array(number)]
    return pa.RecordBatch.from_arrays(arrays, names=[*columns.schema.names, *op.columns])
