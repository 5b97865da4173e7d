"""Arrays and maps made, put in order and compared, over Arrow columns: whole columns at a time, NULLs as in Spark.

What is equal is decided by codes: each element's number among the distinct elements of the batch, in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.scalars.buffers import Bools, Ints, columns, nulls
from muntin.scalars.cast_rules import Value, convert
from muntin.scalars.clocks import constant
from muntin.scalars.nested import bounds, inside, plain_list

Function = Callable[[Sequence[Value], pa.DataType], Value]


def _lists(args: Sequence[Value]) -> list[pa.Array]:
    return [plain_list(c) for c in columns(args)]


def _made(elements: pa.Array, sizes: Ints, kind: pa.DataType, missing: Bools | None = None) -> pa.Array:
    """Arrays of so many elements each, one row after the other; NULL in the rows that are ``missing``."""
    offsets = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())
    mask = None if missing is None or not missing.any() else pa.array(missing)
    return pa.ListArray.from_arrays(offsets, convert(elements, kind.value_type), type=kind, mask=mask)


def _picked(value: pa.Array, place: Ints, row: Ints, kind: pa.DataType, missing: Bools | None = None) -> pa.Array:
    """Arrays of the elements at such places of ``value``, each in its row."""
    sizes = np.bincount(row, minlength=len(value))
    return _made(value.values.take(pa.array(place)), sizes, kind, nulls(value) if missing is None else missing)


def _array(args: Sequence[Value], kind: pa.DataType) -> Value:
    parts = [convert(c, kind.value_type) for c in columns(args)]
    rows = len(parts[0])
    place = (np.arange(rows)[:, None] + rows * np.arange(len(parts))).ravel()
    return _made(pa.concat_arrays(parts).take(pa.array(place)), np.full(rows, len(parts)), kind)


def _concat(args: Sequence[Value], kind: pa.DataType) -> Value:
    lists = _lists(args)
    gone = np.logical_or.reduce([nulls(v) for v in lists])
    parts = [convert(v.values, kind.value_type) for v in lists]
    before = np.concatenate([[0], np.cumsum([len(p) for p in parts])])
    ends = [bounds(v) for v in lists]
    low = np.stack([lo + b for (lo, _), b in zip(ends, before, strict=False)], axis=1)
    high = np.stack([hi + b for (_, hi), b in zip(ends, before, strict=False)], axis=1)
    high[gone] = low[gone]
    place, _ = inside(low.ravel(), high.ravel())
    return _made(pa.concat_arrays(parts).take(pa.array(place)), (high - low).sum(axis=1), kind, gone)


def _codes(*parts: pa.Array) -> list[Ints]:
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
    (codes,) = _codes(value.values.take(pa.array(place)))
    return place, row, codes


def _firsts(row: Ints, codes: Ints) -> Ints:
    """The first of equal elements of each row, in the order of the array."""
    _, first = np.unique(row * (codes.max(initial=0) + 2) + codes + 1, return_index=True)
    return np.sort(first)


def _distinct(args: Sequence[Value], kind: pa.DataType) -> Value:
    (value,) = _lists(args)
    place, row, codes = _in_order(value)
    first = _firsts(row, codes)
    return _picked(value, place[first], row[first], kind)


def _against(kept: bool) -> Function:
    """The distinct elements of the first array that are in the second (``kept``), or are not."""

    def run(args: Sequence[Value], kind: pa.DataType) -> Value:
        a, b = _lists(args)
        place, row, codes, there = _shared(a, b)
        first = _firsts(row, codes)
        chosen = first[there[first] == kept]
        return _picked(a, place[chosen], row[chosen], kind, nulls(a) | nulls(b))

    return run


def _shared(a: pa.Array, b: pa.Array) -> tuple[Ints, Ints, Ints, Bools]:
    """Of the elements of ``a``: places, rows, codes, and whether ``b`` has such a one in that row."""
    (place, row), (other, other_row) = inside(*bounds(a)), inside(*bounds(b))
    codes, others = _codes(a.values.take(pa.array(place)), b.values.take(pa.array(other)))
    wide = max(codes.max(initial=0), others.max(initial=0)) + 2
    return place, row, codes, np.isin(row * wide + codes, other_row * wide + others)


def _overlap(args: Sequence[Value], kind: pa.DataType) -> Value:
    """True if an element that is not NULL is in both; else NULL if one has a NULL and neither is empty."""
    a, b = _lists(args)
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
        (value,) = _lists(args)
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
    value = _lists(args[:1])[0]
    up, nulls_first = constant(args[1]) is not False, constant(args[2]) is not False
    place, row, codes = _in_order(value)
    key = np.where(codes < 0, -1 if nulls_first else 1, 0)
    order = np.lexsort((codes if up else -codes, key, row))
    return _picked(value, place[order], row, kind)


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
    return _made(wanted, np.ones(len(wanted), np.int64), kind)


def _remove(args: Sequence[Value], kind: pa.DataType) -> Value:
    value, wanted = columns(args)
    value = plain_list(value)
    place, row, _, there = _shared(value, _single(wanted, value.type))
    return _picked(value, place[~there], row[~there], kind, nulls(value) | nulls(wanted))


def _compact(args: Sequence[Value], kind: pa.DataType) -> Value:
    (value,) = _lists(args)
    place, row = inside(*bounds(value))
    keep = ~nulls(value.values.take(pa.array(place)))
    return _picked(value, place[keep], row[keep], kind)


def _turned(args: Sequence[Value], kind: pa.DataType) -> Value:
    (value,) = _lists(args)
    low, high = bounds(value)
    place, row = inside(low, high)
    return _picked(value, low[row] + high[row] - 1 - place, row, kind)


def _slice(args: Sequence[Value], kind: pa.DataType) -> Value:
    """slice(x, start, length): from 1, from the end where negative; NULL for a start of 0 and a negative length."""
    given, start, size = columns(args)
    value = plain_list(given)
    missing = nulls(value) | nulls(start) | nulls(size)
    begin, many = (c.fill_null(1).to_numpy(zero_copy_only=False).astype(np.int64) for c in (start, size))
    low, high = bounds(value)
    first = np.where(begin > 0, low + begin - 1, high + begin)
    wrong = (begin == 0) | (many < 0)
    none = wrong | missing | (first < low) | (first >= high)
    first = np.where(none, low, first)
    place, row = inside(first, np.where(none, low, np.minimum(first + many, high)))
    return _picked(value, place, row, kind, missing | wrong)


def _elt(args: Sequence[Value], kind: pa.DataType) -> Value:
    n, value = columns(args)
    lists = plain_list(value)
    low, high = bounds(lists)
    place = low + n.fill_null(0).to_numpy(zero_copy_only=False) - 1
    gone = (place < low) | (place >= high)
    return convert(lists.values.take(pa.array(np.where(gone, 0, place), mask=gone)), kind)


def has_place(args: Sequence[Value]) -> Value:
    """Where NULL is the answer of ``elt`` itself: the value at that place."""
    n, value = columns(args)
    return pc.and_(pc.greater(n, 0), pc.less_equal(n, pc.list_value_length(plain_list(value))))


def _flatten(args: Sequence[Value], kind: pa.DataType) -> Value:
    """The elements of all arrays of an array; NULL where one of them is."""
    (value,) = _lists(args)
    low, high = bounds(value)
    place, row = inside(low, high)
    parts = plain_list(value.values.take(pa.array(place)))
    gone = nulls(value)
    gone[row[nulls(parts)]] = True
    begin, end = bounds(parts)
    end = np.where(gone[row], begin, end)
    inner, of = inside(begin, end)
    sizes = np.bincount(row[of], minlength=len(value))
    return _made(parts.values.take(pa.array(inner)), sizes, kind, gone)


def _sequence(args: Sequence[Value], kind: pa.DataType) -> Value:
    """From one number to another, both with; NULL where the step leads away, or there are too many."""
    given = columns(args)
    gone = np.logical_or.reduce([nulls(c) for c in given])
    numbers = [c.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64) for c in given]
    start, stop = numbers[:2]
    step = numbers[2] if len(numbers) > 2 else np.where(start <= stop, 1, -1)
    away = ((step > 0) & (start > stop)) | ((step < 0) & (start < stop)) | ((step == 0) & (start != stop))
    with np.errstate(all="ignore"):
        span = (stop.astype(np.float64) - start) / np.where(step == 0, 1, step)
    away |= span >= MOST
    sizes = np.where(gone | away, 0, np.where(away, 0, (stop - start) // np.where(step == 0, 1, step) + 1))
    row = np.repeat(np.arange(len(start)), sizes)
    place = np.arange(len(row)) - (np.cumsum(sizes) - sizes)[row]
    numbers_of = pa.array((start[row] + place * step[row]).astype(np.int64))
    return _made(pc.cast(numbers_of, kind.value_type), sizes, kind, gone | away)


MOST = 10_000_000
"""So many elements a sequence has at most."""


def _repeat(args: Sequence[Value], kind: pa.DataType) -> Value:
    value, times = columns(args)
    sizes = np.maximum(times.fill_null(0).to_numpy(zero_copy_only=False), 0).astype(np.int64)
    row = np.repeat(np.arange(len(value)), sizes)
    return _made(value.take(pa.array(row)), sizes, kind, nulls(times))


def _map(args: Sequence[Value], kind: pa.DataType) -> Value:
    """A map of keys and values; NULL where they are not equally many, a key is NULL, or comes twice."""
    keys, items = _lists(args)
    gone = nulls(keys) | nulls(items)
    (low, high), (item_low, item_high) = bounds(keys), bounds(items)
    gone |= high - low != item_high - item_low
    place, row = inside(low, high)
    (codes,) = _codes(keys.values.take(pa.array(place)))
    gone[row[codes < 0]] = True
    again = np.ones(len(row), np.bool_)
    again[_firsts(row, codes)] = False
    gone[row[again]] = True
    high, item_high = np.where(gone, low, high), np.where(gone, item_low, item_high)
    place, item_place = inside(low, high)[0], inside(item_low, item_high)[0]
    offsets = pa.array(np.concatenate([[0], np.cumsum(high - low)]), pa.int32())
    parts = keys.values.take(pa.array(place)), items.values.take(pa.array(item_place))
    if pa.types.is_floating(kind.key_type):
        parts = pc.add(parts[0], pa.scalar(0.0, parts[0].type)), parts[1]  # one zero
    return pa.MapArray.from_arrays(
        offsets, convert(parts[0], kind.key_type), convert(parts[1], kind.item_type), type=kind, mask=pa.array(gone)
    )


def _entries(args: Sequence[Value], kind: pa.DataType) -> Value:
    value = columns(args)[0]
    low, high = bounds(value)
    place, row = inside(low, high)
    parts = [p.take(pa.array(place)) for p in (value.keys, value.items)]
    pairs = [convert(p, f.type) for p, f in zip(parts, kind.value_type, strict=True)]
    structs = pa.StructArray.from_arrays(pairs, fields=list(kind.value_type))
    return _made(structs, np.bincount(row, minlength=len(value)), kind, nulls(value))


TABLE: Mapping[str, Function] = {
    "array": _array,
    "array_concat": _concat,
    "array_distinct": _distinct,
    "array_except": _against(kept=False),
    "array_intersect": _against(kept=True),
    "arrays_overlap": _overlap,
    "array_max": _extreme(last=True),
    "array_min": _extreme(last=False),
    "sort_array": _sorted,
    "array_position": _position,
    "array_remove": _remove,
    "array_compact": _compact,
    "array_reverse": _turned,
    "slice": _slice,
    "flatten": _flatten,
    "elt": _elt,
    "sequence": _sequence,
    "array_repeat": _repeat,
    "map_from_arrays": _map,
    "map_entries": _entries,
}
