"""Plans as JSON, to be read back by later versions: dataclasses by the name of their class and their fields.

Fields at their defaults are left out, so fields that a later version adds with a default do not matter. What a version
cannot read is an error that says so; nothing is guessed.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from typing import Any

import pyarrow as pa

from muntin.core import schema
from muntin.core.errors import InternalError, StoreError
from muntin.dataflow import graph, routes
from muntin.operators.joins import join_graph, narrow, slices
from muntin.operators.joins.counted_rows import CountedInput
from muntin.operators.operator import Described
from muntin.plan import catalog, exprs, nodes, windows

CLASS = "class"

_PLAIN = {
    str(t): t
    for t in (
        pa.null(), pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(),
        pa.uint64(), pa.float32(), pa.float64(), pa.string(), pa.binary(), pa.date32(), pa.timestamp("us"),
    )
}  # fmt: skip
"""Arrow types that are spelled by name."""

_DECIMAL = re.compile(r"decimal128\((\d+), (-?\d+)\)")
_IN_ZONE = re.compile(r"timestamp\[us, tz=(.+)\]")


def encode(value: Any) -> Any:
    """A frozen description as values that ``json.dumps`` takes."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case bytes():
            return {"bytes": base64.b64encode(value).decode()}
        case Decimal():
            return {"decimal": str(value)}
        case date():
            return {"date": value.isoformat()}
        case tuple() | list():
            return [encode(v) for v in value]
        case pa.DataType():
            return _type_json(value)
    if not is_dataclass(value) or isinstance(value, type):
        raise InternalError(f"{type(value).__name__} cannot be part of a stored plan: {value!r}")
    kept = ((f, getattr(value, f.name)) for f in _stored(type(value)))
    given = {f.name: encode(v) for f, v in kept if not _default(f, v)}
    return {CLASS: type(value).__name__, **given}


def decode(value: Any) -> Any:
    """What ``encode`` made, tuples for lists. Raises StoreError for what this version does not know."""
    match value:
        case list():
            return tuple(decode(v) for v in value)
        case {"bytes": str(text)}:
            return base64.b64decode(text)
        case {"decimal": str(text)}:
            return Decimal(text)
        case {"date": str(text)}:
            return date.fromisoformat(text)
        case {"arrow": str(name)}:
            return _type_named(name)
        case {"type": str(text)}:  # nested types, and every type as it was written once
            return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text))).field(0).type
        case {"class": str(name), **given}:
            return _made(name, {str(k): decode(v) for k, v in given.items()})
        case dict():
            raise StoreError(f"a stored plan has {value!r}, which this version does not know")
    return value


def _type_json(type: pa.DataType) -> dict[str, str]:
    """A type by its name in Arrow where ``_type_named`` knows it, else as a schema of one column."""
    name = str(type)
    if name in _PLAIN or _DECIMAL.fullmatch(name) or _IN_ZONE.fullmatch(name):
        return {"arrow": name}
    whole = pa.schema([("x", type)]).serialize().to_pybytes()
    return {"type": base64.b64encode(whole).decode()}


def _type_named(name: str) -> pa.DataType:
    if found := _DECIMAL.fullmatch(name):
        return pa.decimal128(int(found[1]), int(found[2]))
    if found := _IN_ZONE.fullmatch(name):
        return pa.timestamp("us", found[1])
    if name not in _PLAIN:
        raise StoreError(f"a stored plan has a column of type {name}, which this version does not know")
    return _PLAIN[name]


def _made(name: str, given: dict[str, Any]) -> Any:
    kind = classes().get(name)
    if kind is None:
        raise StoreError(f"a stored plan has a {name}, which this version does not know")
    unknown = given.keys() - {f.name for f in fields(kind)}
    if unknown:
        raise StoreError(f"a stored plan's {name} has {', '.join(sorted(unknown))}, which this version does not know")
    try:
        return kind(**given)
    except (TypeError, ValueError) as e:
        raise StoreError(f"a stored plan's {name} is not one that this version can make: {e}") from e


@cache
def _stored(kind: type[Any]) -> tuple[Field[Any], ...]:
    """The fields of a class without those that only remember what was worked out."""
    return tuple(f for f in fields(kind) if f.compare or f.default_factory is MISSING)


def _default(f: Field[Any], value: Any) -> bool:
    return f.default is not MISSING and type(f.default) is type(value) and bool(f.default == value)


@cache
def classes() -> dict[str, type[Any]]:
    """The dataclasses that plans are made of, by name."""
    found = {c.__name__: c for c in _operators(Described)}
    for module in (schema, exprs, windows, catalog, routes, join_graph, slices, narrow):
        own = (c for c in vars(module).values() if isinstance(c, type) and is_dataclass(c))
        found |= {c.__name__: c for c in own}
    return found | {c.__name__: c for c in (graph.Edge, graph.Vertex, graph.QueryPlan, nodes.WindowEdge, CountedInput)}


def _operators(base: type[Any]) -> Iterator[type[Any]]:
    for kind in base.__subclasses__():
        yield kind
        yield from _operators(kind)
