"""Bound expressions over Arrow columns, with Spark's rules (non-ANSI, except that an overflow is an error).

``evaluate`` walks the tree once per batch; every function works on whole columns. Constants stay Arrow scalars until
something needs them as a column, so ``price > 10`` does not build a column of tens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from muntin.core.batch import no_columns
from muntin.core.errors import DataError, InternalError
from muntin.plan.exprs import Call, Column, Expr, Literal
from muntin.scalars import arithmetic as maths
from muntin.scalars import calendar as times
from muntin.scalars import text
from muntin.scalars.cast import Value, cast_value, convert
from muntin.scalars.comparison import common_type, equal, less

Function = Callable[[Sequence[Value], pa.DataType], Value]


def evaluate(expr: Expr, columns: pa.RecordBatch) -> pa.Array:
    """The expression for every row of ``columns``: one array of type ``expr.type`` and of length ``num_rows``.

    A plain column of the right type is returned as it is, without a copy. Raises DataError where a result does not fit
    its type (integer or decimal overflow), naming the function.
    """
    value = _value(expr, columns)
    if isinstance(value, pa.Scalar):
        return pa.repeat(value, columns.num_rows) if columns.num_rows else pa.nulls(0, value.type)
    return value


def predicate_mask(expr: Expr, columns: pa.RecordBatch) -> NDArray[np.bool_]:
    """For every row whether the predicate is true; NULL counts as not true."""
    if expr == Literal(True, pa.bool_()):
        return np.ones(columns.num_rows, np.bool_)
    mask: NDArray[np.bool_] = pc.fill_null(evaluate(expr, columns), False).to_numpy(zero_copy_only=False)
    return mask


def _value(expr: Expr, columns: pa.RecordBatch) -> Value:
    match expr:
        case Column(name, kind):
            return convert(columns.column(name), kind)
        case Literal(value, kind):
            return pa.scalar(value, kind)
        case Call(fn):
            lazy = LAZY.get(fn)
            try:
                return _apply(fn, [_value(a, columns) for a in expr.args], expr.type)
            except DataError:
                if lazy is None:
                    raise
                return lazy(expr, columns)
    raise InternalError(f"not an expression: {expr!r}")


def _apply(fn: str, args: Sequence[Value], kind: pa.DataType) -> Value:
    """One function over evaluated arguments; constants in, constant out."""
    constant = all(isinstance(a, pa.Scalar) for a in args)
    if constant:
        args = [pa.repeat(a, 1) for a in args]
    try:
        value = convert(TABLE[fn](args, kind), kind)
    except pa.ArrowInvalid as e:
        raise DataError(
            f"overflow in {fn}(...): a result does not fit the type {kind} ({e}); "
            "cast its arguments to a wider type (DOUBLE, DECIMAL), or filter such rows out with WHERE"
        ) from e
    return value[0] if constant else value


# --- logic and choice -------------------------------------------------------------------------------------------------


def _and(args: Sequence[Value], _: pa.DataType) -> Value:
    return reduce(pc.and_kleene, [convert(a, pa.bool_()) for a in args])


def _or(args: Sequence[Value], _: pa.DataType) -> Value:
    return reduce(pc.or_kleene, [convert(a, pa.bool_()) for a in args])


def _not(args: Sequence[Value], _: pa.DataType) -> Value:
    return pc.invert(convert(args[0], pa.bool_()))


def _compare(test: Callable[[Value, Value], Value]) -> Function:
    """A comparison after both sides are brought to their common type."""

    def run(args: Sequence[Value], _: pa.DataType) -> Value:
        kind = common_type(args)
        return test(convert(args[0], kind), convert(args[1], kind))

    return run


def _eq_null_safe(a: Value, b: Value) -> Value:
    return pc.coalesce(equal(a, b), pc.and_(pc.is_null(a), pc.is_null(b)))


def _case(args: Sequence[Value], kind: pa.DataType) -> Value:
    """case(c1, v1, c2, v2, ..., else): the first condition that is true; NULL is not. Without ``else``: NULL."""
    pairs = len(args) // 2
    conditions = [convert(args[2 * i], pa.bool_()) for i in range(pairs)]
    values = [convert(args[2 * i + 1], kind) for i in range(pairs)]
    other = convert(args[-1], kind) if len(args) % 2 else pa.scalar(None, kind)
    value: Value = other
    for condition, then in zip(reversed(conditions), reversed(values), strict=True):
        value = pc.if_else(pc.fill_null(condition, False), then, value)
    return value


def _coalesce(args: Sequence[Value], kind: pa.DataType) -> Value:
    return pc.coalesce(*[convert(a, kind) for a in args])


def _nullif(args: Sequence[Value], kind: pa.DataType) -> Value:
    same = pc.fill_null(_compare(equal)(args, pa.bool_()), False)
    return pc.if_else(same, pa.scalar(None, kind), convert(args[0], kind))


def _in(args: Sequence[Value], _: pa.DataType) -> Value:
    """in(x, v1, ...): true if equal to one, else NULL if x or a value is NULL, else false."""
    kind = common_type(args)
    x, *values = [convert(a, kind) for a in args]
    if len(values) > 4 and all(isinstance(v, pa.Scalar) for v in values):
        return _in_constants(x, values, kind)
    return reduce(pc.or_kleene, [equal(x, v) for v in values])


def _in_constants(x: pa.Array, values: Sequence[pa.Scalar], kind: pa.DataType) -> Value:
    listed = pa.array([v.as_py() for v in values if v.is_valid], kind)
    if pa.types.is_floating(kind):  # adding 0.0 turns -0.0 into 0.0: is_in tells them apart
        x, listed = pc.add(x, pa.scalar(0.0, kind)), pc.add(listed, pa.scalar(0.0, kind))
    found = pc.is_in(x, value_set=listed)
    unknown = pc.is_null(x) if len(listed) == len(values) else pc.invert(found)
    return pc.if_else(unknown, pa.scalar(None, pa.bool_()), found)


def _extreme(better: Callable[[Value, Value], Value]) -> Function:
    """greatest or least: the value that no other is ``better`` than; NULLs are skipped, all NULL gives NULL."""

    def pick(a: Value, b: Value) -> Value:
        take_b = pc.if_else(pc.is_null(b), False, pc.coalesce(better(b, a), pc.is_null(a)))
        return pc.if_else(take_b, b, a)

    def run(args: Sequence[Value], kind: pa.DataType) -> Value:
        return reduce(pick, [convert(a, kind) for a in args])

    return run


# --- branches that must not fail for rows that do not need them -------------------------------------------------------


def _on_rows(expr: Expr, columns: pa.RecordBatch, wanted: pa.Array) -> pa.Array:
    """``expr`` evaluated only for the ``wanted`` rows; NULL for the others."""
    rows = np.flatnonzero(pc.fill_null(wanted, False).to_numpy(zero_copy_only=False))
    position = np.zeros(columns.num_rows, np.int64)
    position[rows] = np.arange(len(rows))
    absent = np.ones(columns.num_rows, np.bool_)
    absent[rows] = False
    chosen = columns.take(pa.array(rows)) if columns.num_columns else no_columns(len(rows))
    part = evaluate(expr, chosen)
    return part.take(pa.array(position, mask=absent))


def _lazy_junction(expr: Call, columns: pa.RecordBatch) -> Value:
    """AND / OR from left to right: a later part is asked only about rows that the earlier parts leave open."""
    decided = expr.fn == "or"
    value = convert(evaluate(expr.args[0], columns), pa.bool_())
    for part in expr.args[1:]:
        open_ = pc.fill_null(pc.not_equal(value, decided), True)
        answer = pc.if_else(open_, convert(_on_rows(part, columns, open_), pa.bool_()), decided)
        value = TABLE[expr.fn]([value, answer], expr.type)
    return value


def _lazy_case(expr: Call, columns: pa.RecordBatch) -> Value:
    open_ = pa.repeat(pa.scalar(True), columns.num_rows)
    value: Value = pa.nulls(columns.num_rows, expr.type)
    for i in range(len(expr.args) // 2):
        chosen = pc.fill_null(_on_rows(expr.args[2 * i], columns, open_), False)
        then = convert(_on_rows(expr.args[2 * i + 1], columns, chosen), expr.type)
        value = pc.if_else(chosen, then, value)
        open_ = pc.and_not(open_, chosen)
    if len(expr.args) % 2:
        value = pc.if_else(open_, convert(_on_rows(expr.args[-1], columns, open_), expr.type), value)
    return value


def _lazy_coalesce(expr: Call, columns: pa.RecordBatch) -> Value:
    value: Value = pa.nulls(columns.num_rows, expr.type)
    for part in expr.args:
        value = pc.coalesce(value, convert(_on_rows(part, columns, pc.is_null(value)), expr.type))
    return value


LAZY: Mapping[str, Callable[[Call, pa.RecordBatch], Value]] = {
    "and": _lazy_junction,
    "or": _lazy_junction,
    "case": _lazy_case,
    "only": _lazy_case,
    "coalesce": _lazy_coalesce,
}
"""What to do when the eager evaluation of these fails: the failing rows may be ones that a branch guards against."""


def _pair(args: Sequence[Value], kind: pa.DataType) -> Value:
    """A struct of the values."""
    rows = max((len(a) for a in args if isinstance(a, pa.Array)), default=1)
    parts = [a if isinstance(a, pa.Array) else pa.repeat(a, rows) for a in args]
    return pa.StructArray.from_arrays(parts, fields=list(kind))


def _row(args: Sequence[Value], kind: pa.DataType) -> Value:
    """A struct of the values, NULL where one of them is."""
    whole = _pair(args, kind)
    there = [p.is_valid() for p in whole.flatten()]
    missing = pc.invert(reduce(pc.and_, there))
    return pa.StructArray.from_arrays(whole.flatten(), fields=list(kind), mask=missing)


TABLE: Mapping[str, Function] = {
    **maths.TABLE,
    **text.TABLE,
    **times.TABLE,
    "eq": _compare(equal),
    "ne": _compare(lambda a, b: pc.invert(equal(a, b))),
    "lt": _compare(less),
    "le": _compare(lambda a, b: pc.invert(less(b, a))),
    "gt": _compare(lambda a, b: less(b, a)),
    "ge": _compare(lambda a, b: pc.invert(less(a, b))),
    "eq_null_safe": _compare(_eq_null_safe),
    "and": _and,
    "or": _or,
    "not": _not,
    "is_null": lambda args, _: pc.is_null(args[0]),
    "is_not_null": lambda args, _: pc.is_valid(args[0]),
    "case": _case,
    "only": _case,
    "coalesce": _coalesce,
    "nullif": _nullif,
    "greatest": _extreme(lambda a, b: less(b, a)),
    "least": _extreme(less),
    "in": _in,
    "cast": lambda args, kind: cast_value(args[0], kind),
    "pair": _pair,
    "row": _row,
}
"""Every function of ``plan.exprs.FUNCTIONS``: evaluated arguments and the result type in, values out."""
