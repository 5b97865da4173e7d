"""One step of one (query stage, shard): arrived rows and progress in, result rows and the next state out.

Both runtimes drive exactly this. Rows travel between stages as Arrow record batches whose last columns are ours:
``__ts`` (int64: event time of a source row, start of an interval row, or instant of a change), then for derived rows
``__exp`` (int64), and ``__sign`` (int8) for signed ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch, no_columns
from muntin.core.time import FOREVER, NEVER
from muntin.core.watermark import Header, SourceClock, stage_watermark
from muntin.kernels.hashing import buffer_values
from muntin.physical.operators.compute import compute
from muntin.physical.operators.context import Context
from muntin.physical.operators.group_aggregate import group_aggregate
from muntin.physical.operators.materialize import insertions, materialize
from muntin.physical.operators.net import net
from muntin.physical.operators.window_join import window_join
from muntin.physical.stage import (
    Compute,
    GroupAggregate,
    Input,
    Insertions,
    Materialize,
    Net,
    OneSign,
    Op,
    PhysicalQuery,
    SourceInput,
    Stage,
    WindowJoin,
)
from muntin.plan.windows import Now, Range, Window, validity
from muntin.state.shard_state import ShardState
from muntin.state.window_rows import PANES

TS, EXP, SIGN = "__ts", "__exp", "__sign"


@dataclass(frozen=True)
class Progress:
    """Instants in ``[before, watermark)`` are answered by this step; nothing after ``end`` ever is (end of input).

    ``first``: the instant of the query's first row (FOREVER: none yet). Equal on every shard of a batch; stage 0 derives
    it from the headers, later stages get it from the same shard of the stage before.
    """

    before: int
    watermark: int
    first: int
    end: int = FOREVER


@dataclass(frozen=True)
class StepOutput:
    """``rows``: what the stage emits, all with ``before <= ts < watermark``. ``late``: (input position, rows) dropped."""

    rows: Batch
    late: list[tuple[int, pa.RecordBatch]] = field(default_factory=list)


def wire_schema(source: Input) -> pa.Schema:
    """The Arrow schema in which rows of this input travel."""
    fields = [pa.field(f.name, f.type) for f in source.schema] + [pa.field(TS, pa.int64())]
    if not isinstance(source, SourceInput):
        fields.append(pa.field(EXP, pa.int64()))
        if source.signed:
            fields.append(pa.field(SIGN, pa.int8()))
    return pa.schema(fields)


def advance(query: PhysicalQuery, state: ShardState, headers: Sequence[Header], now: int, finish: bool = False) -> Progress:
    """Move the clocks kept in ``state.heads`` over one batch of headers; ``finish`` completes every instant."""
    heads = state.heads
    stored = heads.get("clocks")
    clocks = [
        SourceClock(**stored[i]) if stored else SourceClock(s.slack, s.idle_after, s.max_jump)
        for i, s in enumerate(query.streams)
    ]
    clocks = [c.advance([h for h in headers if h.source == i], now) for i, c in enumerate(clocks)]
    before = heads.get("watermark", NEVER)
    first = heads.get("first", FOREVER)
    if first >= before:  # not answered yet: an earlier row may still come
        first = max(before, _first_instant(query, clocks))
    watermark, end = stage_watermark(clocks, now, before), FOREVER
    if finish:
        watermark, end = FOREVER, _last_instant(query, clocks)
    heads |= {"clocks": [c.to_json() for c in clocks], "watermark": watermark, "first": first}
    return Progress(before, watermark, first, end)


def step(
    query: PhysicalQuery,
    stage: int,
    state: ShardState,
    arrived: Sequence[pa.RecordBatch | None],
    progress: Progress,
    shard: int = 0,
) -> StepOutput:
    """Run stage ``stage`` over the rows that arrived (one batch per input, in canonical order) up to the watermark.

    Rows without a shard key live on shard 0; only there does an ungrouped aggregate answer over an empty window.
    """
    plan = query.stages[stage]
    if shard != 0:
        progress = replace(progress, first=FOREVER)
    late: list[tuple[int, pa.RecordBatch]] = []
    data: list[Batch] = []
    marks: list[NDArray[np.int64]] = []
    for position, (source, rows) in enumerate(zip(plan.inputs, arrived, strict=True)):
        rows = _empty(source) if rows is None else rows
        if isinstance(source, SourceInput):
            rows, too_late = _on_time(rows, progress.before)
            if too_late is not None:
                late.append((position, too_late))
        batch = _interval_rows(query, source, rows)
        if isinstance(source, SourceInput) and source.instants_only:
            marks += [batch.ts, batch.exp]
        else:
            data.append(batch)
    ctx = _context(query, plan, state, marks, progress)
    return StepOutput(_run(plan.ops, state, data, ctx), late)


def to_wire(batch: Batch, target: Input) -> pa.RecordBatch:
    """Rows as a derived input receives them."""
    schema = wire_schema(target)
    names = [f.name for f in target.schema]
    columns = [*batch.columns.select(names).columns, pa.array(batch.ts), pa.array(batch.exp)]
    if batch.sign is not None:
        columns.append(pa.array(batch.sign))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def result_rows(query: PhysicalQuery, rows: Batch) -> pa.RecordBatch:
    """The last stage's rows as the user sees them (``query.result_schema``); an expiry that never comes is NULL."""
    schema = query.result_schema.to_arrow()
    instant = pa.timestamp("us", "UTC")
    columns = [*rows.columns.select(list(query.schema.names)).columns, pa.array(rows.ts).cast(instant)]
    if query.shows_op:
        assert rows.sign is not None
        columns.append(pa.array(["-", "+"]).take(pa.array((rows.sign > 0).astype(np.int8))))
    if query.options.exp:
        endless = rows.exp == FOREVER
        columns.append(pa.array(np.where(endless, 0, rows.exp), mask=endless).cast(instant))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _run(ops: Sequence[Op], state: ShardState, data: list[Batch], ctx: Context) -> Batch:
    batch = data[0]
    for k, op in enumerate(ops):
        name = f"op{k}"
        match op:
            case WindowJoin():
                batch = window_join(op, state, name, data, ctx)
            case Compute():
                batch = compute(op, batch)
            case GroupAggregate():
                batch = group_aggregate(op, state, name, batch, ctx)
            case Materialize():
                batch = materialize(op, state, name, batch, ctx)
            case Insertions():
                batch = insertions(op, state, name, batch, ctx)
            case Net():
                batch = net(batch)
            case OneSign(sign):
                assert batch.sign is not None
                batch = batch.where(batch.sign == sign)
    return batch


