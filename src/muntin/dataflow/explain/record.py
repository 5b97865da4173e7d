"""What EXPLAIN knows, as data: text, JSON, DOT and SVG render the same record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from muntin.core.calendar import Span
from muntin.dataflow.explain.joins import join_lines
from muntin.dataflow.explain.layout import layout_note
from muntin.dataflow.explain.patterns import patterns_of
from muntin.dataflow.explain.sharing import sharing_note
from muntin.dataflow.explain.words import Render, input_names, input_title, show_of
from muntin.dataflow.graph import Graph
from muntin.dataflow.routes import Here, route_text
from muntin.engine.meter import Counter, Meter
from muntin.optimizer import Optimized, Statistics, Strategy, optimize
from muntin.optimizer.cost import operator_cost, total
from muntin.optimizer.driver import settled
from muntin.optimizer.estimate import flow_of
from muntin.optimizer.plan_text import node_text
from muntin.plan.nodes import BoundQuery, Node
from muntin.plan.patterns import Pattern, pattern
from muntin.plan.windows import ANY_INSTANT, Ticks


@dataclass(frozen=True)
class LogicalLine:
    """A logical node: depth in the tree, text, pattern, estimated rows per second and at a time, steps per second."""

    depth: int
    text: str
    pattern: Pattern
    rate: float
    rows: float
    cost: float


@dataclass(frozen=True)
class Taken:
    """An input of a vertex: rows of vertex ``vertex`` by ``route``; ``exchange``: they may change shards."""

    vertex: int
    route: str
    exchange: bool
    pattern: Pattern


@dataclass(frozen=True)
class VertexRecord:
    """A vertex. ``keeps``: what it remembers, "" for nothing, in panes of ``pane`` microseconds (None: merged by size
    alone). ``queries``: the names of those that use it. ``join``: what a join measured, and its orders. ``layout``:
    what of its layout a query did not ask for. ``shared``: which joins a shared one stands for."""

    number: int
    id: str
    level: int
    operator: str
    text: str
    takes: tuple[Taken, ...]
    pattern: Pattern
    keeps: str
    pane: int | None
    columns: tuple[str, ...]
    queries: tuple[str, ...]
    measured: Counter | None = None
    join: tuple[str, ...] = ()
    layout: str = ""
    shared: str = ""


@dataclass(frozen=True)
class Result:
    """What a query shows: columns, the vertex that makes them, and when (``ticks``; None: at every change)."""

    query: str
    vertex: int
    columns: tuple[str, ...]
    ticks: Ticks | None


def instants_of(r: Result, shown: Callable[[Span], str]) -> str:
    """When a query answers, in words; ``shown``: those of a length of time."""
    if r.ticks is None:
        return "at every change"
    if r.ticks == ANY_INSTANT:
        return "when sessions end"
    clock = f", on the clock of {r.ticks.zone}" if r.ticks.zone else ""
    return "every " + " and every ".join(shown(s) for s in r.ticks.slides) + clock


@dataclass(frozen=True)
class SharedRecord:
    """What the rule ``rule`` lets ``queries`` share in ``vertex``, and what that spares."""

    rule: str
    vertex: int
    queries: tuple[str, ...]
    saved: str


@dataclass(frozen=True)
class GraphRecord:
    """The vertices of a graph in topological order, its queries' results, and what sharing rules made."""

    vertices: tuple[VertexRecord, ...]
    results: tuple[Result, ...]
    measured: Meter | None = None
    shared: tuple[SharedRecord, ...] = ()

    @property
    def levels(self) -> tuple[tuple[VertexRecord, ...], ...]:
        """The vertices of each level, sources (level -1) first."""
        last = max(v.level for v in self.vertices)
        return tuple(tuple(v for v in self.vertices if v.level == x) for x in range(-1, last + 1))


