"""Which vertex gives a query's whole answers at its instants: behind it nothing remembers anything."""

from __future__ import annotations

from muntin.dataflow.graph import Graph
from muntin.operators.reader import Reader
from muntin.operators.synopsis import Synopsis, Window


def reporter(graph: Graph, query: int) -> int | None:
    """The vertex that gives the answer of a query (by number) at its instants: an operator of its own, or a reader of a
    synopsis. None where there is no such."""
    at = graph.roots[query]
    while not graph.vertices[at].op.stateful:
        if len(graph.vertices[at].inputs) != 1:
            return None
        if window_read(graph, at) is not None:
            return at
        at = graph.vertices[at].inputs[0].vertex
    return at if getattr(graph.vertices[at].op, "emit", None) == "snapshots" else None


def window_read(graph: Graph, vertex: int | None) -> Window | None:
    """What a vertex reads of a synopsis; None for one that reads none."""
    if vertex is None or not isinstance(op := graph.vertices[vertex].op, Reader):
        return None
    below = graph.vertices[graph.vertices[vertex].inputs[0].vertex].op
    return below.windows[op.window] if isinstance(below, Synopsis) else None
