"""Maps made of arrays and taken apart, over Arrow columns: whole columns at a time, NULLs as in Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.scalars.arrays import arrays_of, list_columns
from muntin.scalars.buffers import Bools, columns, nulls, text_column
from muntin.scalars.cast_rules import Value, convert
from muntin.scalars.clocks import constant
from muntin.scalars.compared_arrays import codes_of, firsts
from muntin.scalars.nested import bounds, inside

Function = Callable[[Sequence[Value], pa.DataType], Value]


def _map(args: Sequence[Value], kind: pa.DataType) -> Value:
    keys, items = list_columns(args)
    return _made(keys, items, kind, nulls(keys) | nulls(items))


def _of_entries(args: Sequence[Value], kind: pa.DataType) -> Value:
    """A map of pairs; NULL where one of them is, too."""
    (value,) = list_columns(args)
    place, row = inside(*bounds(value))
    pairs = value.values.take(pa.array(place))
    gone = nulls(value)
    gone[row[nulls(pairs)]] = True
    sizes = np.bincount(row, minlength=len(value))
    keys, items = (arrays_of(p, sizes, pa.list_(p.type)) for p in pairs.flatten())
    return _made(keys, items, kind, gone)


def has_null_entry(args: Sequence[Value]) -> Value:
    """Where NULL is the answer of ``map_from_entries`` itself: one of the pairs is NULL."""
    (value,) = list_columns(args)
    place, row = inside(*bounds(value))
    found = np.zeros(len(value), np.bool_)
    found[row[nulls(value.values.take(pa.array(place)))]] = True
    return pa.array(found)


def _of_text(args: Sequence[Value], kind: pa.DataType) -> Value:
    """A map of what is between the matches of one pattern, each cut at the first match of another; NULL for the value
    where there is none."""
    text, (between, within) = text_column(args[0]), (constant(a) or "," for a in args[1:])
    parts = pc.split_pattern_regex(text, pattern=between)
    place, row = inside(*bounds(parts))
    halves = pc.split_pattern_regex(parts.values.take(pa.array(place)), pattern=within, max_splits=1)
    low, high = bounds(halves)
    alone = high - low < 2
    found = halves.values.take(pa.array(low)), halves.values.take(pa.array(np.where(alone, 0, low + 1), mask=alone))
    sizes = np.bincount(row, minlength=len(text))
    keys, items = (arrays_of(p, sizes, pa.list_(p.type)) for p in found)
    return _made(keys, items, kind, nulls(text))


def _made(keys: pa.Array, items: pa.Array, kind: pa.DataType, gone: Bools) -> pa.Array:
    """A map of keys and values; NULL where they are not equally many, a key is NULL, or comes twice, and in the rows
    that are ``gone``."""
    (low, high), (item_low, item_high) = bounds(keys), bounds(items)
    gone |= high - low != item_high - item_low
    place, row = inside(low, high)
    (codes,) = codes_of(keys.values.take(pa.array(place)))
    gone[row[codes < 0]] = True
    again = np.ones(len(row), np.bool_)
    again[firsts(row, codes)] = False
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
    return arrays_of(structs, np.bincount(row, minlength=len(value)), kind, nulls(value))


TABLE: Mapping[str, Function] = {
    "map_from_arrays": _map,
    "map_entries": _entries,
    "map_from_entries": _of_entries,
    "str_to_map": _of_text,
}
