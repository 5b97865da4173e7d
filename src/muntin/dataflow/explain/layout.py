"""What EXPLAIN says of an operator that queries with different hints share: one layout holds for all of them."""

from __future__ import annotations

from collections.abc import Sequence

from muntin.dataflow.graph import Graph
from muntin.dataflow.routes import Split
from muntin.operators.joins.window_join import WindowJoin
from muntin.operators.time_window import TimeWindow


def layout_note(graph: Graph, number: int, queries: Sequence[str]) -> str:
    """Of a join of two windows whether hot keys are split (option ``skew``), where one of its queries did not ask for
    that; "" where all have what they asked for. ``queries``: the names of the graph's plans."""
    vertex = graph.vertices[number]
    windows = [graph.vertices[e.vertex] for e in vertex.inputs]
    if not isinstance(vertex.op, WindowJoin) or len(windows) != 2 or vertex.op.keys[0] == ():
        return ""
    if not all(isinstance(w.op, TimeWindow) for w in windows):
        return ""
    split = any(isinstance(e.route, Split) for w in windows for e in w.inputs)
    users = sorted(graph.used_by[number])
    others = [queries[u] for u in users if (graph.plans[u].options.skew == "split") != split]
    if not others:
        return ""
    if split:
        return f"hot keys split for {', '.join(others)} too, which did not ask: one layout for all that share the join"
    return (
        f"hot keys not split, although {', '.join(others)} asked (skew): the join is laid out as who came first has it"
    )
