"""Arithmetic over Arrow columns: Spark's signs, exact decimals, overflow refused.

Functions take evaluated arguments (arrays, at most some of them scalars) and the result type. Where a result does not
fit, they raise ``pa.ArrowInvalid``, or they give NULL (x / 0, FLOOR of Infinity); the caller makes a DataError of both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from muntin.scalars.cast_rules import Value, by_value, convert, micros, scale_decimal, whole

_EXACT = Context(prec=100)
_DAY = 86_400_000_000


def _temporal(kind: pa.DataType) -> bool:
    return bool(pa.types.is_temporal(kind))


def _sum_or_difference(op: Callable[[Value, Value], Value]) -> Callable[[Sequence[Value], pa.DataType], Value]:
    """add or sub (``op`` checks overflow) over numbers, decimals, instants and durations."""

    def run(args: Sequence[Value], kind: pa.DataType) -> Value:
        if pa.types.is_date(kind):
            days = [_days(a) for a in args]
            return pc.cast(pc.cast(op(*days), pa.int32()), kind)
        if any(_temporal(a.type) for a in args) or _temporal(kind):
            return pc.cast(op(*[micros(a) for a in args]), kind)
        if pa.types.is_decimal(kind):
            return scale_decimal(op(*[_wide(a) for a in args]), kind)
        return op(*[convert(a, kind) for a in args])

    return run


def _days(value: Value) -> Value:
    """Dates and durations as whole days; integers are days already."""
    if _temporal(value.type):
        return pc.divide(micros(value), _DAY)
    return convert(value, pa.int64())


def _wide(value: Value) -> Value:
    """A number as a decimal that leaves room for one more operation."""
    kind = value.type
    if pa.types.is_decimal(kind):
        return pc.cast(value, pa.decimal256(kind.precision, kind.scale))
    return pc.cast(convert(value, pa.int64()), pa.decimal256(19, 0))


def _one_digit_more(value: Value) -> Value:
    """Decimals with room for a carry: 0.5 as DECIMAL(1, 1) must be able to become 1."""
    kind = value.type
    if not pa.types.is_decimal(kind):
        return value
    return pc.cast(value, pa.decimal256(kind.precision + 1, kind.scale))


def _mul(args: Sequence[Value], kind: pa.DataType) -> Value:
    if pa.types.is_duration(kind):
        return pc.cast(pc.multiply_checked(*[micros(a) for a in args]), kind)
    if pa.types.is_decimal(kind):
        wide = [_wide(a) for a in args]
        if sum(a.type.precision for a in wide) >= 76:
            return _decimal_pairs(_EXACT.multiply, args, kind)
        return scale_decimal(pc.multiply_checked(*wide), kind)
    return pc.multiply_checked(*[convert(a, kind) for a in args])


def _nonzero(value: Value) -> Value:
    return pc.if_else(pc.equal(value, pa.scalar(0, value.type)), pa.scalar(None, value.type), value)


def _div(args: Sequence[Value], kind: pa.DataType) -> Value:
    if pa.types.is_decimal(kind):
        return _decimal_pairs(_EXACT.divide, args, kind, divides=True)
    if pa.types.is_integer(kind):
        return _intdiv(args, kind)
    if pa.types.is_duration(kind):
        return convert(whole(_div(args, pa.float64()), pa.int64()), kind)
    a, b = (convert(micros(x) if _temporal(x.type) else x, kind) for x in args)
    return pc.divide(a, _nonzero(b))


def _intdiv(args: Sequence[Value], kind: pa.DataType) -> Value:
    """Integer quotient, cut towards zero."""
    if any(pa.types.is_decimal(a.type) for a in args):
        quotient = _decimal_pairs(
            lambda a, b: _EXACT.divide(a, b).to_integral_value(ROUND_DOWN), args, pa.decimal256(76, 0), divides=True
        )
        return pc.cast(quotient, kind)
    a, b = (micros(x) if _temporal(x.type) else convert(x, pa.int64()) for x in args)
    return pc.cast(pc.divide_checked(a, _nonzero(b)), kind)


def _mod(args: Sequence[Value], kind: pa.DataType) -> Value:
    """Remainder with the sign of the dividend."""
    if pa.types.is_decimal(kind):
        return _decimal_pairs(_EXACT.remainder, args, kind, divides=True)
    a, b = (convert(x, kind) for x in args)
    absent = pc.or_(pc.is_null(a), pc.is_null(_nonzero(b)))
    one = pa.scalar(1, kind)
    with np.errstate(invalid="ignore"):  # Inf % x is NaN, as in Java
        rest = np.fmod(_numbers(pc.fill_null(a, one)), _numbers(pc.fill_null(_nonzero(b), one)))
    return pc.if_else(absent, pa.scalar(None, kind), pa.array(np.atleast_1d(rest), kind))


def _numbers(value: Value) -> NDArray[np.generic] | np.generic:
    if isinstance(value, pa.Scalar):
        return np.asarray(value.as_py(), value.type.to_pandas_dtype())
    numbers: NDArray[np.generic] = value.to_numpy(zero_copy_only=False)
    return numbers


def _decimal_pairs(
    op: Callable[[Decimal, Decimal], Decimal], args: Sequence[Value], kind: pa.DataType, divides: bool = False
) -> pa.Array:
    """Row by row in Python: exact, rounded half up to the scale of ``kind``; a zero divisor gives NULL."""
    unit = Decimal(1).scaleb(-kind.scale)
    rows = max(len(a) for a in args if isinstance(a, pa.Array))
    left, right = ([a.as_py()] * rows if isinstance(a, pa.Scalar) else a.to_pylist() for a in args)

    def exact(a: Any, b: Any) -> Decimal | None:
        if a is None or b is None or (divides and b == 0):
            return None
        return op(Decimal(a), Decimal(b)).quantize(unit, ROUND_HALF_UP, _EXACT)

    return pa.array([exact(a, b) for a, b in zip(left, right, strict=True)], kind)


def _unary(op: Callable[[Value], Value]) -> Callable[[Sequence[Value], pa.DataType], Value]:
    def run(args: Sequence[Value], kind: pa.DataType) -> Value:
        if pa.types.is_duration(kind):
            return pc.cast(op(micros(args[0])), kind)
        return op(convert(args[0], kind))

    return run


def _whole(op: Callable[[Value], Value]) -> Callable[[Sequence[Value], pa.DataType], Value]:
    """floor or ceil; a result type of int64 is Spark's for doubles."""

    def run(args: Sequence[Value], kind: pa.DataType) -> Value:
        value = args[0]
        if pa.types.is_integer(value.type):
            return convert(value, kind)
        value = op(_one_digit_more(value))
        if pa.types.is_decimal(kind):
            return scale_decimal(value, kind)
        return whole(value, kind, nan=0, top=False) if pa.types.is_integer(kind) else convert(value, kind)

    return run


