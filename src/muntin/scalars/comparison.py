"""Equality and order of columns as Spark has them: NaN = NaN, NaN above every number, -0.0 = 0.0, NULL unknown."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from muntin.scalars.cast_rules import Value


def common_type(values: Sequence[Value]) -> pa.DataType:
    """The type in which the values are compared: floats win over decimals, decimals over integers."""
    kinds = list(dict.fromkeys(v.type for v in values if not pa.types.is_null(v.type)))
    if len(kinds) <= 1:
        return kinds[0] if kinds else pa.bool_()
    if any(pa.types.is_floating(k) for k in kinds):
        return pa.float64()
    if any(pa.types.is_decimal(k) for k in kinds):
        return pa.decimal256(76, max(k.scale if pa.types.is_decimal(k) else 0 for k in kinds))
    if all(pa.types.is_integer(k) for k in kinds):
        return pa.int64()
    for family in (pa.types.is_timestamp, pa.types.is_date):
        stamps = [k for k in kinds if family(k)]
        if stamps:
            return stamps[0]
    return kinds[0]


def equal(a: Value, b: Value) -> Value:
    """Whether a = b; both of one type."""
    same = pc.equal(a, b)
    if not (_has_nan(a) and _has_nan(b)):
        return same
    return pc.or_(same, pc.and_(pc.is_nan(a), pc.is_nan(b)))


def less(a: Value, b: Value) -> Value:
    """Whether a < b; both of one type."""
    below = pc.less(a, b)
    if not _has_nan(b):
        return below
    return pc.or_(below, pc.and_(pc.is_nan(b), pc.invert(pc.is_nan(a))))


def _has_nan(value: Value) -> bool:
    if not pa.types.is_floating(value.type):
        return False
    if isinstance(value, pa.Scalar):
        number = value.as_py()
        return number is not None and number != number
    return bool(pc.any(pc.is_nan(value)).as_py())
