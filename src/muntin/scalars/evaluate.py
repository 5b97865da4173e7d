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
from muntin.cql.failures import advice, subject
from muntin.plan.exprs import USER, Call, Column, Expr, Literal, calls_user_code
from muntin.plan.failing import NOT_STRICT, may_fail
from muntin.scalars import arithmetic as maths
from muntin.scalars import (
    arrays,
    bits,
    characters,
    compared_arrays,
    encodings,
    hashes,
    json_values,
    maps,
    nested,
    spark_names,
    text,
    time_texts,
    urls,
)
from muntin.scalars import calendar as times
from muntin.scalars.cast import cast_value, no_value_is_meant
from muntin.scalars.cast_rules import Value, convert
from muntin.scalars.clocks import clock
from muntin.scalars.comparison import common_type, equal, less
from muntin.scalars.user_defined import call_user_code

Function = Callable[[Sequence[Value], pa.DataType], Value]


def evaluate(expr: Expr, columns: pa.RecordBatch) -> pa.Array:
    """The expression for every row of ``columns``: one array of type ``expr.type`` and of length ``num_rows``.

    A plain column of the right type is returned as it is, without a copy. Raises DataError where a call has no value
    for a row (``plan.failing``: overflow, a zero divisor, a text that is no number), naming the call and the values.
    """
    if not columns.num_rows:
        return pa.nulls(0, expr.type)  # what fails for constants fails for rows alone
    value = _value(expr, columns)
    return pa.repeat(value, columns.num_rows) if isinstance(value, pa.Scalar) else value


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
        case Call("try", (Call() as inner,)):
            return _eager_or_lazy(inner, columns, _tried)
        case Call():
            return _eager_or_lazy(expr, columns, _checked)
    raise InternalError(f"not an expression: {expr!r}")


def _eager_or_lazy(call: Call, columns: pa.RecordBatch, apply: Callable[[Call, Sequence[Value]], Value]) -> Value:
    """The call over whole columns; if that fails, argument by argument for the rows that need it.

    Users' code is asked only about rows that need it: what guards it, and what it costs, is its author's business.
    """
    if call.fn in LAZY and calls_user_code(call):
        return LAZY[call.fn](call, columns)
    try:
        args = [_value(a, columns) for a in call.args]
    except DataError:
        lazy = LAZY.get(call.fn)
        if lazy is not None:
            return lazy(call, columns)
        if call.fn in NOT_STRICT or call.fn == "concat":  # they look at every argument
            raise
        args = _one_after_the_other(call.args, columns)
    constant = all(isinstance(a, pa.Scalar) for a in args)
    value = apply(call, [pa.repeat(a, 1) for a in args] if constant else args)
    return value[0] if constant else value


def _checked(call: Call, args: Sequence[Value]) -> Value:
    """The call over evaluated arguments. Raises DataError for the first row in which it has no value."""
    if call.fn.startswith(USER):
        return call_user_code(call, args, _rows(args))
    try:
        value = convert(TABLE[call.fn](args, call.type), call.type)
    except pa.ArrowInvalid as e:
        value, cause = _tried(call, args), e
        bad = _without_value(call, args, value)
        if not bad.any():
            raise InternalError(f"{call.fn} refuses values without need: {e}") from e
    else:
        if not (value.null_count and may_fail(call)):
            return value
        bad, cause = _without_value(call, args, value), None
    if bad.any():
        raise _no_value(call, args, int(np.argmax(bad))) from cause
    return value


def _tried(call: Call, args: Sequence[Value]) -> Value:
    """The call over evaluated arguments, NULL where it has no value.

    Cost: where numbers overflow, a few calls of the kernel for each such row.
    """
    if call.fn.startswith(USER):
        return call_user_code(call, args, _rows(args))
    try:
        return convert(TABLE[call.fn](args, call.type), call.type)
    except pa.ArrowInvalid:
        rows = _rows(args)
        if rows <= 1:
            return pa.nulls(rows, call.type)
        half = rows // 2
        parts = [
            _tried(call, [a if isinstance(a, pa.Scalar) else a.slice(low, size) for a in args])
            for low, size in ((0, half), (half, rows - half))
        ]
        return pa.concat_arrays(parts)


