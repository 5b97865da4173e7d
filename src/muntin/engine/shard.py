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

from muntin.core.batch import Batch, concat_rows, forever, no_columns
from muntin.core.time import FOREVER, NEVER
from muntin.core.watermark import Header, SourceClock, stage_watermark
from muntin.dataflow.stage import Input, Op, PhysicalQuery, Reach, SourceInput, Stage
from muntin.engine.memory import check_memory
from muntin.engine.ordering import in_order
from muntin.kernels.hashing import buffer_values
from muntin.operators.as_of_join import AsOfJoin, as_of_join
from muntin.operators.compute import Compute, compute
from muntin.operators.context import Context
from muntin.operators.fired_window import FiredWindow, fired_window
from muntin.operators.group_aggregate import GroupAggregate, group_aggregate
from muntin.operators.joins.graph_join import graph_join
from muntin.operators.joins.hot_keys import MINE, PLAIN, ROLE
from muntin.operators.joins.join_graph import GraphJoin
from muntin.operators.joins.window_join import WindowJoin, window_join
from muntin.operators.materialize import Insertions, Materialize, insertions, materialize
from muntin.operators.net import Net, OneSign, net
from muntin.operators.reshape import (
    Endless,
    Merge,
    Repeat,
    Rewind,
    Signed,
    Snap,
    Stamp,
    Until,
    merge,
    repeat,
    rewind,
    signed,
    snap,
    stamp,
    until,
)
from muntin.operators.restore import Restore, restore
from muntin.operators.rows_window import RowsWindow, rows_window
from muntin.operators.top_rows import TopRows, top_rows
from muntin.plan.windows import Now, QueryOptions, Range, Ticks, Unbounded, Window, beat, moves_with_rows, validity
from muntin.state.shard_state import ShardState
from muntin.state.window_rows import PANES

TS, EXP, SIGN = "__ts", "__exp", "__sign"


@dataclass(frozen=True)
class Progress:
    """Instants in ``[before, watermark)`` are answered by this step; nothing after ``end`` ever is (end of input).

    ``first``: when the query's first row enters, SLIDE apart (FOREVER: none yet). Equal on every shard of a batch;
    stage 0 derives
    it from the headers, later stages get it from the same shard of the stage before.
    """

    before: int
    watermark: int
    first: int
    end: int = FOREVER


@dataclass(frozen=True)
class StepOutput:
    """``rows``: what the stage emits at port 0, all with ``before <= ts < watermark``; ``ports``: at every port.
    ``late``: (input position, rows) dropped."""

    ports: tuple[Batch, ...]
    late: list[tuple[int, pa.RecordBatch]] = field(default_factory=list)

    @property
    def rows(self) -> Batch:
        return self.ports[0]


def wire_schema(source: Input) -> pa.Schema:
    """The Arrow schema in which rows of this input travel."""
    fields = [pa.field(f.name, f.type) for f in source.schema]
    if isinstance(source, SourceInput) and source.split:
        fields.append(pa.field(ROLE, pa.int8()))
    fields.append(pa.field(TS, pa.int64()))
    if not isinstance(source, SourceInput):
        fields.append(pa.field(EXP, pa.int64()))
        if source.signed:
            fields.append(pa.field(SIGN, pa.int8()))
    return pa.schema(fields)


def advance(
    query: PhysicalQuery, state: ShardState, headers: Sequence[Header], now: int, finish: bool = False
) -> Progress:
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
    awake = [c for c, s in zip(clocks, query.streams, strict=True) if not s.static]
    watermark, end = stage_watermark(awake, now, before), FOREVER
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
    late: list[tuple[int, pa.RecordBatch]] = []
    values: list[Batch] = []
    marks: list[NDArray[np.int64]] = []
    for position, (source, rows) in enumerate(zip(plan.inputs, arrived, strict=True)):
        rows = _empty(source) if rows is None else rows
        if isinstance(source, SourceInput):
            rows, too_late = _on_time(rows, progress.before)
            if too_late is not None and not source.stream.static:
                late.append((position, _counted(source, too_late, shard)))
            if source.stream.static:
                rows = _since_first(state, f"static{position}", rows, progress)
        values.append(_interval_rows(query, source, rows))
        if isinstance(source, SourceInput) and source.instants_only:
            marks += [values[-1].ts, values[-1].exp]
    ctx = replace(_context(query, state, marks, progress), home=shard == 0)
    _run(plan, state, values, ctx)
    check_memory(plan, state, stage, shard, query.options.memory)
    return StepOutput(tuple(values[v] for v in plan.emitted()), late)


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
    rows = in_order(rows, query.order) if query.order else rows
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


