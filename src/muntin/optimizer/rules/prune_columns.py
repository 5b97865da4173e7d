"""Columns that nothing above uses."""

from __future__ import annotations

from dataclasses import replace

from muntin.aggregates.registry import described
from muntin.optimizer.rewrite import Named, have, identity, is_nrr, names, names_of, with_inputs
from muntin.plan.exprs import Agg, Expr, conjunction, conjuncts
from muntin.plan.nodes import (
    Aggregate,
    Apply,
    Filter,
    Join,
    Node,
    OuterJoin,
    Output,
    Project,
    Rewindow,
    Scan,
    SemiJoin,
    SetOp,
    TableScan,
    TopK,
    has_internal,
    within,
)

Names = frozenset[str]


def prune_columns(node: Node) -> Node:
    """Cut every input of a join, a negation or a set operation to the columns that are used above it.

    CQL: ``SELECT a.k FROM A a [NOW] WHERE NOT EXISTS (SELECT 1 FROM B b [NOW] WHERE b.k = a.k)``. Before: ``Anti join
    (A, B)``; after: ``Anti join (Project a.k (A), Project b.k (B))``. DISTINCT, EXCEPT, INTERSECT and TOP k look at all
    columns.
    """
    match node:
        case Output():
            return replace(node, input=_prune(node.input, have(node), False))
        case Rewindow(inner):
            return replace(node, input=replace(inner, input=_prune(inner.input, have(inner), False)))
        case _:
            return node


def _prune(node: Node, used: Names, cut: bool) -> Node:
    """The node with the columns ``used`` at least; ``cut``: put a projection above a window with more."""
    match node:
        case Scan() | TableScan() | Rewindow():
            return _cut(node, used) if cut and not is_nrr(node) else node
        case Filter(child, predicate):
            filtered = replace(node, input=_prune(child, used | names(predicate), cut))
            return _cut(filtered, used) if cut and not names(predicate) <= used else filtered
        case Project(child, exprs):
            kept = _at_least_one(tuple((n, e) for n, e in exprs if n in used), exprs)
            return Project(_prune(child, names_of(e for _, e in kept), False), kept)
        case Aggregate() if has_internal(node):
            return _inside(node)  # each change of any of its values is a row more (thesis 3.3.2)
        case Aggregate(child, groups, aggs):
            kept_aggs = tuple((n, a) for n, a in aggs if n in used) or (aggs[:1] if not groups else ())
            below = names_of([e for _, e in groups] + _arguments(kept_aggs)) | _times(node, kept_aggs)
            return Aggregate(_prune(child, below, False), groups, kept_aggs)
        case Join():
            return _join(node, used)
        case OuterJoin(left, right, predicate, _):
            wanted = used | names(predicate)
            return replace(node, left=_side(left, wanted), right=_side(right, wanted))
        case SemiJoin(left, right, predicate, _, pair):
            wanted = names(predicate) | (names(pair[0]) | names(pair[1]) if pair else frozenset())
            return replace(node, left=_side(left, wanted | used), right=_side(right, wanted))
        case Apply(left, right, predicate, aggs):
            kept_aggs = tuple((n, a) for n, a in aggs if n in used) or aggs[:1]
            wanted = names(predicate) | names_of(_arguments(kept_aggs))
            wanted |= _times(right, kept_aggs)
            return Apply(_side(left, names(predicate) | used), _side(right, wanted), predicate, kept_aggs)
        case SetOp(kind="union_all"):
            return _union(node, used)
        case TopK(ranks=ranks):
            return _inside(replace(node, ranks=tuple(r for r in ranks if r[0] in used)))
        case _:
            return _inside(node)


def _join(node: Join, used: Names) -> Node:
    """The join with each window's own conditions on the window, so that columns which only those read end there."""
    rest = conjuncts(node.predicate)
    parts: list[Node] = []
    for part in node.parts:
        own = [c for c in rest if names(c) and names(c) <= have(part)] if isinstance(part, Scan) else []
        others = used | names_of(c for c in rest if c not in own)
        if names_of(own) <= others:  # nothing to be had
            own = []
        rest = [c for c in rest if c not in own]
        parts.append(Filter(part, conjunction(own)) if own else part)
    wanted = used | names_of(rest)
    return Join(tuple(_prune(p, wanted & have(p), True) for p in parts), conjunction(rest))


def _inside(node: Node) -> Node:
    """A node that looks at all columns of its inputs."""
    return with_inputs(node, [_prune(child, have(child), False) for child in node.inputs])


def _side(node: Node, wanted: Names) -> Node:
    return _prune(node, wanted & have(node), True)


def _cut(node: Node, used: Names) -> Node:
    kept = _at_least_one(identity(node, used), identity(node))
    return node if len(kept) == len(node.schema) else Project(node, kept)


def _at_least_one(kept: Named, every: Named) -> Named:
    """A row without columns is still a row, but nothing carries it well."""
    return kept or every[:1]


def _arguments(aggs: tuple[tuple[str, Agg], ...]) -> list[Expr]:
    return [a.arg for _, a in aggs if a.arg is not None]


def _times(node: Node, aggs: tuple[tuple[str, Agg], ...]) -> Names:
    """The event times below the node, which FIRST and LAST are by (where they have not been projected away)."""
    if not any(described(a).dated for _, a in aggs):
        return frozenset()
    times = frozenset(f"{n.alias}.{n.stream.ts}" for n in within(node) if isinstance(n, Scan))
    return times & frozenset(name for child in (node, *node.inputs) for name in child.schema.names)


def _union(node: SetOp, used: Names) -> Node:
    kept = [i for i, n in enumerate(node.schema.names) if n in used] or [0]
    sides = []
    for side in (node.left, node.right):
        columns = tuple(identity(side)[i] for i in kept)
        below = _prune(side, frozenset(n for n, _ in columns), False)
        sides.append(below if below.schema.names == tuple(n for n, _ in columns) else Project(below, columns))
    return replace(node, left=sides[0], right=sides[1])
