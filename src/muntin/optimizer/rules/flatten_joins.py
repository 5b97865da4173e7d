"""One n-way join instead of joins of derived tables."""

from __future__ import annotations

from muntin.optimizer.rewrite import Named, disjoint, identity, is_leaf, is_nrr, is_selection_of_columns, substitute
from muntin.plan.exprs import Expr, conjunction, conjuncts
from muntin.plan.nodes import Filter, Join, Node, Project, Rewindow, Scan, SemiJoin, TableScan


def flatten_joins(node: Node) -> Node:
    """Join what the parts join, pull their projections above, and take their filters into the condition.

    CQL: ``SELECT q.n, c.v FROM (SELECT a.k AS k, b.v AS n FROM A a [NOW], B b [NOW] WHERE a.k = b.k) AS q, C c [NOW]
    WHERE q.k = c.k``. Before: ``Join q.k = c.k (Project (Join a.k = b.k (A, B)), C)``; after: ``Project (Join a.k = b.k
    AND a.k = c.k (A, B, C))``. A join with a non-retroactive relation stays: its rows are read at the times of its own
    windows (thesis 3.3.1).
    """
    if not isinstance(node, Join):
        return node
    for i, part in enumerate(node.parts):
        others = (*node.parts[:i], *node.parts[i + 1 :])
        match part:
            case Join(parts, condition) if not any(is_nrr(p) for p in parts):
                return _joined(node, i, parts, conjuncts(condition))
            case Filter(Scan() | TableScan() | Rewindow() as leaf, condition):
                return _joined(node, i, (leaf,), conjuncts(condition))
            case Project(child, exprs) if _worth_pulling(part) and disjoint((child, *others)):
                return _pulled(node, i, child, exprs)
    return node


def _joined(node: Join, i: int, parts: tuple[Node, ...], conditions: list[Expr]) -> Join:
    return Join((*node.parts[:i], *parts, *node.parts[i + 1 :]), conjunction(conditions + conjuncts(node.predicate)))


def _worth_pulling(part: Project) -> bool:
    if is_leaf(part.input):
        return not is_selection_of_columns(part)
    return isinstance(part.input, Join | SemiJoin)


def _pulled(node: Join, i: int, child: Node, exprs: Named) -> Node:
    columns = tuple(c for k, p in enumerate(node.parts) for c in (exprs if k == i else identity(p)))
    parts = (*node.parts[:i], child, *node.parts[i + 1 :])
    return Project(Join(parts, substitute(node.predicate, exprs)), columns)
