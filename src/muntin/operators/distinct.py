"""Duplicate elimination over rows whose expiry is known: the thesis' delta operator (Golab 2006, section 3.5.2).

Of each value one row is shown until it expires. Of its duplicates only the one with the latest expiry is kept (the
youngest, as the thesis says, loses values where lifetimes differ): when the shown row expires, it is shown from then
on. So output rows are interval rows with a known expiry (weak non-monotonic), which follow one another and cover just
the instants at which the value is there, and nothing is ever taken back.

State: what is shown, in bucket order (a chunk is probed where it lies), and the candidates, ordered by when they will
be wanted (a calendar queue); at most a few rows a value, not the input. Cost of a step: its rows, the values of which
the shown row expires in it, and the results; the rest of the window is not touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch, no_columns
from muntin.core.time import NEVER
from muntin.kernels.covering import cover
from muntin.kernels.hashing import exact, hash_columns
from muntin.kernels.keys import columns_equal, key_ids
from muntin.kernels.spans import probe_spans
from muntin.operators.context import Context
from muntin.operators.held_back import held_back
from muntin.operators.joins.indexed_window import Layout, OpenChunk, rebuilder, store_rows
from muntin.operators.operator import Described, Show
from muntin.plan.patterns import Pattern
from muntin.state.shard_state import ShardState
from muntin.state.window_rows import (
    EXP,
    START,
    bounds,
    by_expiry,
    expire,
    insert,
    int64s,
    leaving,
    merge_closed,
    timed,
    valid_rows,
)


@dataclass(frozen=True)
class Distinct(Described):
    """Each value once while it is there: interval rows in and out. Equal rows are on one shard."""

    stateful = True

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        return distinct(self, state, inputs[0], ctx)

    def current(self, inputs: Sequence[Batch], state: ShardState, at: int, ctx: Context) -> Batch:
        """The values shown. Cost: those."""
        return valid_rows(state, "shown", inputs[0].columns.schema, at)

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """A duplicate takes the place of the row shown, with an expiry known then."""
        return inputs[0] if inputs[0] is Pattern.MON else max(inputs[0], Pattern.WK)

    def words(self, show: Show) -> str:
        return "distinct rows"

    def keeps(self, inputs: Sequence[Pattern], show: Show) -> str:
        if inputs[0] is Pattern.MON:
            return "hash index of the values seen"
        return "hash index of the rows shown; calendar queue of the duplicate of each that expires last"


UNTIL = "__until"
"""Of a candidate: its expiry. The time that orders candidates is the expiry of the row shown before them."""

Ints = NDArray[np.int64]


def distinct(op: Distinct, state: ShardState, batch: Batch, ctx: Context) -> Batch:
    """Interval rows in; each value once in every instant out, as interval rows that start in this step."""
    rows = _started(state, "waiting", batch, ctx)
    wanted = leaving(state, "candidates", ctx.low, ctx.high, ctx.scan)
    due = Batch.concat([Batch.empty(batch.columns.schema), *(_candidates(w, batch.columns.schema) for w in wanted)])
    both = Batch.concat([due, rows])
    ids, count, first = key_ids(both.columns.columns, len(both))
    shown = np.full(count, 2 * NEVER, np.int64)
    shown[ids[: len(due)]] = due.ts
    latest, row = _latest(ids[: len(due)], due.exp, count)
    asked = first[first >= len(due)]
    shown[ids[asked]] = _shown_until(state, "shown", both.columns.take(pa.array(asked)), ctx)
    found, begin, end = cover(ids, both.ts, both.exp, shown, (latest, row), len(due), ctx.high)
    result = Batch(both.columns.take(pa.array(found)), begin, end)
    result = result.take(np.argsort(begin, kind="stable"))
    kept = row[latest > shown]
    _remember(state, result, Batch(both.columns.take(pa.array(kept)), shown[ids[kept]], both.exp[kept]), ctx)
    return result


def _started(state: ShardState, structure: str, batch: Batch, ctx: Context) -> Batch:
    """The rows that start in this step, by start, those that stay longest first; later ones wait."""
    rows = held_back(state, structure, batch, ctx)
    return rows.take(np.lexsort([-rows.exp, rows.ts]))


def _candidates(rows: pa.RecordBatch, schema: pa.Schema) -> Batch:
    """Candidates that are due, with ts = when."""
    columns = rows.select(schema.names) if schema.names else no_columns(rows.num_rows)
    return Batch(columns, int64s(rows, EXP), int64s(rows, UNTIL))


def _latest(ids: Ints, exp: Ints, count: int) -> tuple[Ints, Ints]:
    """By id the latest expiry and its row."""
    latest, row = np.full(count, 2 * NEVER, np.int64), np.full(count, -1, np.int64)
    order = np.argsort(exp, kind="stable")
    latest[ids[order]], row[ids[order]] = exp[order], order
    return latest, row


def _shown_until(state: ShardState, structure: str, values: pa.RecordBatch, ctx: Context) -> Ints:
    """When the shown row of each value expires; before everything where none is shown."""
    n = values.num_rows
    until = np.full(n, 2 * NEVER, np.int64)
    h = hash_columns(values.columns, n)
    since, before = np.full(n, ctx.low - 1, np.int64), np.full(n, ctx.low, np.int64)
    proved = exact([c.type for c in values.columns])
    for chunk in map(OpenChunk, state.list(structure)):
        if n == 0 or chunk.meta["max_exp"] < ctx.low:
            continue
        found = probe_spans((h, since, before), chunk.probe_side(), chunk.directory(), ctx.low, False)
        mine, theirs = found.pair_rows(), found.pair_partners()
        state.looked += found.looked
        same = np.ones(len(mine), np.bool_)
        for column in values.schema.names:
            here, there = values.column(column), chunk.rows.column(column)
            if not proved or here.null_count or there.null_count:
                same &= columns_equal(here.take(pa.array(mine)), there.take(pa.array(theirs)))
        until[mine[same]] = chunk.probe_side()[2][theirs[same]]
    return until


def _remember(state: ShardState, result: Batch, candidates: Batch, ctx: Context) -> None:
    """Keep what goes on being shown, and the candidates (ts = when they will be wanted)."""
    names = result.columns.schema.names
    layout = Layout((tuple(names),))
    store_rows(state, "shown", result.where(result.exp >= ctx.high), layout)
    expire(state, "shown", ctx.high, keep_forever=True)
    merge_closed(state, "shown", ctx.high, ctx.pane, rebuild=rebuilder(layout, names))
    now = np.full(len(candidates), ctx.high - 1, np.int64)
    waiting = timed(candidates.columns, now, candidates.ts).append_column(UNTIL, pa.array(candidates.exp))
    insert(state, "candidates", waiting)
    expire(state, "candidates", ctx.high, keep_forever=True)
    merge_closed(state, "candidates", ctx.high, ctx.pane, rebuild=_last_ones)
    _compact(state)


def _compact(state: ShardState) -> None:
    """One candidate a value, when there are two on the average."""
    chunks = list(state.list("candidates"))
    if sum(c.meta["n"] for c in chunks) > 64 + 2 * sum(c.meta["n"] for c in state.list("shown")):
        rows = _last_ones(pa.Table.from_batches([c.load() for c in chunks]).combine_chunks().to_batches()[0])
        state.replace("candidates", chunks, rows, level=1, **bounds(rows))


def _last_ones(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Of the candidates of one value for one instant the one that expires last, in order of the instants."""
    columns = [rows.column(n) for n in rows.schema.names if n not in (START, UNTIL)]
    ids, count, _ = key_ids(columns, rows.num_rows)
    _, row = _latest(ids, int64s(rows, UNTIL), count)
    return by_expiry(rows.take(pa.array(row)))