def _run(plan: Stage, state: ShardState, values: list[Batch], ctx: Context) -> None:
    """Append each operator's result to the values."""
    fifo = [isinstance(i, SourceInput) for i in plan.inputs] + [False] * len(plan.ops)
    for k, (op, args) in enumerate(zip(plan.ops, plan.arguments(), strict=True)):
        mine = replace(ctx, fifo=tuple(fifo[a] for a in args))
        values.append(_apply(op, state, f"op{k}", [values[a] for a in args], mine))


def _apply(op: Op, state: ShardState, name: str, data: list[Batch], ctx: Context) -> Batch:
    batch = data[0]
    match op:
        case WindowJoin():
            return window_join(op, state, name, data, ctx)
        case GraphJoin():
            return graph_join(op, state, name, data, ctx)
        case Compute():
            return compute(op, batch)
        case GroupAggregate():
            marks = data[1:]
            return group_aggregate(
                op, state, name, batch, ctx if op.from_input else _marked(state, name, marks, ctx), marks
            )
        case Materialize():
            return materialize(op, state, name, batch, _marked(state, name, data[1:], ctx))
        case Insertions():
            return insertions(op, state, name, batch, ctx)
        case Net(names):
            return net(batch, names)
        case OneSign(sign):
            assert batch.sign is not None
            return batch.where(batch.sign == sign)
        case RowsWindow():
            return rows_window(op, state, name, batch, ctx)
        case FiredWindow():
            return fired_window(op, state, name, batch, ctx)
        case TopRows():
            return top_rows(op, state, name, batch, ctx)
        case Rewind():
            return rewind(op, batch)
        case Snap(ticks):
            return snap(ticks, batch)
        case Stamp():
            return stamp(op, batch)
        case Until(columns):
            return until(columns, batch)
        case Endless():
            return Batch(batch.columns, batch.ts, forever(len(batch)), batch.sign)
        case Restore():
            return restore(op, state, name, batch, ctx)
        case Signed(column):
            return signed(column, batch)
        case AsOfJoin():
            return as_of_join(op, state, name, data, ctx)
        case Merge(weights):
            return merge(weights, data)
        case Repeat(times):
            return repeat(times, batch)


def _marked(state: ShardState, name: str, marks: list[Batch], ctx: Context) -> Context:
    """The context with the instants at which rows of the further arguments enter or leave."""
    if not marks:
        return ctx
    found = _instants(state, f"{name}.marks", [t for b in marks for t in (b.ts, b.exp)], ctx.low, ctx.until)
    return replace(ctx, instants=found if ctx.instants is None else np.union1d(ctx.instants, found))


def _on_time(rows: pa.RecordBatch, before: int) -> tuple[pa.RecordBatch, pa.RecordBatch | None]:
    ts = buffer_values(rows.column(TS), np.int64)
    late = ts < before
    if not late.any():
        return rows, None
    return rows.take(pa.array(np.flatnonzero(~late))), rows.take(pa.array(np.flatnonzero(late)))


def _counted(source: SourceInput, rows: pa.RecordBatch, shard: int) -> pa.RecordBatch:
    """Late rows without those that another shard counts: copies."""
    if source.everywhere:
        return rows if shard == 0 else rows.slice(0, 0)
    if source.split:
        role = buffer_values(rows.column(ROLE), np.int8)
        return rows.take(pa.array(np.flatnonzero((role == PLAIN) | (role == MINE)))).drop_columns([ROLE])
    return rows


def _since_first(state: ShardState, structure: str, rows: pa.RecordBatch, progress: Progress) -> pa.RecordBatch:
    """Rows of a static table: there from the query's first instant on, and held back until that is known."""
    if rows.num_rows:
        state.append(structure, rows)
    if progress.first >= progress.watermark:
        return rows.slice(0, 0)
    held = [c.load() for c in state.list(structure)]
    state.keep(structure, lambda _: False)
    whole = concat_rows([rows.slice(0, 0), *held])
    at = whole.schema.get_field_index(TS)
    return whole.set_column(at, TS, pa.array(np.full(whole.num_rows, progress.first, np.int64)))


