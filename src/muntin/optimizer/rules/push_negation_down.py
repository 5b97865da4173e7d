"""Negation below joins."""

from __future__ import annotations

from dataclasses import replace

from muntin.optimizer.rewrite import have, is_nrr, names
from muntin.plan.nodes import Join, Node, SemiJoin


def push_negation_down(node: Node) -> Node:
    """Take rows away before joining: fewer results in between, but negative tuples through the join (thesis 3.5.3).

    CQL: ``SELECT a.k, c.v FROM A a [NOW], C c [NOW] WHERE a.k = c.k AND NOT EXISTS (SELECT 1 FROM B b [NOW] WHERE b.k =
    a.k)``. Before: ``Anti join (Join (A, C), B)``; after: ``Join (Anti join (A, B), C)``. Never below a join with a
    non-retroactive relation, which cannot take negative tuples.
    """
    if not (isinstance(node, SemiJoin) and isinstance(node.left, Join)):
        return node
    join = node.left
    if any(is_nrr(p) for p in join.parts):
        return node
    used = names(node.predicate)
    used = (used | names(node.null_aware[0]) if node.null_aware else used) & have(join)
    for i, part in enumerate(join.parts):
        if used and used <= have(part):
            parts = (*join.parts[:i], replace(node, left=part), *join.parts[i + 1 :])
            return replace(join, parts=parts)
    return node
