"""All rows that are valid, at every instant at which the query reports.

A step without an instant to report at only adds to what is kept. Where it has some, its work follows what it shows:
unsigned rows are spread over the instants of their interval; signed ones are counted by value, and a value is shown as
often as its count says (a negative tuple takes its row away from then on, or for an interval of time).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch, concat_rows, forever
from muntin.kernels.keys import key_ids
from muntin.kernels.schedule import at_instants, live_spans, populated_spans, spread
from muntin.operators.context import Context, Cut
from muntin.operators.counts import add_counts, counts_of
from muntin.operators.events import events_of
from muntin.operators.instants import any_instant, instants_in
from muntin.plan.windows import Ticks
from muntin.state.shard_state import ShardState
from muntin.state.window_rows import alive, as_batch, expire, insert, merge_closed, stored

Ints = NDArray[np.int64]


def snapshots(ticks: Ticks | None, state: ShardState, batch: Batch, ctx: Context) -> Batch:
    """Interval rows in; all that are valid at each of the instants out, with ts = the instant.

    Raises Cut where that is more than the step may give.
    """
    if batch.sign is not None:
        return _counted(ticks, state, batch, ctx)
    insert(state, "rows", stored(batch))
    due = any(any_instant(ticks, c.meta["min_start"], c.meta["max_exp"], ctx) for c in state.list("rows"))
    shown = _spread(ticks, state, batch.columns.schema, ctx) if due else Batch.empty(batch.columns.schema)
    expire(state, "rows", ctx.high, keep_forever=True)
    merge_closed(state, "rows", ctx.high, ctx.pane)
    return shown


def _spread(ticks: Ticks | None, state: ShardState, schema: pa.Schema, ctx: Context) -> Batch:
    held = as_batch(concat_rows(alive(state, "rows", ctx.low - 1)), schema)
    row, time, cut = spread(held.ts, held.exp, _instants(ticks, live_spans(held.ts, held.exp), ctx), ctx.most)
    if cut is not None:
        raise Cut(cut)
    return Batch(held.columns.take(pa.array(row)), time, held.exp[row])


def _instants(ticks: Ticks | None, spans: tuple[Ints, Ints], ctx: Context) -> Ints:
    """No evaluation comes before the query's first row."""
    return instants_in(ticks, (np.maximum(spans[0], ctx.first), spans[1]), ctx)


def _counted(ticks: Ticks | None, state: ShardState, batch: Batch, ctx: Context) -> Batch:
    """Signed rows of each instant as plain rows: each value as often as its rows leave over.

    What waits for its time stands in "rows", how often each value is there now in "counts".
    """
    events = events_of(state, "rows", batch, ctx)
    assert events.sign is not None
    if not any_instant(ticks, ctx.low, ctx.high, ctx):
        ids, count, first = key_ids(events.columns.columns, len(events))
        more = np.bincount(ids, weights=events.sign, minlength=count)
        add_counts(state, "counts", events.columns.take(pa.array(first)), more)
        return Batch.empty(batch.columns.schema)
    known, counts = counts_of(state, "counts", batch.columns.schema)
    rows = Batch.concat([Batch(known, counts, counts), Batch(events.columns, events.ts, events.exp)]).columns
    ids, count, first = key_ids(rows.columns, len(counts) + len(events))
    live, value = np.append(counts, np.zeros(count - len(counts), np.int64)), ids[len(counts) :]
    spans = populated_spans(events.ts, events.sign, int(live.sum()), ctx.low, ctx.high)
    instants = _instants(ticks, spans, ctx)
    plan, cut = at_instants(events.ts, value, events.sign, live, instants, copies=True, most=ctx.most)
    if cut is not None:
        raise Cut(cut)
    live[: len(counts)] -= counts
    add_counts(state, "counts", rows.take(pa.array(first)), live)
    at, found = plan.time[plan.instant_of_emission()] if len(plan.group) else np.empty(0, np.int64), plan.group
    if (plan.live != 1).any():
        at, found = np.repeat(at, plan.live), np.repeat(found, plan.live)
    return Batch(rows.take(pa.array(first[found])), at, forever(len(at)))
