"""How a query joins others whose operators have run before it, and whether it can be exact once its windows filled."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from muntin.dataflow.explain.patterns import patterns_of
from muntin.dataflow.explain.words import words_of
from muntin.dataflow.graph import Edge, QueryPlan, vertex_id
from muntin.operators.joining_in import JoiningIn
from muntin.plan.patterns import Pattern


def never_exact(plan: QueryPlan, since: Mapping[str, int], batch: int) -> str | None:
    """The operator, in words, that begins in ``batch`` and would be told by one that ran before it to take back rows
    which it never got (negative tuples); None where there is none. ``since``: by vertex the first batch that has it.

    Rows whose expiry is known leave by themselves: an operator that gets those fills from empty.
    """
    graph = plan.graph
    patterns = patterns_of(graph)
    ran: list[bool] = []
    for number, v in enumerate(graph.vertices):
        takes_back = any(ran[e.vertex] and patterns[e.vertex] is Pattern.STR for e in v.inputs)
        if v.op.stateful and since[v.id] == batch and takes_back:
            return words_of(graph, number)
        ran.append((v.op.stateful and since[v.id] < batch) or any(ran[e.vertex] for e in v.inputs))
    return None


def joined_in(plan: QueryPlan, name: str, batch: int, known: Collection[str]) -> QueryPlan:
    """The plan of a query that comes in ``batch``: where all of its operators with state run already (``known``: their
    ids), it begins with what they have shown of its answer (``operators.joining_in``); else as it is. ``name``: the
    query's."""
    root = plan.vertices[plan.root]
    own = {v.id for v in plan.vertices if v.op.stateful}
    if not plan.shows_op or not root.signed or not own or not own <= set(known):
        return plan
    op = JoiningIn(name, batch)
    last = replace(root, id=vertex_id(op, [root.id]), op=op, inputs=(Edge(plan.root),))
    return replace(plan, vertices=(*plan.vertices, last), root=len(plan.vertices))
