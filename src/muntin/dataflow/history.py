"""Which rows of a stream a checkpoint's vertices keep, by time and by number.

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
from muntin.dataflow.row_history import NumberedInput, columns_needed, numbered_by
from muntin.operators.joins.join_graph import GraphJoin
from muntin.operators.joins.window_join import WindowJoin
from muntin.operators.materialize import Materialize
from muntin.operators.source import Source
from muntin.operators.time_window import TimeWindow
from muntin.plan.exprs import Column, Expr, conjuncts
from muntin.plan.windows import Range


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


@dataclass(frozen=True)
class KeptNumbers:
    """What a vertex of a checkpoint keeps, and since when."""

    given: NumberedInput
    since: Since


def kept_numbers(plan: DurablePlan) -> tuple[KeptNumbers, ...]:
    """What the vertices of a durable plan keep of streams by number, each once."""
    found = []
    for given in numbered_by(plan.readable()):
        if held := plan.vertices.get(given.vertex):
            found.append(KeptNumbers(given, Since(held.since, held.at, held.watermark)))
    return tuple(found)
