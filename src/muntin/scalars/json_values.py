"""JSON over Arrow columns: parts by a path, members counted and listed. Whole columns at a time, over one tape."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa

from muntin.cql.json_paths import steps_of
from muntin.kernels.json_paths import Path, at_path, children
from muntin.kernels.json_tape import ARRAY, CONTROLS, OBJECT, tape
from muntin.kernels.json_text import strings
from muntin.scalars.cast import java_text
from muntin.scalars.cast_rules import Value, by_value, convert
from muntin.scalars.clocks import clock, constant
from muntin.scalars.json_decode import decoded
from muntin.scalars.json_encode import encoded

Function = Callable[[Sequence[Value], pa.DataType], Value]


def doubles(numbers: pa.Array) -> pa.Array:
    """Doubles as Java writes them."""
    return by_value(numbers, pa.string(), java_text)


@lru_cache(maxsize=256)
def _path(text: str) -> Path:
    return Path.of(steps_of(text))


def _texts(value: Value) -> pa.Array:
    text = convert(value, pa.string())
    return text if isinstance(text, pa.Array) else pa.repeat(text, 1)


def _get(args: Sequence[Value], _: pa.DataType) -> Value:
    text = _texts(args[0])
    return at_path(tape(text, CONTROLS), _path(constant(args[1]) or "$"), doubles)


def _array_length(args: Sequence[Value], kind: pa.DataType) -> Value:
    t = tape(_texts(args[0]), CONTROLS)
    offsets, *_ = children(t, t.roots, ARRAY)
    return pa.array(np.diff(offsets), kind, mask=(t.kinds_at(t.roots) != ARRAY) | (t.roots < 0))


def _object_keys(args: Sequence[Value], kind: pa.DataType) -> Value:
    t = tape(_texts(args[0]), CONTROLS)
    offsets, names, _ = children(t, t.roots, OBJECT)
    missing = pa.array((t.kinds_at(t.roots) != OBJECT) | (t.roots < 0))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), strings(t, names), type=kind, mask=missing)


def _from(args: Sequence[Value], kind: pa.DataType) -> Value:
    return decoded(_texts(args[0]), kind, clock(args[1] if len(args) > 1 else None), doubles)


def _to(args: Sequence[Value], _: pa.DataType) -> Value:
    value = args[0] if isinstance(args[0], pa.Array) else pa.repeat(args[0], 1)
    return encoded(value, clock(args[1] if len(args) > 1 else None))


def _struct(args: Sequence[Value], kind: pa.DataType) -> Value:
    rows = max((len(a) for a in args if isinstance(a, pa.Array)), default=1)
    parts = [a if isinstance(a, pa.Array) else pa.repeat(a, rows) for a in args]
    return pa.StructArray.from_arrays([convert(p, f.type) for p, f in zip(parts, kind, strict=True)], fields=list(kind))


TABLE: Mapping[str, Function] = {
    "get_json_object": _get,
    "json_array_length": _array_length,
    "json_object_keys": _object_keys,
    "from_json": _from,
    "to_json": _to,
    "struct": _struct,
}
