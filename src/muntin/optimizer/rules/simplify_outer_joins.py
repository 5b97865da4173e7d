"""Outer joins whose padded rows a filter throws away."""

from __future__ import annotations

from collections.abc import Collection

from muntin.optimizer.rewrite import have
from muntin.plan.exprs import Call, Column, Expr, Literal, conjuncts
from muntin.plan.nodes import Filter, Join, Node, OuterJoin

_COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "like"})
_STRICT = _COMPARISONS | frozenset(
    {"add", "sub", "mul", "div", "intdiv", "mod", "neg", "abs", "round", "floor", "ceil", "sqrt", "sign", "lower"}
    | {"upper", "length", "trim", "not", "cast"}
)


def simplify_outer_joins(node: Node) -> Node:
    """An outer join becomes an inner one (full: left or right) where rows without partner cannot pass the filter.

    CQL: ``SELECT a.k, b.v FROM A a [NOW] LEFT JOIN B b [NOW] ON a.k = b.k WHERE b.v > 0``. Before: ``Filter b.v > 0
    (Left join)``, pattern STR; after: ``Filter b.v > 0 (Join)``, pattern WK, and no negative tuples.
    """
    if not (isinstance(node, Filter) and isinstance(node.input, OuterJoin)):
        return node
    join = node.input
    parts = conjuncts(node.predicate)
    no_left = any(rejects(c, have(join.left)) for c in parts)
    no_right = any(rejects(c, have(join.right)) for c in parts)
    keeps_left = join.side in ("left", "full") and not no_right
    keeps_right = join.side in ("right", "full") and not no_left
    match keeps_left, keeps_right:
        case True, True:
            return node
        case True, False:
            return node if join.side == "left" else Filter(_sided(join, "left"), node.predicate)
        case False, True:
            return node if join.side == "right" else Filter(_sided(join, "right"), node.predicate)
        case _:
            return Filter(Join((join.left, join.right), join.predicate), node.predicate)


def _sided(join: OuterJoin, side: str) -> OuterJoin:
    return OuterJoin(join.left, join.right, join.predicate, side)  # type: ignore[arg-type]


def rejects(condition: Expr, columns: Collection[str]) -> bool:
    """Whether the condition cannot be true when all of ``columns`` are NULL."""
    match condition:
        case Literal(value, _):
            return not value
        case Call("and", args):
            return any(rejects(a, columns) for a in args)
        case Call("or", args):
            return all(rejects(a, columns) for a in args)
        case Call("is_not_null", (arg,)):
            return is_null_with(arg, columns)
        case _:
            return is_null_with(condition, columns)


def is_null_with(e: Expr, columns: Collection[str]) -> bool:
    """Whether the expression is NULL when all of ``columns`` are."""
    match e:
        case Column(name, _):
            return name in columns
        case Literal(value, _):
            return value is None
        case Call("in", (x, *_)):
            return is_null_with(x, columns)
        case Call(fn, args) if fn in _STRICT:
            return any(is_null_with(a, columns) for a in args)
        case _:
            return False