@dataclass(frozen=True)
class Explained:
    """Everything about one query. ``costs``: the optimized plan's steps per second by strategy."""

    query: BoundQuery
    optimized: Optimized
    logical: tuple[LogicalLine, ...]
    rewritten: tuple[LogicalLine, ...]
    costs: dict[str, float]
    graph: GraphRecord


def level_name(level: int) -> str:
    """A level for people."""
    return "Sources" if level < 0 else f"Level {level}"


def explained(query: BoundQuery, graph: GraphRecord, render: Render, statistics: Statistics | None = None) -> Explained:
    """The record of a bound query, with that of its graph."""
    known = statistics or Statistics()
    query = settled(query, known)
    found = optimize(query, known)
    strategy = Strategy(settled(query).options.strategy)
    costs = {s.value: total(found.query.root, known, s) for s in Strategy}
    return Explained(
        query, found,
        tuple(_lines(query.root, render, known, strategy)), tuple(_lines(found.query.root, render, known, strategy)),
        costs, graph,
    )  # fmt: skip


def _lines(node: Node, render: Render, known: Statistics, strategy: Strategy, depth: int = 0) -> Iterator[LogicalLine]:
    flow = flow_of(node, known)
    cost = operator_cost(node, known, strategy)
    yield LogicalLine(depth, node_text(node, render), pattern(node), flow.rate, flow.size, cost)
    for child in node.inputs:
        yield from _lines(child, render, known, strategy, depth + 1)


def graph_record(graph: Graph, queries: Sequence[str], render: Render, measured: Meter | None = None) -> GraphRecord:
    """The record of a graph; ``queries``: the names of its plans, ``measured``: what a run of it counted."""
    patterns = patterns_of(graph)
    vertices = tuple(_vertex(graph, i, patterns, queries, render, measured) for i in range(len(graph.vertices)))
    results = tuple(
        Result(name, root, plan.result_schema.names, plan.ticks)
        for name, plan, root in zip(queries, graph.plans, graph.roots, strict=True)
    )
    place = {v.id: i for i, v in enumerate(graph.vertices)}
    shared = tuple(
        SharedRecord(s.rule, place[s.vertex], tuple(queries[p] for p in s.plans), s.saved) for s in graph.shared
    )
    return GraphRecord(vertices, results, measured, shared)


def _vertex(
    graph: Graph, number: int, patterns: Sequence[Pattern], queries: Sequence[str], render: Render, run: Meter | None
) -> VertexRecord:
    v, show = graph.vertices[number], show_of(graph, number, render)
    inputs = [patterns[e.vertex] for e in v.inputs]
    keeps = v.op.keeps(inputs, show)
    ends = keeps and any(p is not Pattern.MON for p in inputs)
    return VertexRecord(
        number, v.id, graph.levels[number], type(v.op).__name__, v.op.words(show),
        _takes(graph, number, patterns), patterns[number], keeps, graph.hints[number].pane if ends else None,
        v.names, tuple(queries[q] for q in sorted(graph.used_by[number])),
        None if run is None or v.is_source else run.of(number), _join(graph, number, run),
        layout_note(graph, number, queries), sharing_note(graph, number, queries),
    )  # fmt: skip


def _takes(graph: Graph, number: int, patterns: Sequence[Pattern]) -> tuple[Taken, ...]:
    edges, names = graph.vertices[number].inputs, input_names(graph, number)
    return tuple(
        Taken(e.vertex, route_text(e.route, own), not isinstance(e.route, Here), patterns[e.vertex])
        for e, own in zip(edges, names, strict=True)
    )


def _join(graph: Graph, number: int, run: Meter | None) -> tuple[str, ...]:
    """What the run measured of a join."""
    if run is None or number not in run.joins:
        return ()
    edges, names = graph.vertices[number].inputs, input_names(graph, number)
    titles = [input_title(own, e.vertex) for e, own in zip(edges, names, strict=True)]
    return join_lines(run.joins[number], titles)
