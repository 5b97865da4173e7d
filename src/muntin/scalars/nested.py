"""Parts of nested values over Arrow columns; what is not there is NULL. Whole columns at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from muntin.scalars.cast_rules import Value, convert
from muntin.scalars.clocks import constant
from muntin.scalars.comparison import equal

Ints = NDArray[np.int64]


def _column(value: Value, rows: int) -> pa.Array:
    return value if isinstance(value, pa.Array) else pa.repeat(value, rows)


def _rows(args: Sequence[Value]) -> int:
    return max((len(a) for a in args if isinstance(a, pa.Array)), default=1)


def plain_list(value: pa.Array) -> pa.Array:
    """Arrays with offsets of 32 bits."""
    kind = value.type
    return value if pa.types.is_list(kind) or pa.types.is_map(kind) else pc.cast(value, pa.list_(kind.value_type))


def bounds(value: pa.Array) -> tuple[Ints, Ints]:
    """Where each row's elements begin and end, in ``values`` (of a map ``keys`` and ``items``); NULL rows have none."""
    offsets = np.asarray(value.offsets, np.int64)
    there = value.is_valid().to_numpy(zero_copy_only=False)
    return offsets[:-1], np.where(there, offsets[1:], offsets[:-1])


def _field(args: Sequence[Value], kind: pa.DataType) -> Value:
    value, name = args
    struct = _column(value, 1)
    at = struct.type.get_field_index(constant(name))
    return convert(struct.flatten()[at], kind)  # flatten: NULL where the struct is


def _element(args: Sequence[Value], kind: pa.DataType) -> Value:
    rows = _rows(args)
    value, at = plain_list(_column(args[0], rows)), _column(args[1], rows)
    low, high = bounds(value)
    if pa.types.is_map(value.type):
        place, found, parts = *_place_of(value.keys, at, low, high), value.items
    else:
        n = np.asarray(pc.fill_null(at, -1).to_numpy(zero_copy_only=False), np.int64)
        place, found, parts = low + n, (n >= 0) & (low + n < high), value.values
    return convert(parts.take(pa.array(np.where(found, place, 0), mask=~found)), kind)


def inside(low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """Places of all elements of the rows, and of each the number of its row."""
    sizes = high - low
    row = np.repeat(np.arange(len(low)), sizes)
    first = np.cumsum(sizes) - sizes
    return np.arange(len(row)) - first[row] + low[row], row


def _hits(parts: pa.Array, wanted: pa.Array, low: Ints, high: Ints) -> tuple[Ints, Ints, pa.Array]:
    """Places, rows, and of each element whether it equals what its row looks for (NULL: not known)."""
    place, row = inside(low, high)
    return place, row, equal(parts.take(pa.array(place)), wanted.take(pa.array(row)))


def _place_of(parts: pa.Array, wanted: pa.Array, low: Ints, high: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    place, row, same = _hits(parts, convert(wanted, parts.type), low, high)
    hit = np.flatnonzero(pc.fill_null(same, False).to_numpy(zero_copy_only=False))
    found, at = np.zeros(len(low), np.bool_), np.zeros(len(low), np.int64)
    found[row[hit]], at[row[hit]] = True, place[hit]
    return at, found


def _size(args: Sequence[Value], kind: pa.DataType) -> Value:
    value = plain_list(_column(args[0], 1))
    low, high = bounds(value)
    missing = value.is_null().to_numpy(zero_copy_only=False)
    return convert(pa.array(high - low, mask=missing), kind)


def _array_contains(args: Sequence[Value], _: pa.DataType) -> Value:
    rows = _rows(args)
    value, wanted = plain_list(_column(args[0], rows)), _column(args[1], rows)
    low, high = bounds(value)
    _, row, same = _hits(value.values, convert(wanted, value.type.value_type), low, high)
    sure, unsure = np.zeros(rows, np.bool_), np.zeros(rows, np.bool_)
    sure[row[pc.fill_null(same, False).to_numpy(zero_copy_only=False)]] = True
    unsure[row[same.is_null().to_numpy(zero_copy_only=False)]] = True
    absent = pc.or_(value.is_null(), wanted.is_null()).to_numpy(zero_copy_only=False)
    return pa.array(sure, mask=absent | (unsure & ~sure))


def _of_map(part: Callable[[pa.Array], pa.Array]) -> Callable[[Sequence[Value], pa.DataType], Value]:
    def run(args: Sequence[Value], kind: pa.DataType) -> Value:
        value = _column(args[0], 1)
        low, high = bounds(value)
        place, _ = inside(low, high)
        offsets = pa.array(np.concatenate([[0], np.cumsum(high - low)]), pa.int32())
        lists = pa.ListArray.from_arrays(offsets, part(value).take(pa.array(place)), mask=value.is_null())
        return convert(lists, kind)

    return run


TABLE: Mapping[str, Callable[[Sequence[Value], pa.DataType], Value]] = {
    "field": _field,
    "element": _element,
    "size": _size,
    "array_contains": _array_contains,
    "map_keys": _of_map(lambda m: m.keys),
    "map_values": _of_map(lambda m: m.items),
}
"""By function: evaluated arguments and the result type in, values out."""
