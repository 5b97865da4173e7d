"""Whose windows end with which slice of a shared join, and the policy by which running ones are done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from muntin.dataflow.graph import Graph, QueryPlan
from muntin.operators.joins.narrow import Narrow
from muntin.operators.joins.sliced_join import SlicedJoin


def last_slices(graph: Graph, join: int) -> Mapping[int, int]:
    """By query that reads a join which is done slice by slice (vertex number ``join``) the last slice that it needs."""
    op = graph.vertices[join].op
    assert isinstance(op, SlicedJoin)
    found: dict[int, int] = {}
    for number, v in enumerate(graph.vertices):
        if any(e.vertex == join for e in v.inputs):
            reach = v.op.reach if isinstance(v.op, Narrow) else None
            last = sum(end < (op.ends[-1] if reach is None else reach) for end in op.ends)
            for query in graph.used_by[number]:
                found[query] = max(found.get(query, 0), last)
    return found


def with_schedule(plan: QueryPlan, schedule: str | None) -> QueryPlan:
    """The plan with its joins that are done slice by slice under a policy (None: as they are)."""
    if schedule is None:
        return plan
    vertices = tuple(
        replace(v, op=replace(v.op, schedule=schedule)) if isinstance(v.op, SlicedJoin) else v for v in plan.vertices
    )
    return replace(plan, vertices=vertices)
