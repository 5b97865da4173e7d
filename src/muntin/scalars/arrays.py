"""Arrays made, put together and taken apart, over Arrow columns: whole columns at a time, NULLs as in Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.core.errors import DataError
from muntin.scalars.buffers import Bools, Ints, columns, nulls
from muntin.scalars.cast_rules import Value, convert
from muntin.scalars.nested import bounds, inside, plain_list

Function = Callable[[Sequence[Value], pa.DataType], Value]


def list_columns(args: Sequence[Value]) -> list[pa.Array]:
    """Arguments that are arrays, as plain lists of one length."""
    return [plain_list(c) for c in columns(args)]


def arrays_of(elements: pa.Array, sizes: Ints, kind: pa.DataType, missing: Bools | None = None) -> pa.Array:
    """Arrays of so many elements each, one row after the other; NULL in the rows that are ``missing``."""
    offsets = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())
    mask = None if missing is None or not missing.any() else pa.array(missing)
    return pa.ListArray.from_arrays(offsets, convert(elements, kind.value_type), type=kind, mask=mask)


def picked(value: pa.Array, place: Ints, row: Ints, kind: pa.DataType, missing: Bools | None = None) -> pa.Array:
    """Arrays of the elements at such places of ``value``, each in its row."""
    sizes = np.bincount(row, minlength=len(value))
    return arrays_of(value.values.take(pa.array(place)), sizes, kind, nulls(value) if missing is None else missing)


def _array(args: Sequence[Value], kind: pa.DataType) -> Value:
    parts = [convert(c, kind.value_type) for c in columns(args)]
    rows = len(parts[0])
    place = (np.arange(rows)[:, None] + rows * np.arange(len(parts))).ravel()
    return arrays_of(pa.concat_arrays(parts).take(pa.array(place)), np.full(rows, len(parts)), kind)


def _concat(args: Sequence[Value], kind: pa.DataType) -> Value:
    lists = list_columns(args)
    gone = np.logical_or.reduce([nulls(v) for v in lists])
    parts = [convert(v.values, kind.value_type) for v in lists]
    before = np.concatenate([[0], np.cumsum([len(p) for p in parts])])
    ends = [bounds(v) for v in lists]
    low = np.stack([lo + b for (lo, _), b in zip(ends, before, strict=False)], axis=1)
    high = np.stack([hi + b for (_, hi), b in zip(ends, before, strict=False)], axis=1)
    high[gone] = low[gone]
    place, _ = inside(low.ravel(), high.ravel())
    return arrays_of(pa.concat_arrays(parts).take(pa.array(place)), (high - low).sum(axis=1), kind, gone)


def _compact(args: Sequence[Value], kind: pa.DataType) -> Value:
    (value,) = list_columns(args)
    place, row = inside(*bounds(value))
    keep = ~nulls(value.values.take(pa.array(place)))
    return picked(value, place[keep], row[keep], kind)


def _turned(args: Sequence[Value], kind: pa.DataType) -> Value:
    (value,) = list_columns(args)
    low, high = bounds(value)
    place, row = inside(low, high)
    return picked(value, low[row] + high[row] - 1 - place, row, kind)


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
    return picked(value, place, row, kind, missing | wrong)


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
    (value,) = list_columns(args)
    low, high = bounds(value)
    place, row = inside(low, high)
    parts = plain_list(value.values.take(pa.array(place)))
    gone = nulls(value)
    gone[row[nulls(parts)]] = True
    begin, end = bounds(parts)
    end = np.where(gone[row], begin, end)
    inner, of = inside(begin, end)
    sizes = np.bincount(row[of], minlength=len(value))
    return arrays_of(parts.values.take(pa.array(inner)), sizes, kind, gone)


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
    row = _rows_of(sizes)
    place = np.arange(len(row)) - (np.cumsum(sizes) - sizes)[row]
    numbers_of = pa.array((start[row] + place * step[row]).astype(np.int64))
    return arrays_of(pc.cast(numbers_of, kind.value_type), sizes, kind, gone | away)


def _rows_of(sizes: Ints) -> Ints:
    """Of each element the number of its row, in arrays of so many elements each.

    Raises:
        DataError: they are more than one column of arrays may have.
    """
    if int(sizes.sum()) >= 2**31:
        raise DataError(f"the arrays of one batch have {int(sizes.sum()):,} elements: make shorter ones")
    return np.repeat(np.arange(len(sizes)), sizes)


MOST = 10_000_000
"""So many elements a sequence has at most."""


def _repeat(args: Sequence[Value], kind: pa.DataType) -> Value:
    value, times = columns(args)
    sizes = np.maximum(times.fill_null(0).to_numpy(zero_copy_only=False), 0).astype(np.int64)
    row = _rows_of(sizes)
    return arrays_of(value.take(pa.array(row)), sizes, kind, nulls(times))


def _insert(args: Sequence[Value], kind: pa.DataType) -> Value:
    """The element of the array of one at a place; NULLs between it and an end that it lies beyond. NULL for place 0."""
    given, at, one = columns(args)
    value, one = plain_list(given), plain_list(one)
    place = at.fill_null(1).to_numpy(zero_copy_only=False).astype(np.int64)
    low, high = bounds(value)
    many = high - low
    new = np.where(place > 0, place - 1, np.maximum(many + 1 + place, 0))
    ahead = np.where(place < 0, np.maximum(-place - 1 - many, 0), 0)  # NULLs between it and the first
    sizes = np.maximum(many + 1 + ahead, new + 1)
    missing = nulls(value) | nulls(at) | (place == 0) | (sizes > MOST)
    sizes = np.where(missing, 0, sizes)
    row = _rows_of(sizes)
    slot = np.arange(len(row)) - (np.cumsum(sizes) - sizes)[row]
    old = slot - (slot > new[row]) - ahead[row]
    parts = pa.concat_arrays([convert(v.values, kind.value_type) for v in (value, one)])
    is_new, there = slot == new[row], (old >= 0) & (old < many[row])
    source = np.where(is_new, len(value.values) + bounds(one)[0][row], low[row] + old)
    absent = ~(is_new | there)
    return arrays_of(parts.take(pa.array(np.where(absent, 0, source), mask=absent)), sizes, kind, missing)


def _zip(args: Sequence[Value], kind: pa.DataType) -> Value:
    """Structs of the elements at the same place; NULL where an array has ended."""
    lists = list_columns(args)
    gone = np.logical_or.reduce([nulls(v) for v in lists])
    ends = [bounds(v) for v in lists]
    sizes = np.where(gone, 0, np.maximum.reduce([high - low for low, high in ends]))
    row = _rows_of(sizes)
    slot = np.arange(len(row)) - (np.cumsum(sizes) - sizes)[row]
    parts = []
    for value, (low, high), field in zip(lists, ends, kind.value_type, strict=True):
        absent = low[row] + slot >= high[row]
        at = pa.array(np.where(absent, 0, low[row] + slot), mask=absent)
        parts.append(convert(value.values.take(at), field.type))
    return arrays_of(pa.StructArray.from_arrays(parts, fields=list(kind.value_type)), sizes, kind, gone)


TABLE: Mapping[str, Function] = {
    "array_insert": _insert,
    "arrays_zip": _zip,
    "array": _array,
    "array_concat": _concat,
    "array_compact": _compact,
    "array_reverse": _turned,
    "slice": _slice,
    "flatten": _flatten,
    "elt": _elt,
    "sequence": _sequence,
    "array_repeat": _repeat,
}