def _double(op: Callable[[Value], Value]) -> Callable[[Sequence[Value], pa.DataType], Value]:
    return lambda args, kind: convert(op(convert(args[0], pa.float64())), kind)


def _power(args: Sequence[Value], kind: pa.DataType) -> Value:
    a, b = (convert(x, pa.float64()) for x in args)
    # Java and C differ: 1 to the NaN, and +-1 to the infinity, are NaN in Java
    odd = pc.or_(pc.is_nan(b), pc.and_(pc.equal(pc.abs(a), 1.0), pc.is_inf(b)))
    return convert(pc.if_else(odd, float("nan"), pc.power(a, b)), kind)


# --- round ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Ties:
    """Where a half goes: Arrow's name, and Python's."""

    name: str
    rounding: str


_AWAY = _Ties("half_towards_infinity", ROUND_HALF_UP)
_EVEN = _Ties("half_to_even", ROUND_HALF_EVEN)


def _rounded(ties: _Ties) -> Callable[[Sequence[Value], pa.DataType], Value]:
    """At a constant number of digits (default 0)."""

    def run(args: Sequence[Value], kind: pa.DataType) -> Value:
        digits = _constant(args[1]) if len(args) > 1 else 0
        if digits is None:
            return pa.nulls(len(args[0]), kind)
        value = args[0]
        if pa.types.is_integer(value.type):
            return convert(value if digits >= 0 else _round_integers(value, digits, ties), kind)
        if pa.types.is_decimal(value.type):
            wide = pc.round(_one_digit_more(value), ndigits=min(digits, value.type.scale), round_mode=ties.name)
            return scale_decimal(wide, kind)
        return convert(_round_floats(value, digits, ties), kind)

    return run


def _constant(value: Value) -> int | None:
    """The one value of a constant argument (a scalar, or an array whose rows are all equal)."""
    if isinstance(value, pa.Scalar):
        return value.as_py()
    values = pc.unique(value).to_pylist()
    if len(values) > 1:
        raise pa.ArrowInvalid("the number of digits must be the same for every row")
    return values[0] if values else 0


def _round_integers(value: pa.Array, digits: int, ties: _Ties) -> Value:
    """NULL where the result does not fit."""
    unit, top = Decimal(1).scaleb(-digits), 2 ** (value.type.bit_width - 1)

    def rounded(v: int) -> int | None:
        found = int(Decimal(v).quantize(unit, ties.rounding, _EXACT)) if digits > -60 else 0
        return found if -top <= found < top else None

    return by_value(value, value.type, rounded)


def _round_floats(value: pa.Array, digits: int, ties: _Ties) -> pa.Array:
    """Spark rounds the shortest decimal text of a double, so 2.675 at 2 digits is 2.68.

    Only values close to a tie, or too large to scale exactly, take the slow way through text.
    """
    if value.type != pa.float64():  # Spark takes a FLOAT as the DOUBLE that it is
        return pc.cast(_round_floats(pc.cast(value, pa.float64()), digits, ties), value.type)
    rounded = pc.round(value, ndigits=digits, round_mode=ties.name)
    numbers = value.to_numpy(zero_copy_only=False)
    with np.errstate(all="ignore"):
        scaled = np.abs(numbers.astype(np.float64) * 10.0**digits)
        hard = (np.abs(scaled - np.floor(scaled) - 0.5) < 1e-6 * np.maximum(scaled, 1.0)) | (scaled > 2.0**50)
    hard &= np.isfinite(numbers)
    if not hard.any():
        return rounded
    unit = Decimal(1).scaleb(-digits)
    context = Context(prec=400)
    result = rounded.to_numpy(zero_copy_only=False).copy()
    for i in np.flatnonzero(hard):
        result[i] = float(Decimal(str(numbers[i])).quantize(unit, ties.rounding, context))
    return pa.array(result, value.type, mask=pc.is_null(value).to_numpy(zero_copy_only=False))


TABLE: Mapping[str, Callable[[Sequence[Value], pa.DataType], Value]] = {
    "add": _sum_or_difference(pc.add_checked),
    "sub": _sum_or_difference(pc.subtract_checked),
    "mul": _mul,
    "div": _div,
    "intdiv": _intdiv,
    "mod": _mod,
    "neg": _unary(pc.negate_checked),
    "abs": _unary(pc.abs_checked),
    "round": _rounded(_AWAY),
    "bround": _rounded(_EVEN),
    "floor": _whole(pc.floor),
    "ceil": _whole(pc.ceil),
    "sqrt": _double(pc.sqrt),
    "power": _power,
    "sign": _double(pc.sign),
}
