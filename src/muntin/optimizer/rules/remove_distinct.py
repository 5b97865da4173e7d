"""DISTINCT over rows that are distinct already."""

from __future__ import annotations

from muntin.plan.exprs import Column
from muntin.plan.nodes import Aggregate, Apply, Distinct, Filter, Join, Node, Project, SemiJoin, SetOp, TopK


def remove_distinct(node: Node) -> Node:
    """Leave DISTINCT out where the rows below have a key among their columns.

    CQL: ``SELECT DISTINCT a.k, COUNT(*) AS n FROM A a [NOW] GROUP BY a.k``. Before: ``Distinct (Project k, n (Aggregate
    by k))``; after: ``Project k, n (Aggregate by k)``.
    """
    if isinstance(node, Distinct) and key_of(node.input) is not None:
        return node.input
    return node


def key_of(node: Node) -> frozenset[str] | None:
    """Columns of which no two rows agree on all, None if there may be equal rows."""
    match node:
        case Distinct() | SetOp(kind="except" | "intersect"):
            return frozenset(node.schema.names)
        case Aggregate(_, groups, _):
            return frozenset(n for n, _ in groups)
        case Filter(child) | TopK(child):
            return key_of(child)
        case SemiJoin(left=left) | Apply(left=left):
            return key_of(left)
        case Join(parts):
            keys = [key_of(p) for p in parts]
            return None if None in keys else frozenset(n for k in keys if k for n in k)
        case Project(child, exprs):
            key = key_of(child)
            renamed = {e.name: n for n, e in exprs if isinstance(e, Column)}
            return frozenset(renamed[n] for n in key) if key is not None and key <= renamed.keys() else None
        case _:
            return None
