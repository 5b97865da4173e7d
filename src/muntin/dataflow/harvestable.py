"""Which vertices may read parts of their windows only."""

from __future__ import annotations

from muntin.dataflow.graph import Graph
from muntin.operators.joins.join_graph import GraphJoin
from muntin.operators.joins.window_join import WindowJoin


def harvestable(graph: Graph, vertex: int) -> int:
    """How many windows a vertex joins, if it may read parts of them; else 0.

    A join of rows that negative tuples take away may not (it would take back what it never gave), nor one level of a
    relayed join.
    """
    v = graph.vertices[vertex]
    if not isinstance(v.op, WindowJoin | GraphJoin) or any(graph.vertices[e.vertex].signed for e in v.inputs):
        return 0
    return len(v.inputs) if not (isinstance(v.op, GraphJoin) and v.op.relayed) else 0
