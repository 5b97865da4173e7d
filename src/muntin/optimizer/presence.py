"""Which columns of a plan can never be NULL: told to Spark, which then reads them without asking.

Conservative: a column that is not named here may be NULL. What is certain: a stream's event time (rows without one are
dropped before anything else), columns that a condition keeps only where they are known, groups, counts, and what is
computed from such columns by functions that give NULL for NULL arguments only.
"""

from __future__ import annotations

import pyarrow as pa

from muntin.aggregates.registry import described
from muntin.plan.exprs import Agg, Call, Column, Expr, Literal, conjuncts
from muntin.plan.nodes import (
    Aggregate,
    Apply,
    Distinct,
    Filter,
    Join,
    Node,
    OuterJoin,
    Output,
    Project,
    Scan,
    SemiJoin,
    SetOp,
    TopK,
)

Names = frozenset[str]

_STRICT = frozenset(["add", "sub", "mul", "neg", "abs", "eq", "ne", "lt", "le", "gt", "ge", "not"])
"""NULL for a NULL argument, and for no other (an overflow is an error)."""

_COMPARISONS = frozenset(["eq", "ne", "lt", "le", "gt", "ge"])
_ALWAYS = frozenset(["is_null", "is_not_null", "eq_null_safe"])


def never_null(node: Node) -> Names:
    """Names of the node's columns that hold no NULL in any row."""
    match node:
        case Scan(stream, alias):
            return frozenset() if stream.static else frozenset([f"{alias}.{stream.ts}"])
        case Filter(child, predicate):
            return never_null(child) | (_asserted(predicate) & frozenset(child.schema.names))
        case Join(parts, predicate):
            return frozenset(n for p in parts for n in never_null(p)) | (_asserted(predicate) & _columns(node))
        case Project(child, exprs):
            known = never_null(child)
            return frozenset(n for n, e in exprs if _present(e, known))
        case Aggregate(child, groups, aggs):
            known = never_null(child)
            named = frozenset(n for n, e in groups if _present(e, known))
            return named | frozenset(n for n, a in aggs if _has_value(a, known, bool(groups)))
        case TopK(child, ranks=ranks):
            return never_null(child) | frozenset(n for n, _ in ranks)
        case Distinct(child) | Output(child):
            return never_null(child)
        case SemiJoin(left) | Apply(left):
            return never_null(left)
        case OuterJoin(left, right, _, side):
            kept = {"left": left, "right": right}.get(side)
            return frozenset() if kept is None else never_null(kept)
        case SetOp(kind, left, right):
            mine, theirs = never_null(left), never_null(right)
            both = zip(left.schema.names, right.schema.names, strict=True)
            return frozenset(a for a, b in both if a in mine and (b in theirs or kind.startswith("except")))
        case _:
            return frozenset()


def _columns(node: Node) -> Names:
    return frozenset(node.schema.names)


def _asserted(predicate: Expr) -> Names:
    """Columns that are not NULL wherever the predicate is true."""
    found: set[str] = set()
    for c in conjuncts(predicate):
        match c:
            case Call("is_not_null", (e,)) | Call("not", (Call("is_null", (e,)),)):
                found |= _needed(e)
            case Call(fn, args) if fn in _COMPARISONS:
                found |= {n for a in args for n in _needed(a)}
    return frozenset(found)


def _needed(e: Expr) -> set[str]:
    """Columns whose NULL makes the expression NULL."""
    match e:
        case Column(name):
            return {name}
        case Call(fn, args) if fn in _STRICT or fn == "cast":
            return {n for a in args for n in _needed(a)}
        case _:
            return set()


def _present(e: Expr, known: Names) -> bool:
    match e:
        case Column(name):
            return name in known
        case Literal(value):
            return value is not None
        case Call(fn) if fn in _ALWAYS:
            return True
        case Call(fn, args) if fn in _STRICT:
            return all(_present(a, known) for a in args)
        case Call("cast", (inner,), kind):
            return _widens(inner.type, kind) and _present(inner, known)
        case Call("coalesce", args):
            return any(_present(a, known) for a in args)
        case _:
            return False


def _widens(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether every value has one of the target's type (TRY_CAST and NaN as a decimal give NULL otherwise)."""
    t = pa.types
    if not t.is_integer(source):
        return source == target
    return bool(t.is_float64(target) or (t.is_integer(target) and target.bit_width >= source.bit_width))


def _has_value(agg: Agg, known: Names, grouped: bool) -> bool:
    match described(agg).known:
        case "always":
            return True
        case "like its argument":
            return grouped and agg.arg is not None and _present(agg.arg, known)
        case _:
            return False