def _rows(args: Sequence[Value]) -> int:
    return max(len(a) for a in args if isinstance(a, pa.Array))


def _without_value(call: Call, args: Sequence[Value], value: pa.Array) -> NDArray[np.bool_]:
    """Rows whose arguments are all there and whose result is not."""
    bad = value.is_null()
    for a in args:
        bad = pc.and_(bad, a.is_valid() if isinstance(a, pa.Array) else pa.scalar(a.is_valid))
    meant = no_value_is_meant(args[0], call.type) if call.fn == "cast" else None
    meant = _MEANT[call.fn](args) if call.fn in _MEANT else meant
    if meant is not None:
        bad = pc.and_(bad, pc.invert(pc.fill_null(meant, False)))
    found: NDArray[np.bool_] = np.asarray(bad.to_numpy(zero_copy_only=False), np.bool_)
    return found


_MEANT: Mapping[str, Callable[[Sequence[Value]], Value]] = {
    "conv": encodings.no_digits,
    "parse_url": urls.is_url,
    "elt": arrays.has_place,
    "map_from_entries": maps.has_null_entry,
}
"""Where NULL is the answer of a function itself, by function."""


def _no_value(call: Call, args: Sequence[Value], row: int) -> DataError:
    named = args[: {"cast": 1, "parse_time": 2, "str_to_map": 1}.get(call.fn)]  # without the zone, without patterns
    values = [a if isinstance(a, pa.Scalar) else a[row] for a in named]
    return DataError(f"{subject(call)}{', '.join(map(_shown, values))}{advice(call)}")


def _shown(value: pa.Scalar) -> str:
    if not value.is_valid:
        return "NULL"
    if pa.types.is_duration(value.type) or pa.types.is_nested(value.type) or pa.types.is_binary(value.type):
        return str(value.as_py())
    return str(cast_value(pa.repeat(value, 1), pa.string())[0].as_py())


def _one_after_the_other(args: Sequence[Expr], columns: pa.RecordBatch) -> list[Value]:
    """Arguments from left to right, each only for the rows in which those before it are not NULL."""
    found: list[Value] = []
    open_ = pa.repeat(pa.scalar(True), columns.num_rows)
    for arg in args:
        value = _on_rows(arg, columns, open_)
        open_ = pc.and_(open_, value.is_valid())
        found.append(value)
    return found


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


def _lazy_nullif(expr: Call, columns: pa.RecordBatch) -> Value:
    a, b = expr.args
    same = Call("eq", (a, b), pa.bool_())
    return evaluate(Call("case", (same, Literal(None, expr.type), a), expr.type), columns)


def _lazy_in(expr: Call, columns: pa.RecordBatch) -> Value:
    """A value of the list is asked for only where none before it is equal."""
    x = expr.args[0]
    whole: Expr = Call("eq", (x, expr.args[1]), expr.type)
    for value in expr.args[2:]:
        whole = Call("or", (whole, Call("eq", (x, value), expr.type)), expr.type)
    return evaluate(whole, columns)


LAZY: Mapping[str, Callable[[Call, pa.RecordBatch], Value]] = {
    "and": _lazy_junction,
    "or": _lazy_junction,
    "case": _lazy_case,
    "only": _lazy_case,
    "coalesce": _lazy_coalesce,
    "in": _lazy_in,
    "nullif": _lazy_nullif,
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
    **nested.TABLE,
    **spark_names.TABLE,
    **json_values.TABLE,
    **hashes.TABLE,
    **encodings.TABLE,
    **characters.TABLE,
    **bits.TABLE,
    **urls.TABLE,
    **arrays.TABLE,
    **compared_arrays.TABLE,
    **maps.TABLE,
    **time_texts.TABLE,
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
    "cast": lambda args, kind: cast_value(args[0], kind, clock(args[1] if len(args) > 1 else None)),
    "pair": _pair,
    "row": _row,
}
"""Every function of ``plan.exprs.FUNCTIONS`` but ``try``: evaluated arguments and the result type in, values out."""
