"""Whether a query can join others whose operators have run before it, so that its windows fill and it is exact then."""

from __future__ import annotations

from collections.abc import Mapping

from muntin.dataflow.explain.patterns import patterns_of
from muntin.dataflow.explain.words import words_of
from muntin.dataflow.graph import QueryPlan
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
