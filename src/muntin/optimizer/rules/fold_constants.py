"""Constants computed at planning time, with Spark's three-valued logic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from muntin.plan.exprs import TRUE, Call, Expr, Literal
from muntin.plan.nodes import Aggregate, Apply, Filter, Join, Node, OuterJoin, Project, SemiJoin, TopK

_BOOL = pa.bool_()
FALSE = Literal(False, _BOOL)
_NEGATED = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "le": "gt", "gt": "le"}
_NEGATED |= {"is_null": "is_not_null", "is_not_null": "is_null"}
_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip
_SUMS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
}  # fmt: skip


def fold_constants(node: Node) -> Node:
    """Fold every expression of a node; a filter that is always true goes away.

    CQL: ``SELECT a.k FROM A a [NOW] WHERE 1 + 1 = 2 AND NOT (a.v < 3)``. Before: ``Filter (1 + 1 = 2) AND NOT a.v <
    3``; after: ``Filter a.v >= 3``. The windows below a condition that is never true stay: they say when there is an
    answer.
    """
    match node:
        case Filter(child, predicate):
            folded = fold(predicate)
            return child if folded == TRUE else replace(node, predicate=folded)
        case SemiJoin(null_aware=pair) if pair is not None:
            return node  # the pair must stay equal to its equality in the condition
        case Join() | SemiJoin() | OuterJoin():
            return replace(node, predicate=fold(node.predicate))
        case Apply(aggs=aggs):
            kept = tuple((n, a if a.arg is None else replace(a, arg=fold(a.arg))) for n, a in aggs)
            return replace(node, predicate=fold(node.predicate), aggs=kept)
        case Project(_, exprs):
            return replace(node, exprs=tuple((n, fold(e)) for n, e in exprs))
        case Aggregate(_, groups, aggs):
            kept = tuple((n, a if a.arg is None else replace(a, arg=fold(a.arg))) for n, a in aggs)
            return replace(node, groups=tuple((n, fold(e)) for n, e in groups), aggs=kept)
        case TopK(_, keys, _):
            return replace(node, keys=tuple((fold(e), d, n) for e, d, n in keys))
        case _:
            return node


def fold(e: Expr) -> Expr:
    """The expression with its constant parts computed; the type stays."""
    if not isinstance(e, Call):
        return e
    call = replace(e, args=tuple(fold(a) for a in e.args))
    folded = _fold_call(call)
    return folded if folded.type == e.type else call


def _fold_call(call: Call) -> Expr:
    match call.fn, call.args:
        case ("and", args):
            return _junction("and", args, neutral=TRUE, decisive=FALSE)
        case ("or", args):
            return _junction("or", args, neutral=FALSE, decisive=TRUE)
        case ("not", (arg,)):
            return _negation(call, arg)
        case ("is_null", (Literal(value, _),)):
            return Literal(value is None, _BOOL)
        case ("is_not_null", (Literal(value, _),)):
            return Literal(value is not None, _BOOL)
        case ("cast", (arg,)):
            return _cast(call, arg)
        case ("case", args):
            return _case(call, args)
        case ("only", (Literal(True, _), value)):
            return value
        case ("coalesce", args):
            return _coalesce(call, args)
        case (fn, (Literal(a, kind), Literal(b, _))) if fn in _TESTS:
            return _test(call, fn, kind, a, b)
        case (fn, (Literal(a, _), Literal(b, _))) if fn in _SUMS and pt.is_integer(call.type):
            return _sum(call, fn, a, b)
        case _:
            return call


def _junction(fn: str, args: tuple[Expr, ...], neutral: Literal, decisive: Literal) -> Expr:
    """AND without TRUE (OR without FALSE), equal parts once; the other truth value decides alone."""
    parts = list(dict.fromkeys(a for a in args if a != neutral))
    if decisive in parts:
        return decisive
    if not parts:
        return neutral
    whole = parts[0]
    for part in parts[1:]:
        whole = Call(fn, (whole, part), _BOOL)
    return whole


def _negation(call: Call, arg: Expr) -> Expr:
    """NOT of a comparison is the opposite comparison: NULL stays NULL, and NaN has a place in the order."""
    match arg:
        case Literal(value, _):
            return Literal(None if value is None else not value, _BOOL)
        case Call("not", (inner,)):
            return inner
        case Call(fn, args) if fn in _NEGATED:
            return Call(_NEGATED[fn], args, _BOOL)
        case _:
            return call


def _test(call: Call, fn: str, kind: pa.DataType, a: Any, b: Any) -> Expr:
    if a is None or b is None:
        return Literal(None, _BOOL)
    if pt.is_integer(kind) or pt.is_boolean(kind) or pt.is_string(kind):
        return Literal(_TESTS[fn](a, b), _BOOL)
    return call


def _sum(call: Call, fn: str, a: int | None, b: int | None) -> Expr:
    """Integers, if the result fits the type: an overflow is an error that only rows may raise."""
    if a is None or b is None:
        return Literal(None, call.type)
    value = _SUMS[fn](a, b)
    limit = 1 << (call.type.bit_width - 1)
    return Literal(value, call.type) if -limit <= value < limit else call


def _cast(call: Call, arg: Expr) -> Expr:
    if arg.type == call.type:
        return arg
    match arg:
        case Literal(None, _):
            return Literal(None, call.type)
        case Literal(value, kind) if pt.is_integer(kind) and pt.is_integer(call.type):
            limit = 1 << (call.type.bit_width - 1)
            return Literal(value, call.type) if -limit <= value < limit else call
        case _:
            return call


def _case(call: Call, args: tuple[Expr, ...]) -> Expr:
    """Branches that are never taken go; the first that is always taken is the last."""
    kept: list[Expr] = []
    last = args[-1] if len(args) % 2 else Literal(None, call.type)
    for condition, value in zip(args[:-1:2], args[1::2], strict=False):
        if condition == TRUE:
            last = value
            break
        if not (isinstance(condition, Literal) and not condition.value):
            kept += [condition, value]
    return Call("case", (*kept, last), call.type) if kept else last


def _coalesce(call: Call, args: tuple[Expr, ...]) -> Expr:
    kept = [a for a in args if not (isinstance(a, Literal) and a.value is None)]
    if not kept:
        return Literal(None, call.type)
    return kept[0] if len(kept) == 1 or isinstance(kept[0], Literal) else replace(call, args=tuple(kept))
