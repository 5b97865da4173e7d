"""``to_json``: nested values as texts, column by column (Spark's ``JacksonGenerator``). Fields that are NULL are left
out; elements and values of maps are null."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.core.zones import Zone
from muntin.scalars.cast import cast_value
from muntin.scalars.cast_rules import by_value, micros
from muntin.scalars.clocks import shown
from muntin.scalars.nested import bounds, inside, plain_list

_SHORT = {"\\": "\\\\", '"': '\\"', "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_LONG = {chr(c): f"\\u{c:04X}" for c in range(32) if chr(c) not in _SHORT}
_TO_ESCAPE, _RARE = r'[\x00-\x1f"\\]', r"[\x00-\x07\x0b\x0e-\x1f]"
_SECOND = 1_000_000


def encoded(value: pa.Array, clock: Zone) -> pa.Array:
    """The values as compact JSON, NULL for NULL. ``clock``: by which timestamps are shown."""
    kind = value.type
    if pa.types.is_struct(kind):
        return _struct(value, clock)
    if pa.types.is_map(kind):
        return _map(value, clock)
    if pa.types.is_nested(kind):
        return _list(value, clock)
    return _leaf(value, clock)


def _around(left: str, texts: pa.Array, right: str) -> pa.Array:
    return pc.binary_join_element_wise(left, texts, right, "")


def _struct(value: pa.Array, clock: Zone) -> pa.Array:
    names = ["," + json.dumps(f.name, ensure_ascii=False) + ":" for f in value.type]
    parts = [_around(n, encoded(c, clock), "") for n, c in zip(names, value.flatten(), strict=True)]
    around = pa.repeat("{", len(value)), "}", ""  # something in every row: Arrow leaves rows of NULLs out
    whole = pc.binary_join_element_wise(around[0], *parts, *around[1:], null_handling="skip")
    joined = pc.replace_substring(whole, "{,", "{", max_replacements=1)
    return pc.if_else(value.is_valid(), joined, pa.scalar(None, pa.string()))


def _joined(value: pa.Array, items: pa.Array, sizes: pa.Array, left: str, right: str) -> pa.Array:
    offsets = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())
    texts = pc.binary_join(pa.ListArray.from_arrays(offsets, items), ",")
    return pc.if_else(value.is_valid(), _around(left, texts, right), pa.scalar(None, pa.string()))


def _list(value: pa.Array, clock: Zone) -> pa.Array:
    value = plain_list(value)
    low, high = bounds(value)
    place, _ = inside(low, high)
    items = encoded(value.values.take(pa.array(place)), clock).fill_null("null")
    return _joined(value, items, high - low, "[", "]")


def _map(value: pa.Array, clock: Zone) -> pa.Array:
    low, high = bounds(value)
    place, _ = inside(low, high)
    keys = _quoted(cast_value(value.keys.take(pa.array(place)), pa.string()))
    items = encoded(value.items.take(pa.array(place)), clock).fill_null("null")
    return _joined(value, pc.binary_join_element_wise(keys, items, ":"), high - low, "{", "}")


def _quoted(texts: pa.Array) -> pa.Array:
    """Between quotes, with escapes where they must be."""
    if pc.any(pc.match_substring_regex(texts, _TO_ESCAPE)).as_py():
        rare = pc.any(pc.match_substring_regex(texts, _RARE)).as_py()
        for char, written in (_SHORT | _LONG if rare else _SHORT).items():
            texts = pc.replace_substring(texts, char, written)
    return _around('"', texts, '"')


def _leaf(value: pa.Array, clock: Zone) -> pa.Array:
    kind, is_type = value.type, pa.types
    if is_type.is_null(kind):
        return pa.nulls(len(value), pa.string())
    if is_type.is_floating(kind):
        texts = cast_value(value, pa.string())
        return pc.if_else(pc.is_finite(value), texts, _around('"', texts, '"'))
    if is_type.is_decimal(kind) and kind.scale > 6:
        return by_value(value, pa.string(), str)
    if is_type.is_timestamp(kind):
        return _around('"', _moment(value, clock), '"')
    texts = cast_value(value, pa.string())
    plain = is_type.is_integer(kind) or is_type.is_boolean(kind) or is_type.is_decimal(kind)
    return texts if plain else _quoted(texts)


def _moment(value: pa.Array, clock: Zone) -> pa.Array:
    """2024-01-01T10:00:00.123-05:00; without zone no offset."""
    reading = shown(value, clock) if value.type.tz is not None else value
    at = micros(reading)
    zone = pa.timestamp("us")
    texts = cast_value(pc.floor_temporal(at.cast(zone), unit="second"), pa.string())
    whole, some = at.to_numpy(zero_copy_only=False) if not at.null_count else at.fill_null(0).to_numpy(), at.is_valid()
    thousandths = pa.array(1_000 + (whole % _SECOND) // 1_000).cast(pa.string())
    texts = pc.replace_substring(texts, " ", "T")
    texts = pc.binary_join_element_wise(texts, pc.utf8_slice_codeunits(thousandths, 1), ".")
    if value.type.tz is None:
        return pc.if_else(some, texts, pa.scalar(None, pa.string()))
    east = (whole - micros(value).fill_null(0).to_numpy()) // _SECOND
    return pc.binary_join_element_wise(texts, by_value(pa.array(east), pa.string(), _offset), "")


def _offset(east: int) -> str:
    if east == 0:
        return "Z"
    sign, east = "-" if east < 0 else "+", abs(east)
    seconds = f":{east % 60:02}" if east % 60 else ""
    return f"{sign}{east // 3600:02}:{east // 60 % 60:02}{seconds}"
