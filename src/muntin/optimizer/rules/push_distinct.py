"""DISTINCT below joins."""

from __future__ import annotations

from dataclasses import replace

from muntin.optimizer.rewrite import have, identity, is_nrr, names, names_of
from muntin.optimizer.rules.remove_distinct import key_of
from muntin.plan.nodes import Distinct, Join, Node, Project


def push_distinct(node: Node) -> Node:
    """Join distinct rows of the inputs, cut to the columns that the join and the result use.

    CQL: ``SELECT DISTINCT a.k FROM A a [RANGE 1 HOUR], B b [RANGE 1 HOUR] WHERE a.k = b.k``. Before: ``Distinct
    (Project a.k (Join (A, B)))``; after: ``Distinct (Project a.k (Join (Distinct (Project a.k (A)), Distinct
    (Project b.k (B)))))``, of which ``remove_distinct`` takes the outer one where the columns allow it. Not with a
    non-retroactive relation, which every row reads at its own time.
    """
    match node:
        case Distinct(Project(Join(parts, predicate) as join, exprs)) if not any(is_nrr(p) for p in parts):
            used = names(predicate) | names_of(e for _, e in exprs)
            below = tuple(_kinds(p, used) for p in parts)
            if below == parts:
                return node
            return Distinct(Project(replace(join, parts=below), exprs))
        case _:
            return node


def _kinds(part: Node, used: frozenset[str]) -> Node:
    wanted = have(part) & used
    if not wanted or key_of(part) is not None:
        return part
    return Distinct(Project(part, identity(part, wanted)))
