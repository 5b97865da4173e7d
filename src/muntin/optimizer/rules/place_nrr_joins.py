"""Joins with non-retroactive relations below negation."""

from __future__ import annotations

from muntin.optimizer.rewrite import disjoint, is_nrr
from muntin.optimizer.rules.pull_negation_up import lifted
from muntin.plan.nodes import Join, Node, SemiJoin


def place_nrr_joins(node: Node) -> Node:
    """Negation above a join with a non-retroactive relation, which cannot take negative tuples (thesis 3.5.3): the row
    that one would have to match may have gone from the relation since.

    CQL: ``SELECT q.k, n.v FROM (SELECT a.k AS k FROM A a [NOW] WHERE NOT EXISTS (SELECT 1 FROM B b [NOW] WHERE b.k =
    a.k)) AS q, N n WHERE q.k = n.k``. Before: ``Join (Anti join (A, B), N)``; after: ``Anti join (Join (A, N), B)``.
    """
    if not (isinstance(node, Join) and any(is_nrr(p) for p in node.parts)):
        return node
    for i, part in enumerate(node.parts):
        if isinstance(part, SemiJoin) and disjoint((*node.parts, part.right)):
            return lifted(node, i, part)
    return node
