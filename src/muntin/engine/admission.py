"""What of a source's rows a vertex gets: those that do not come too late, and of these what the valve admits."""

from __future__ import annotations

import numpy as np

from muntin.core.batch import Batch
from muntin.dataflow.graph import Graph, Vertex
from muntin.dataflow.routes import Everywhere, Route, Split
from muntin.engine.valve import Valve
from muntin.kernels.hashing import buffer_values
from muntin.operators.joins.hot_keys import MINE, PLAIN, ROLE
from muntin.operators.time_window import TimeWindow


def reads_source(graph: Graph, vertex: Vertex) -> bool:
    """Whether a vertex reads a stream or a static table itself."""
    return bool(vertex.inputs) and graph.vertices[vertex.inputs[0].vertex].is_source


def let_in(graph: Graph, number: int, shard: int, rows: Batch, before: int, valve: Valve) -> tuple[Batch, int]:
    """The rows of its source that a vertex gets, and how many were in time and not admitted, each counted on one shard.

    ``before``: the instants before it are answered; rows of that time come too late, and who reads the stream has
    counted them (``engine.late``).
    """
    edge = graph.vertices[number].inputs[0]
    source = graph.vertices[edge.vertex]
    stream = source.op.stream  # type: ignore[attr-defined]
    on_time = rows if stream.static else rows.where(rows.ts >= before)
    salt = shard if _weighed(graph.vertices[number]) else None
    kept = valve.admitted(stream.name, on_time, source.schema.names, graph.used_by[number], salt)
    if kept is None:
        return on_time, 0
    return on_time.where(kept), len(_once(edge.route, shard, on_time.where(~kept)))


def weight_of(graph: Graph, number: int, valve: Valve) -> float:
    """How many rows of its stream each row stands for that a window lets in; 1 for other vertices."""
    vertex = graph.vertices[number]
    if not _weighed(vertex):
        return 1.0
    stream = graph.vertices[vertex.inputs[0].vertex].op.stream  # type: ignore[attr-defined]
    return 1.0 / valve.share(stream.name, graph.used_by[number])


def _weighed(vertex: Vertex) -> bool:
    return isinstance(vertex.op, TimeWindow) and vertex.op.weighed


def _once(route: Route, shard: int, rows: Batch) -> Batch:
    """Rows of which several shards may have a copy, each on one of them."""
    if isinstance(route, Everywhere):
        return rows.where(np.full(len(rows), shard == 0))
    if isinstance(route, Split):
        role = buffer_values(rows.columns.column(ROLE), np.int8)
        return rows.where((role == PLAIN) | (role == MINE))
    return rows
