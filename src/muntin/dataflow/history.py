"""Which rows of a stream a checkpoint's vertices keep, and whether a new query could have been among its queries.

A join of windows and a query that shows its rows keep every row of their windows until it expires. A query that comes
later, whose windows are no longer and whose columns and filters those rows have, can begin with windows that are full:
its answers from then on are those of a query that was always there. Where that does not hold exactly it begins empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from muntin.dataflow.durable import DurablePlan, DurableVertex, Since
from muntin.dataflow.graph import QueryPlan, Vertex, column_name
from muntin.dataflow.routes import Everywhere, Here, Split
from muntin.dataflow.row_history import numbered_inputs
from muntin.operators.compute import Compute
from muntin.operators.distinct import Distinct
from muntin.operators.group_aggregate import GroupAggregate
from muntin.operators.joins.counted_join import CountedJoin
from muntin.operators.joins.join_graph import GraphJoin
from muntin.operators.joins.narrow import Narrow
from muntin.operators.joins.window_join import WindowJoin
from muntin.operators.materialize import Materialize
from muntin.operators.merge import Merge
from muntin.operators.net import Net
from muntin.operators.reader import Reader
from muntin.operators.rows_window import RowsWindow
from muntin.operators.source import Source
from muntin.operators.time_window import TimeWindow
from muntin.operators.top_rows import TopRows
from muntin.plan.exprs import Column, Expr, columns_of, conjuncts
from muntin.plan.windows import Now, Range, Rows, Unbounded, delay_of

AGGREGATES = {
    "count", "sum", "avg", "min", "max", "median", "quantile", "percentile_disc", "var_pop", "var_samp", "stddev_pop",
    "stddev_samp", "covar_pop", "covar_samp", "corr", "regr_count", "regr_avgx", "regr_avgy", "regr_sxx", "regr_syy",
    "regr_sxy", "regr_slope", "regr_intercept", "regr_r2", "try_sum", "try_avg",
}  # fmt: skip
"""Aggregates that go by the values of the rows in the window alone, not by when they came."""

NUMBERING = (RowsWindow, CountedJoin)
"""Operators that number the rows of streams (``dataflow.row_history``)."""


@dataclass(frozen=True)
class KeptRows:
    """Rows of a stream that a vertex keeps, whole, until they expire from ``window``.

    ``structure``: of its state; ``columns``: how the stream's columns are called there; ``keep``: what the rows passed;
    ``streams``: whose clocks say what came too late; ``everywhere``: every shard has them all; ``since``: when it
    began to.
    """

    vertex: str
    structure: str
    stream: str
    window: TimeWindow
    columns: Mapping[str, str]
    keep: frozenset[Expr]
    streams: tuple[str, ...]
    everywhere: bool
    since: Since


def kept_rows(plan: DurablePlan) -> tuple[KeptRows, ...]:
    """What the vertices of a durable plan keep of streams, each once."""
    found: dict[tuple[str, str], KeptRows] = {}
    for graph in plan.readable():
        for vertex in graph.vertices:
            if vertex.id in plan.vertices:
                for kept in _kept(graph, vertex, since_of(plan.vertices[vertex.id])):
                    found.setdefault((kept.vertex, kept.structure), kept)
    return tuple(found.values())


def since_of(vertex: DurableVertex) -> Since:
    """Since when a vertex has rows."""
    return Since(vertex.since, vertex.at, vertex.watermark)


def _kept(graph: QueryPlan, vertex: Vertex, since: Since) -> Iterator[KeptRows]:
    for number, edge in enumerate(vertex.inputs):
        structure, window = _structure(vertex, number), graph.vertices[edge.vertex]
        if structure is None or not isinstance(edge.route, Here) or not isinstance(window.op, TimeWindow):
            continue
        (sent,) = window.inputs
        source = graph.vertices[sent.vertex].op
        if not isinstance(source, Source) or isinstance(sent.route, Split) or not _keeps_event_time(window.op):
            continue
        first = sum(len(graph.vertices[e.vertex].types) for e in vertex.inputs[:number])  # joins number on
        named = enumerate(e for _, e in source.columns)
        columns = {e.name: column_name(first + i) for i, e in named if isinstance(e, Column)}
        yield KeptRows(
            vertex.id, structure, source.stream.name, window.op, columns, frozenset(conjuncts(source.keep)),
            window.streams, isinstance(sent.route, Everywhere), since,
        )  # fmt: skip


def _structure(vertex: Vertex, number: int) -> str | None:
    """Where a vertex keeps the rows of an input until they expire; None where it keeps something else."""
    match vertex.op:
        case WindowJoin():
            return f"in{number}"
        case GraphJoin(passing=passing) if number not in passing:
            return f"in{number}"
        case Materialize("changes") if number == 0:
            return "rows"
    return None


def _keeps_event_time(window: TimeWindow) -> bool:
    """Whether a row's expiry is a fixed time after its event time (by the clock of a zone a day is no fixed time)."""
    if not isinstance(window.window, Range) or not isinstance(window.window.length, int):
        return False
    plain = window.window.rows is None and window.window.slide is None and not window.window.delay
    return plain and window.ticks is None and window.options.zone is None