def _on_time(rows: pa.RecordBatch, before: int) -> tuple[pa.RecordBatch, pa.RecordBatch | None]:
    ts = buffer_values(rows.column(TS), np.int64)
    late = ts < before
    if not late.any():
        return rows, None
    return rows.take(pa.array(np.flatnonzero(~late))), rows.take(pa.array(np.flatnonzero(late)))


def _interval_rows(query: PhysicalQuery, source: Input, rows: pa.RecordBatch) -> Batch:
    """Rows with their validity as the query sees it, in time order; rows that no instant sees are left out."""
    names = [f.name for f in source.schema]
    columns = rows.select(names) if names else no_columns(rows.num_rows)
    ts = buffer_values(rows.column(TS), np.int64)
    if not isinstance(source, SourceInput):
        sign = buffer_values(rows.column(SIGN), np.int8) if source.signed else None
        batch = Batch(columns, ts, buffer_values(rows.column(EXP), np.int64), sign)
        return batch if (ts[1:] >= ts[:-1]).all() else batch.take(np.argsort(ts, kind="stable"))
    start, exp = _seen(query, source.window, ts)
    batch = Batch(columns, start, exp)
    return batch.where(start < exp)


def _seen(query: PhysicalQuery, window: Window, ts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    start, exp = validity(window, ts, query.options)
    if query.ticks is None:
        return start, exp
    return query.ticks.at_or_after(start), query.ticks.at_or_after(exp)


def _context(
    query: PhysicalQuery, plan: Stage, state: ShardState, marks: list[NDArray[np.int64]], progress: Progress
) -> Context:
    instants = _instants(state, marks, progress) if marks else None
    fifo = tuple(isinstance(i, SourceInput) for i in plan.inputs)
    return Context(
        progress.before, progress.watermark, progress.end, progress.first, query.ticks, instants, pane_of(query), fifo
    )


def _instants(state: ShardState, marks: list[NDArray[np.int64]], progress: Progress) -> NDArray[np.int64]:
    """Instants of this step at which some row enters or leaves a window; later ones are remembered."""
    new = np.unique(np.concatenate(marks))
    new = new[new != FOREVER]
    if len(new):
        state.append(
            "instants", pa.RecordBatch.from_arrays([pa.array(new)], names=["t"]), low=int(new[0]), high=int(new[-1])
        )
    high = min(progress.watermark, progress.end + 1)
    found = [
        buffer_values(c.load().column("t"), np.int64)
        for c in state.list("instants")
        if c.meta["low"] < high and c.meta["high"] >= progress.before
    ]
    state.keep("instants", lambda c: c.meta["high"] >= high)
    times = np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)
    return times[(times >= progress.before) & (times < high)]


def pane_of(query: PhysicalQuery) -> int | None:
    """Length of a pane: a fixed share of the longest window; None when every window is unbounded."""
    spans = [_span(query, i.window) for s in query.stages for i in s.inputs if isinstance(i, SourceInput)]
    ends = [s for s in spans if s is not None]
    return max(1, max(ends) // PANES) if ends else None


def _span(query: PhysicalQuery, window: Window) -> int | None:
    match window:
        case Range(length, slide):
            return length + (slide or 0)
        case Now():
            return query.options.granule
        case _:
            return None


def _first_instant(query: PhysicalQuery, clocks: Sequence[SourceClock]) -> int:
    firsts = [FOREVER]
    for source, clock in _windows(query, clocks):
        if clock.first_ts != FOREVER:
            window = replace(source.window, slide=None) if isinstance(source.window, Range) else source.window
            firsts.append(int(_seen(query, window, np.array([clock.first_ts]))[0][0]))
    return min(firsts)


def _last_instant(query: PhysicalQuery, clocks: Sequence[SourceClock]) -> int:
    """End of input: time runs on to the last expiry of a finite window."""
    lasts = [NEVER]
    for source, clock in _windows(query, clocks):
        if clock.top_ts != NEVER:
            start, exp = _seen(query, source.window, np.array([clock.top_ts]))
            lasts.append(int(start[0] if exp[0] == FOREVER else exp[0]))
    return max(lasts)


def _windows(query: PhysicalQuery, clocks: Sequence[SourceClock]) -> list[tuple[SourceInput, SourceClock]]:
    position = {s.name: i for i, s in enumerate(query.streams)}
    sources = [i for s in query.stages for i in s.inputs if isinstance(i, SourceInput)]
    return [(s, clocks[position[s.stream.name]]) for s in sources]


def _empty(source: Input) -> pa.RecordBatch:
    schema = wire_schema(source)
    return pa.RecordBatch.from_arrays([pa.array([], f.type) for f in schema], schema=schema)
