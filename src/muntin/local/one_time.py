"""One-time queries over the windows that a checkpoint holds, answered while its pipeline goes on.

The answer is that of one committed batch: of the last instant that it completed, W - 1 for the watermark W of the
streams asked for (window-serializable: Golab 2006, 7.3). It is worked out from the rows that joins and queries which
show their rows keep of plain RANGE windows, read from a snapshot, so the pipeline neither waits nor is waited for.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from muntin.core.errors import ConfigError, UnsupportedError
from muntin.core.schema import Schema
from muntin.core.time import NEVER
from muntin.core.watermark import Header, SourceClock
from muntin.cql.binder import bind
from muntin.cql.durations import format_duration
from muntin.dataflow.durable import DurablePlan
from muntin.dataflow.graph import QueryPlan
from muntin.dataflow.history import KeptRows, columns_needed, kept_rows
from muntin.dataflow.planner import plan_query
from muntin.engine.clocks import CLOCKS, Times
from muntin.engine.source import Arrived, ship
from muntin.local.history import FromThen, NoHistory, Open, expiry_of, rows_held, watermark_of
from muntin.local.runtime import LocalPipeline
from muntin.operators.source import Source
from muntin.operators.time_window import TimeWindow
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.exprs import conjuncts
from muntin.plan.windows import Now, QueryOptions, Range, Unbounded
from muntin.state.snapshots import Snapshot


@dataclass(frozen=True)
class OneTimeAnswer:
    """``rows``: the query's columns. ``at``: the instant that they are of (microseconds). ``batch``: the version read.
    ``behind``: by how much the newest rows that have come are later than ``at`` (microseconds of event time).
    ``committed``: when that batch was committed (seconds since the epoch), where it is known; ``notes``: what the
    windows lack."""

    rows: pa.Table
    at: int
    batch: int
    behind: int
    committed: float | None = None
    notes: tuple[str, ...] = ()


def one_time(text: str, plan: DurablePlan, opens: Open, options: QueryOptions | None = None) -> OneTimeAnswer:
    """The answer to a query over windows that the vertices of ``plan`` keep. A stream without a window in the text is
    all that is held of it.

    Raises QueryError for a text that is wrong, ConfigError where nothing is held yet, and UnsupportedError where what
    is held does not give the answer exactly. Cost: the rows of the windows, in this process.
    """
    kept = kept_rows(plan)
    bound = bind(text, held_catalog(plan, kept), options or QueryOptions())
    if bound.root.kind not in ("changes", "rstream"):
        raise UnsupportedError("a one-time query shows an answer, not what changes: leave out Istream and Dstream")
    asked = plan_query(bound)
    _plain_windows(asked)
    chosen = {i: _serving(v.op, asked, i, kept) for i, v in enumerate(asked.vertices) if isinstance(v.op, Source)}
    held = opens({k.vertex for k in chosen.values()} | {CLOCKS})
    if held is None:
        raise ConfigError("no batch has been committed yet: there is nothing to ask")
    at = _instant(held, chosen.values()) - 1
    rows = _answer(asked, chosen, held, at)
    clocks = held.of(CLOCKS)[0].heads.get("clocks", {})
    newest = [SourceClock(**clocks[k.stream]).top_ts for k in chosen.values() if k.stream in clocks]
    behind = max([t - at for t in newest if t != NEVER], default=0)
    return OneTimeAnswer(rows, at, held.version, behind, notes=_notes(chosen, at))


def held_catalog(plan: DurablePlan, kept: Sequence[KeptRows]) -> Catalog:
    """The streams of which rows are kept, with the columns that are. Raises ConfigError where there are none."""
    streams: dict[str, Stream] = {}
    for graph in plan.readable():
        for s in graph.streams:
            names = {n for k in kept if k.stream == s.name for n in k.columns}
            if names:
                schema = Schema(tuple(f for f in s.schema if f.name in names or f.name == s.ts))
                order = streams[s.name].order if s.name in streams else len(streams)
                streams[s.name] = replace(s, schema=schema, order=order, slack=0, idle_after=None, sample=None)
    if not streams:
        raise ConfigError(
            "no vertex of this checkpoint keeps rows of a plain RANGE window: a join of windows does, and a query that "
            "shows its rows without SLIDE"
        )
    return Catalog(tuple(streams.values()))


def _plain_windows(asked: QueryPlan) -> None:
    """Refuse windows that rows with event times do not make up."""
    for _, reach in asked.horizon:
        window = reach[0][0]
        slid = isinstance(window, Range) and (window.slide is not None or window.rows is not None)
        if len(reach) > 1 or slid or not isinstance(window, Range | Now | Unbounded):
            raise UnsupportedError(
                "a one-time query is over windows of time at one instant: [RANGE ...] without SLIDE, [NOW], or none "
                "for all rows that are held"
            )


def _serving(source: Source, asked: QueryPlan, number: int, kept: Sequence[KeptRows]) -> KeptRows:
    """The kept rows that have all columns and rows that a source asks for; of several those kept longest."""
    name, needed = source.stream.name, columns_needed(source)
    own = [k for k in kept if k.stream == name]
    made = {source.stream.ts} if _can_make(source.stream) else set()
    able = [k for k in own if needed <= {*k.columns, *made} and k.keep <= frozenset(conjuncts(source.keep))]
    if not able:
        columns = sorted({c for k in own for c in k.columns})
        filters = ", or with the condition that its rows passed" if any(k.keep for k in own) else ""
        raise UnsupportedError(
            f"no window on {name} holds the columns {', '.join(sorted(needed)) or 'asked for'} together{filters}; held "
            f"are {', '.join(columns)}"
        )
    best = max(able, key=_reach)
    windows = [v.op for v in asked.vertices if any(e.vertex == number for e in v.inputs)]
    for window in windows:
        if isinstance(window, TimeWindow) and isinstance(window.window, Range) and expiry_of(window, 0) > _reach(best):
            raise UnsupportedError(
                f"the rows of {name} are held for {format_duration(_reach(best))}, and the window asked for is longer"
            )
    return best


def _can_make(stream: Stream) -> bool:
    """Whether event times give the column of event time back."""
    type = stream.schema.get(stream.ts)
    return type is not None and (pa.types.is_timestamp(type.type) or pa.types.is_integer(type.type))


def _reach(kept: KeptRows) -> int:
    """How long a row is kept after its event time, in microseconds."""
    return expiry_of(kept.window, 0)


def _instant(held: Snapshot, chosen: Collection[KeptRows]) -> int:
    """The watermark of the rows. Raises where they do not have one."""
    clock = held.of(CLOCKS)[0]
    marks = {watermark_of(clock, k.streams) for k in chosen}
    if NEVER in marks:
        raise ConfigError("no instant has been answered yet: there is nothing to ask")
    if len(marks) > 1:
        raise UnsupportedError(
            "the windows asked for belong to queries that go by the time of different streams, so no instant has them "
            "all; ask for each alone"
        )
    return marks.pop()


def _answer(asked: QueryPlan, chosen: dict[int, KeptRows], held: Snapshot, at: int) -> pa.Table:
    """What the query shows when all rows that live at ``at`` enter its windows then."""
    vertices = tuple(
        replace(v, op=FromThen(v.op.window, v.op.ticks, v.op.options, at)) if isinstance(v.op, TimeWindow) else v
        for v in asked.vertices
    )
    pipeline = LocalPipeline(replace(asked, vertices=vertices))
    arrived = {}
    for number, kept in chosen.items():
        source = asked.vertices[number].op
        assert isinstance(source, Source)
        try:
            rows, times = _rows(source, kept, held)
        except NoHistory as e:
            raise UnsupportedError(f"{e}: a one-time query cannot read them") from e
        live = np.flatnonzero((times <= at) & (times + _reach(kept) > at))
        arrived[number] = ship(source, Arrived(rows.take(pa.array(live)), times[live], Header(0, 0, len(live))))
    domains = len(pipeline.graph.domains)
    times_now = Times((NEVER,) * domains, (at + 1,) * domains, (at,) * len(pipeline.graph.streams))
    (shown,) = pipeline.take_in(arrived, times_now)
    if asked.op_column is not None:
        shown = shown.filter(pc.equal(shown.column(asked.op_column), "+"))
    return shown.select(asked.schema.names)


def _rows(source: Source, kept: KeptRows, held: Snapshot) -> tuple[pa.RecordBatch, NDArray[np.int64]]:
    """Rows and event times; a column of event time that is not kept is made of these."""
    needed, ts = columns_needed(source), source.stream.ts
    if ts not in needed or ts in kept.columns:
        return rows_held(source, kept, held)
    rows, times = rows_held(source, kept, held, needed - {ts})
    made = source.stream.schema.get(ts)
    assert made is not None
    column = pa.array(times // source.stream.ts_unit).cast(made.type)
    columns = [*(rows.column(n) for n in rows.schema.names if n in needed), column]
    return pa.RecordBatch.from_arrays(columns, names=[*(n for n in rows.schema.names if n in needed), ts]), times


def _notes(chosen: dict[int, KeptRows], at: int) -> tuple[str, ...]:
    found = []
    for k in chosen.values():
        since = k.since.watermark
        if since is not None and at - since < _reach(k):
            found.append(f"rows of {k.stream} are held since batch {k.since.batch}: older ones are missing")
    return tuple(dict.fromkeys(found))