def _interval_rows(query: PhysicalQuery, source: Input, rows: pa.RecordBatch) -> Batch:
    """Rows with their validity as the query sees it, in time order; rows that no instant sees are left out."""
    names = [f.name for f in source.schema]
    if isinstance(source, SourceInput) and source.split:
        names.append(ROLE)
    columns = rows.select(names) if names else no_columns(rows.num_rows)
    ts = buffer_values(rows.column(TS), np.int64)
    if not isinstance(source, SourceInput):
        sign = buffer_values(rows.column(SIGN), np.int8) if source.signed else None
        batch = Batch(columns, ts, buffer_values(rows.column(EXP), np.int64), sign)
        return batch if (ts[1:] >= ts[:-1]).all() else batch.take(np.argsort(ts, kind="stable"))
    start, exp = _seen(source.window, ts, query.options, source.ticks)
    batch = Batch(columns, start, exp)
    return batch.where(start < exp)


def _seen(
    window: Window, ts: NDArray[np.int64], options: QueryOptions, ticks: Ticks | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    start, exp = validity(window, ts, options)
    if ticks is None:
        return start, exp
    return ticks.at_or_after(start), ticks.at_or_after(exp)


def _context(query: PhysicalQuery, state: ShardState, marks: list[NDArray[np.int64]], progress: Progress) -> Context:
    until = min(progress.watermark, progress.end + 1)
    instants = _instants(state, "instants", marks, progress.before, until) if marks else None
    return Context(
        progress.before,
        progress.watermark,
        progress.end,
        progress.first,
        instants,
        pane_of(query),
        functions=dict(query.functions),
        scan=query.options.strategy == "direct",
        memory=query.options.memory,
    )


def _instants(
    state: ShardState, structure: str, marks: list[NDArray[np.int64]], low: int, high: int
) -> NDArray[np.int64]:
    """Instants of this step at which some row enters or leaves; later ones are remembered."""
    new = np.unique(np.concatenate(marks))
    new = new[new != FOREVER]
    if len(new):
        rows = pa.RecordBatch.from_arrays([pa.array(new)], names=["t"])
        state.append(structure, rows, low=int(new[0]), high=int(new[-1]))
    found = [
        buffer_values(c.load().column("t"), np.int64)
        for c in state.list(structure)
        if c.meta["low"] < high and c.meta["high"] >= low
    ]
    state.keep(structure, lambda c: c.meta["high"] >= high)
    times = np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)
    return times[(times >= low) & (times < high)]


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
            firsts.append(int(_seen(window, np.array([clock.first_ts]), query.options, None)[0][0]))
    return min(firsts)


def _last_instant(query: PhysicalQuery, clocks: Sequence[SourceClock]) -> int:
    """End of input: time runs on to the last expiry of a finite window."""
    top = {s.name: c.top_ts for s, c in zip(query.streams, clocks, strict=True) if not (s.static or s.silent)}
    return max([NEVER, *(_run_on(top[name], reach, query.options) for name, reach in query.horizon if name in top)])


def _run_on(at: int, reach: Reach, options: QueryOptions) -> int:
    """The last that a row of this event time can do to windows, each on the output of the one before."""
    shift = 0
    for window, ticks in reach if at != NEVER else ():
        entry, own = (Unbounded(), beat(window, options)) if moves_with_rows(window) else (window, None)
        moves = ticks if own is None else Ticks((own[0],), (own[1],))
        start, exp = _seen(entry, np.array([at + shift]), options, moves)
        at = int(start[0] if exp[0] == FOREVER else exp[0])
        shift = -1 if options.bounds == "start" and ticks is not None else 0  # as ``Rewind`` of its results has it
    return at


def _windows(query: PhysicalQuery, clocks: Sequence[SourceClock]) -> list[tuple[SourceInput, SourceClock]]:
    position = {s.name: i for i, s in enumerate(query.streams)}
    sources = [i for s in query.stages for i in s.inputs if isinstance(i, SourceInput)]
    return [(s, clocks[position[s.stream.name]]) for s in sources if not (s.stream.static or s.stream.silent)]


def _empty(source: Input) -> pa.RecordBatch:
    schema = wire_schema(source)
    return pa.RecordBatch.from_arrays([pa.array([], f.type) for f in schema], schema=schema)
