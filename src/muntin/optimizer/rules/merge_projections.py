"""Projections on projections, and aggregates over projections."""

from __future__ import annotations

from muntin.optimizer.rewrite import substitute, substitute_agg
from muntin.plan.nodes import Aggregate, Node, Project


def merge_projections(node: Node) -> Node:
    """Compute columns once, from what lies below.

    CQL: ``SELECT q.n + 1 AS m FROM (SELECT a.v AS n FROM A a [NOW]) AS q``. Before: ``Project q.n + 1 (Project a.v AS
    q.n (Scan A))``; after: ``Project a.v + 1 (Scan A)``.
    """
    match node:
        case Project(Project(child, inner), outer):
            return Project(child, tuple((n, substitute(e, inner)) for n, e in outer))
        case Aggregate(Project(child, inner), groups, aggs):
            by = tuple((n, substitute(e, inner)) for n, e in groups)
            return Aggregate(child, by, tuple((n, substitute_agg(a, inner)) for n, a in aggs))
        case _:
            return node
