"""Texts of JSON: parts by a path, a text as a value of a schema and back, members counted and listed."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from muntin.cql.json_paths import steps_of
from muntin.cql.operators import TypeClash, describe
from muntin.cql.takes import plain_text, string
from muntin.cql.types import family, from_spark, to_spark
from muntin.plan.exprs import Call, Expr, Literal

_STRING, _INT = pa.string(), pa.int32()
_READ = ("number", "string", "boolean", "timestamp", "date")


def get_json_object(args: Sequence[Expr]) -> Expr:
    """``get_json_object(text, '$.a[0]')``: a string as it is, all else as JSON."""
    text = string("GET_JSON_OBJECT", args[0])
    path = plain_text("GET_JSON_OBJECT", args[1], "a plain path, as '$.a[0]',")
    steps_of(path)
    return Call("get_json_object", (text, Literal(path, _STRING)), _STRING)


def arrow(e: Expr, at: Expr) -> Expr:
    """``text ->> '$.a'``, ``text ->> 'a'``, ``text ->> 0``: as GET_JSON_OBJECT."""
    match at:
        case Literal(str(path)) if path.startswith("$"):
            if None in steps_of(path):
                raise TypeClash(f"->> takes a path to one value: write GET_JSON_OBJECT(..., {path!r}) for all elements")
        case Literal(str(name)) if name and "'" not in name and name != "*" and not name[0].isspace():
            path = f"$['{name}']"
        case Literal(int(n)) if n >= 0:
            path = f"$[{n}]"
        case _:
            raise TypeClash(f"->> takes a plain path, name or place, as '$.a[0]', 'a' or 0, not {describe(at)}")
    return get_json_object([e, Literal(path, _STRING)])


def array_length(args: Sequence[Expr]) -> Expr:
    """``json_array_length(text)``; NULL for what is no array."""
    return Call("json_array_length", (string("JSON_ARRAY_LENGTH", args[0]),), _INT)


def object_keys(args: Sequence[Expr]) -> Expr:
    """``json_object_keys(text)``; NULL for what is no object."""
    return Call("json_object_keys", (string("JSON_OBJECT_KEYS", args[0]),), pa.list_(_STRING))


def from_json(args: Sequence[Expr]) -> Expr:
    """``from_json(text, 'a INT, b ARRAY<STRING>')``: what is not of the schema is NULL (mode PERMISSIVE)."""
    text = string("FROM_JSON", args[0])
    schema = plain_text("FROM_JSON", args[1], "a plain schema, as 'a INT, b STRING',")
    kind = _schema(schema)
    _readable(kind)
    return Call("from_json", (text,), kind)


def _schema(text: str) -> pa.DataType:
    if text.strip().upper().startswith(("STRUCT<", "STRUCT <", "ARRAY<", "ARRAY <", "MAP<", "MAP <")):
        return from_spark(text)
    try:
        return from_spark(f"STRUCT<{text}>")
    except ValueError as e:
        raise TypeClash(f"FROM_JSON cannot read the schema {text!r}, as 'a INT, b ARRAY<STRING>': {e}") from None


def _readable(kind: pa.DataType) -> None:
    if pa.types.is_struct(kind):
        names = [f.name for f in kind]
        twice = next((n for n in names if names.count(n) > 1), None)
        if twice is not None:
            raise TypeClash(f"FROM_JSON has field {twice!r} twice")
        for field in kind:
            _readable(field.type)
    elif pa.types.is_map(kind):
        if kind.key_type != _STRING:
            raise TypeClash(f"FROM_JSON: the keys of {to_spark(kind)} are STRINGs in JSON")
        _readable(kind.item_type)
    elif pa.types.is_list(kind):
        _readable(kind.value_type)
    elif family(kind) not in _READ:
        raise TypeClash(f"FROM_JSON reads no {to_spark(kind)}: read it as STRING")


def to_json(args: Sequence[Expr]) -> Expr:
    """``to_json(value)`` of a struct, an array or a map; fields that are NULL are left out."""
    (e,) = args
    if family(e.type) != "nested":
        raise TypeClash(f"TO_JSON takes a struct, an array or a map, not {describe(e)}: write NAMED_STRUCT('x', x)")
    _writable(e.type)
    return Call("to_json", (e,), _STRING)


def _writable(kind: pa.DataType) -> None:
    if pa.types.is_struct(kind):
        for field in kind:
            _writable(field.type)
    elif pa.types.is_map(kind):
        if not (pa.types.is_integer(kind.key_type) or family(kind.key_type) in ("string", "boolean")):
            raise TypeClash(f"TO_JSON writes maps with keys that are STRINGs, whole numbers or BOOLEANs, not {kind}")
        _writable(kind.item_type)
    elif family(kind) == "nested":
        _writable(kind.value_type)
    elif family(kind) not in (*_READ, "null"):
        raise TypeClash(f"TO_JSON writes no {to_spark(kind)}: write it as STRING")


def struct(names: Sequence[str], values: Sequence[Expr]) -> Expr:
    """A struct of values."""
    twice = next((n for n in names if [*map(str.lower, names)].count(n.lower()) > 1), None)
    if twice is not None:
        raise TypeClash(f"this struct has field {twice!r} twice: give each a name of its own")
    kind = pa.struct([pa.field(n, v.type) for n, v in zip(names, values, strict=True)])
    return Call("struct", tuple(values), kind)


def named_struct(args: Sequence[Expr]) -> Expr:
    """``named_struct('a', x, 'b', y)``."""
    if len(args) % 2:
        raise TypeClash("NAMED_STRUCT takes names and values by turns, as in NAMED_STRUCT('a', x, 'b', y)")
    return struct([plain_text("NAMED_STRUCT", a, "plain names") for a in args[::2]], args[1::2])
