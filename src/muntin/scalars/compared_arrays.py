"""Elements of arrays compared, over Arrow columns: whole columns at a time, NULLs as in Spark.

What is equal is decided by codes: each element's number among the distinct elements of the batch, in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.scalars.arrays import arrays_of, list_columns, picked
from muntin.scalars.buffers import Bools, Ints, columns, nulls
from muntin.scalars.cast_rules import Value, convert
from muntin.scalars.clocks import constant
from muntin.scalars.nested import bounds, inside, plain_list

Function = Callable[[Sequence[Value], pa.DataType], Value]


def codes_of(*parts: pa.Array) -> list[Ints]:
    """Of each element its number among the distinct ones in their order; -1 for NULL. One zero, one NaN, above all."""
    whole = pa.concat_arrays(parts)
    if pa.types.is_floating(whole.type):
        numbers = pc.add(whole, pa.scalar(0.0, whole.type))
        whole = pc.if_else(pc.is_nan(numbers), pa.scalar(float("nan"), whole.type), numbers)
    coded = whole.dictionary_encode()
    order = np.asarray(pc.sort_indices(coded.dictionary), np.int64)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    found = coded.indices.fill_null(0).to_numpy(zero_copy_only=False)
    made = np.where(nulls(whole), -1, rank[found] if len(rank) else -1)
    return np.split(made, np.cumsum([len(p) for p in parts])[:-1])


def _in_order(value: pa.Array) -> tuple[Ints, Ints, Ints]:
    """Places of the elements of the rows, their rows and their codes."""
    place, row = inside(*bounds(value))
    (codes,) = codes_of(value.values.take(pa.array(place)))
    return place, row, codes


def firsts(row: Ints, codes: Ints) -> Ints:
    """The first of equal elements of each row, in the order of the array."""
    _, first = np.unique(row * (codes.max(initial=0) + 2) + codes + 1, return_index=True)
    return np.sort(first)


def _distinct(args: Sequence[Value], kind: pa.DataType) -> Value:
    (value,) = list_columns(args)
    place, row, codes = _in_order(value)
    first = firsts(row, codes)
    return picked(value, place[first], row[first], kind)


def _against(kept: bool) -> Function:
    """The distinct elements of the first array that are in the second (``kept``), or are not."""

    def run(args: Sequence[Value], kind: pa.DataType) -> Value:
        a, b = list_columns(args)
        place, row, codes, there = _shared(a, b)
        first = firsts(row, codes)
        chosen = first[there[first] == kept]
        return picked(a, place[chosen], row[chosen], kind, nulls(a) | nulls(b))

    return run


def _shared(a: pa.Array, b: pa.Array) -> tuple[Ints, Ints, Ints, Bools]:
    """Of the elements of ``a``: places, rows, codes, and whether ``b`` has such a one in that row."""
    (place, row), (other, other_row) = inside(*bounds(a)), inside(*bounds(b))
    codes, others = codes_of(a.values.take(pa.array(place)), b.values.take(pa.array(other)))
    wide = max(codes.max(initial=0), others.max(initial=0)) + 2
    return place, row, codes, np.isin(row * wide + codes, other_row * wide + others)


def _overlap(args: Sequence[Value], kind: pa.DataType) -> Value:
    """True if an element that is not NULL is in both; else NULL if one has a NULL and neither is empty."""
    a, b = list_columns(args)
    _, row, codes, there = _shared(a, b)
    found, unsure = np.zeros(len(a), np.bool_), np.zeros(len(a), np.bool_)
    found[row[there & (codes >= 0)]] = True
    some = [np.subtract(*bounds(v)[::-1]) > 0 for v in (a, b)]
    for value in (a, b):
        place, of = inside(*bounds(value))
        unsure[of[nulls(value.values.take(pa.array(place)))]] = True
    unsure &= some[0] & some[1] & ~found
    return pa.array(found, kind, mask=unsure | nulls(a) | nulls(b))


def _extreme(last: bool) -> Function:
    def run(args: Sequence[Value], kind: pa.DataType) -> Value:
        (value,) = list_columns(args)
        place, row, codes = _in_order(value)
        keep = codes >= 0
        place, row, codes = place[keep], row[keep], codes[keep]
        order = np.lexsort((-codes if last else codes, row))
        at, found = np.zeros(len(value), np.int64), np.zeros(len(value), np.bool_)
        rows, first = np.unique(row[order], return_index=True)
        at[rows], found[rows] = place[order][first], True
        return convert(value.values.take(pa.array(at, mask=~found)), kind)

    return run


def _sorted(args: Sequence[Value], kind: pa.DataType) -> Value:
    """sort_array(x, upward, NULLs first)."""
    value = list_columns(args[:1])[0]
    up, nulls_first = constant(args[1]) is not False, constant(args[2]) is not False
    place, row, codes = _in_order(value)
    key = np.where(codes < 0, -1 if nulls_first else 1, 0)
    order = np.lexsort((codes if up else -codes, key, row))
    return picked(value, place[order], row, kind)


def _position(args: Sequence[Value], kind: pa.DataType) -> Value:
    """Of the first equal element, from 1; 0 where there is none."""
    value, wanted = columns(args)
    value = plain_list(value)
    place, row, _, there = _shared(value, _single(wanted, value.type))
    found = np.zeros(len(value), np.int64)
    rows, first = np.unique(row[there], return_index=True)
    found[rows] = place[there][first] - bounds(value)[0][rows] + 1
    return pa.array(found, kind, mask=nulls(value) | nulls(wanted))


def _single(wanted: pa.Array, kind: pa.DataType) -> pa.Array:
    """Each value as an array of one."""
    return arrays_of(wanted, np.ones(len(wanted), np.int64), kind)


def _remove(args: Sequence[Value], kind: pa.DataType) -> Value:
    value, wanted = columns(args)
    value = plain_list(value)
    place, row, _, there = _shared(value, _single(wanted, value.type))
    return picked(value, place[~there], row[~there], kind, nulls(value) | nulls(wanted))


TABLE: Mapping[str, Function] = {
    "array_distinct": _distinct,
    "array_except": _against(kept=False),
    "array_intersect": _against(kept=True),
    "arrays_overlap": _overlap,
    "array_max": _extreme(last=True),
    "array_min": _extreme(last=False),
    "sort_array": _sorted,
    "array_position": _position,
    "array_remove": _remove,
}
