"""Whose windows end with which slice of a shared join, and the policy by which running ones are done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from muntin.dataflow.graph import Graph, QueryPlan, Vertex
from muntin.operators.joins.counted_join import CountedJoin
from muntin.operators.joins.join_graph import GraphJoin
from muntin.operators.joins.slice_readers import looks_back
from muntin.operators.joins.slices import slices_of
from muntin.operators.joins.window_join import WindowJoin


def last_slices(graph: Graph, join: int) -> Mapping[int, int]:
    """By query that reads a join which is done slice by slice (vertex number ``join``) the last slice that it needs."""
    slices = slices_of(graph.vertices[join].op)
    assert slices is not None
    found: dict[int, int] = {}
    for number, v in enumerate(graph.vertices):
        if any(e.vertex == join for e in v.inputs):
            last = slices.last(looks_back(graph.vertices[join].op, v.op))
            for query in graph.used_by[number]:
                found[query] = max(found.get(query, 0), last)
    return found


def with_schedule(plan: QueryPlan, schedule: str | None) -> QueryPlan:
    """The plan with its joins that are done slice by slice under a policy (None: as they are)."""
    if schedule is None:
        return plan
    return replace(plan, vertices=tuple(_scheduled(v, schedule) for v in plan.vertices))


def _scheduled(v: Vertex, schedule: str) -> Vertex:
    if not isinstance(v.op, WindowJoin | GraphJoin | CountedJoin) or v.op.slices is None:
        return v
    return replace(v, op=replace(v.op, slices=replace(v.op.slices, schedule=schedule)))
