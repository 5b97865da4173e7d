"""Negation above joins."""

from __future__ import annotations

from dataclasses import replace

from muntin.optimizer.rewrite import disjoint
from muntin.plan.nodes import Join, Node, SemiJoin


def pull_negation_up(node: Node) -> Node:
    """Join first, then take rows away: the join sees no negative tuples (thesis 3.5.3, Query 4 of 3.6.5).

    CQL: ``SELECT q.k, c.v FROM (SELECT a.k AS k FROM A a [NOW] WHERE NOT EXISTS (SELECT 1 FROM B b [NOW] WHERE b.k =
    a.k)) AS q, C c [NOW] WHERE q.k = c.k``. Before: ``Join (Anti join (A, B), C)``, the join's input STR; after: ``Anti
    join (Join (A, C), B)``, the join's inputs WKS. ``push_negation_down`` is the way back; cost decides.
    """
    if isinstance(node, Join):
        for i, part in enumerate(node.parts):
            if isinstance(part, SemiJoin) and disjoint((*node.parts, part.right)):
                return lifted(node, i, part)
    return node


def lifted(join: Join, i: int, part: SemiJoin) -> SemiJoin:
    """The (anti) semi-join of part ``i`` above the join."""
    parts = (*join.parts[:i], part.left, *join.parts[i + 1 :])
    return replace(part, left=replace(join, parts=parts))