def why_not(plan: QueryPlan, known: frozenset[str]) -> str | None:
    """Why a query's windows cannot be filled whatever is kept; None where they can. ``known``: ids of vertices that the
    checkpoint has."""
    own = [v for v in plan.vertices if not v.is_source]
    if any(v.id in known for v in own if v.op.stateful) and not _shares_plainly(own, known):
        return "it goes on from operators that other queries have, whose past answers cannot be told from their state"
    if len({v.streams for v in own}) > 1:
        return "its operators go by the time of different streams"
    if any(s.static or s.silent or s.idle_after is not None for s in plan.streams):
        return "it reads a table, or a stream that may fall idle"
    if any(isinstance(v.op, TimeWindow) and v.op.weighed for v in own):
        return "it scales what it counts of a part of its rows, and others do not keep what each row stands for"
    if any(s.sample is not None for s in plan.streams):
        return "it reads a stream that is sampled"
    if not all(len(reach) == 1 and isinstance(reach[0][0], Range | Now | Rows) for _, reach in plan.horizon):
        return "it has a window without end, or a window on results"
    if any(numbered_inputs(plan, n) is None for n, v in enumerate(plan.vertices) if isinstance(v.op, NUMBERING)):
        return "it numbers rows at the instants of its SLIDE, or those of a query"
    if any(delay_of(w) for _, reach in plan.horizon for w, _ in reach):
        return "it has a window with DELAY"
    counted = all(isinstance(w, Rows) for _, reach in plan.horizon for w, _ in reach)
    if not all(_goes_by_windows(v, counted) for v in own):
        return "what it shows depends on when rows came, not on its windows alone"
    return None


def _shares_plainly(own: list[Vertex], known: frozenset[str]) -> bool:
    """Whether what known operators show is settled by the rows that are valid, so that what they have shown by now can
    be worked out anew. (DISTINCT is not among them: which of equal rows it shows depends on what it showed before.)"""
    for v in own:
        match v.op:
            case TimeWindow(window=Range(slide=None) | Now() | Unbounded(), ticks=None):
                continue
            case TimeWindow():
                return False
            case Narrow(parts=parts) if any(p.slides for p in parts):
                return False
    stateful = [v for v in own if v.op.stateful]
    shown = (WindowJoin, GraphJoin, GroupAggregate, Materialize, TopRows, *NUMBERING)
    changes = all(getattr(v.op, "emit", "changes") == "changes" for v in stateful)
    return changes and all(isinstance(v.op, shown) if v.id in known else not v.op.begins for v in stateful)


def _goes_by_windows(vertex: Vertex, counted: bool) -> bool:
    """Whether an operator's answer at an instant is a function of the rows that are valid then. ``counted``: all
    windows are of rows, so that all instants that they mark are those at which rows come."""
    one = len(vertex.inputs) == 1 or counted
    match vertex.op:
        case GroupAggregate(aggs=aggs, from_input=False):
            return one and all(a.base in AGGREGATES for _, a in aggs)
        case GroupAggregate(aggs=aggs):
            return len(vertex.inputs) == 1 and all(a.base in AGGREGATES for _, a in aggs)
        case TimeWindow(window=window):
            return isinstance(window, Now | Unbounded) or (isinstance(window, Range) and window.rows is None)
        case GraphJoin(origins=origins, passing=passing):
            return origins is None and not passing
        case Materialize():
            return one
    return isinstance(vertex.op, (WindowJoin, Narrow, Compute, Distinct, TopRows, Merge, Net, Reader, *NUMBERING))


def columns_needed(source: Source) -> set[str]:
    """The stream's columns that a source reads."""
    exprs = [source.keep, *(e for _, e in source.columns)]
    return {c.name for e in exprs for c in columns_of(e)}


def serves(kept: KeptRows, source: Source, streams: tuple[str, ...]) -> bool:
    """Whether kept rows have every row and column that a source of a vertex over ``streams`` would have brought (as far
    back as they reach).

    What came too late for them, who wait for more streams, would have been late for the source.
    """
    return (
        kept.stream == source.stream.name
        and columns_needed(source) <= kept.columns.keys()
        and kept.keep <= frozenset(conjuncts(source.keep))
        and set(streams) <= set(kept.streams)
    )
