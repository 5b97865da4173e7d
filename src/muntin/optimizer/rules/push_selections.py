"""Selections towards the windows (thesis 3.5.3: operators with simple patterns go down)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from muntin.optimizer.rewrite import have, is_leaf, names, substitute
from muntin.plan.exprs import Column, Expr, conjunction, conjuncts
from muntin.plan.nodes import (
    Aggregate,
    Apply,
    Distinct,
    Filter,
    Join,
    Node,
    OuterJoin,
    Project,
    SemiJoin,
    SetOp,
)


def push_selections(node: Node) -> Node:
    """Filter before joining, grouping, and removing duplicates.

    CQL: ``SELECT q.k FROM (SELECT a.k AS k, SUM(a.v) AS s FROM A a [NOW] GROUP BY a.k) AS q WHERE q.k = 3 AND q.s >
    1``. Before: ``Filter k = 3 AND s > 1 (Aggregate by k (Scan A))``; after: ``Filter s > 1 (Aggregate by k (Filter k =
    3 (Scan A)))``. Never below a TOP k, or into a query whose output is windowed: both choose among rows. The filters
    of a join of windows stay in its condition, from where the planner takes them into the sources.
    """
    match node:
        case Filter(child, predicate):
            return _below(node, child, predicate)
        case Join():
            return _into_parts(node)
        case SemiJoin(null_aware=None):
            return _into_semi_join(node)
        case _:
            return node


def _below(node: Filter, child: Node, predicate: Expr) -> Node:
    match child:
        case Filter(below, first):
            return Filter(below, conjunction(conjuncts(first) + conjuncts(predicate)))
        case Join(_, condition):
            return replace(child, predicate=conjunction(conjuncts(condition) + conjuncts(predicate)))
        case Project(below, exprs):
            return Project(Filter(below, substitute(predicate, exprs)), exprs)
        case Distinct(below):
            return Distinct(Filter(below, predicate))
        case SemiJoin(left=left):
            return replace(child, left=Filter(left, predicate))
        case SetOp(_, left, right):
            other = [(a.name, Column(b.name, b.type)) for a, b in zip(left.schema, right.schema, strict=True)]
            return replace(
                child, left=Filter(left, predicate), right=Filter(right, substitute(predicate, tuple(other)))
            )
        case Aggregate(below, groups, _):
            keys = frozenset(n for n, _ in groups)
            return _split(node, lambda c: names(c) <= keys, lambda p: replace(child, input=Filter(below, p)), groups)
        case Apply(left=left):
            mine = have(left)
            return _split(node, lambda c: names(c) <= mine, lambda p: replace(child, left=Filter(left, p)))
        case OuterJoin():
            return _beside(node, child)
        case _:
            return node


def _split(
    node: Filter, goes: Callable[[Expr], bool], push: Callable[[Expr], Node], columns: tuple[tuple[str, Expr], ...] = ()
) -> Node:
    """Push the conditions that read some column and may go; the others stay above."""
    parts = conjuncts(node.predicate)
    down = [c for c in parts if names(c) and goes(c)]
    if not down:
        return node
    pushed = push(substitute(conjunction(down), columns))
    rest = [c for c in parts if c not in down]
    return Filter(pushed, conjunction(rest)) if rest else pushed


def _beside(node: Filter, join: OuterJoin) -> Node:
    """Only to the side whose rows are all kept: the other side's columns may be NULL above."""
    match join.side:
        case "left":
            left = join.left
            return _split(node, lambda c: names(c) <= have(left), lambda p: replace(join, left=Filter(left, p)))
        case "right":
            right = join.right
            return _split(node, lambda c: names(c) <= have(right), lambda p: replace(join, right=Filter(right, p)))
        case _:
            return node


def _into_parts(node: Join) -> Node:
    rest = conjuncts(node.predicate)
    parts = list(node.parts)
    for i, part in enumerate(parts):
        mine = [c for c in rest if names(c) and names(c) <= have(part)]
        if mine and not is_leaf(part):
            parts[i] = Filter(part, conjunction(mine))
            rest = [c for c in rest if c not in mine]
    return node if parts == list(node.parts) else Join(tuple(parts), conjunction(rest))


def _into_semi_join(node: SemiJoin) -> Node:
    """Conditions on the right alone; for EXISTS also those on the left alone (a row that fails one goes anyway)."""
    parts = conjuncts(node.predicate)
    right = [] if is_leaf(node.right) else [c for c in parts if names(c) and names(c) <= have(node.right)]
    left = [] if node.anti else [c for c in parts if names(c) and names(c) <= have(node.left)]
    if not left and not right:
        return node
    rest = conjunction([c for c in parts if c not in left and c not in right])
    below = Filter(node.left, conjunction(left)) if left else node.left
    beside = Filter(node.right, conjunction(right)) if right else node.right
    return replace(node, left=below, right=beside, predicate=rest)
