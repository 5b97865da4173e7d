"""Arrow types and Spark SQL's names for them, in both directions; type families."""

from __future__ import annotations

import re
from typing import Literal as OneOf

import pyarrow as pa

Family = OneOf["number", "string", "boolean", "timestamp", "date", "duration", "binary", "null", "nested"]

TIMESTAMP = pa.timestamp("us", tz="UTC")
TIMESTAMP_NTZ = pa.timestamp("us")
DURATION = pa.duration("us")

_NAMES: dict[str, pa.DataType] = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "BINARY": pa.binary(),
    "DATE": pa.date32(),
    "TIMESTAMP": TIMESTAMP,
    "TIMESTAMP_NTZ": TIMESTAMP_NTZ,
    "INTERVAL DAY TO SECOND": DURATION,
    "VOID": pa.null(),
}
_SYNONYMS = {
    "INTEGER": "INT", "BYTE": "TINYINT", "SHORT": "SMALLINT", "LONG": "BIGINT", "REAL": "FLOAT", "BOOL": "BOOLEAN",
    "TEXT": "STRING", "VARCHAR": "STRING", "CHAR": "STRING", "TIMESTAMP_LTZ": "TIMESTAMP", "TIMESTAMPTZ": "TIMESTAMP",
    "TIMESTAMPLTZ": "TIMESTAMP", "TIMESTAMPNTZ": "TIMESTAMP_NTZ", "VARBINARY": "BINARY", "NUMERIC": "DECIMAL",
    "DEC": "DECIMAL",
}  # fmt: skip


def from_spark(name: str) -> pa.DataType:
    """The Arrow type of a Spark SQL type name, as ``BIGINT``, ``DECIMAL(10, 2)`` or ``ARRAY<STRUCT<a: INT>>``; case
    does not matter, but of the names of fields.

    Raises:
        ValueError: the name is unknown.
    """
    plain = " ".join(name.upper().split())
    nested = re.fullmatch(r"\s*(ARRAY|MAP|STRUCT)\s*<(.*)>\s*", name, re.IGNORECASE | re.DOTALL)
    if nested:
        return _nested(nested.group(1).upper(), _split(nested.group(2)), name)
    decimal = re.fullmatch(r"(?:DECIMAL|NUMERIC|DEC)(?: ?\( ?(\d+) ?(?:, ?(\d+) ?)?\))?", plain)
    if decimal:
        precision = int(decimal.group(1) or 10)
        scale = int(decimal.group(2) or 0)
        if not (1 <= precision <= 38 and scale <= precision):
            raise ValueError(f"{name}: precision is 1 to 38 and scale at most the precision")
        return pa.decimal128(precision, scale)
    plain = re.sub(r" ?\( ?\d+ ?\)$", "", plain)
    found = _NAMES.get(_SYNONYMS.get(plain, plain))
    if found is None:
        raise ValueError(f"unknown type {name}; types are {', '.join(n for n in _NAMES if n != 'VOID')}, DECIMAL(p, s)")
    return found


def _nested(kind: str, parts: list[str], name: str) -> pa.DataType:
    match kind, parts:
        case "ARRAY", [item]:
            return pa.list_(from_spark(item))
        case "MAP", [key, item]:
            return pa.map_(from_spark(key), from_spark(item))
        case "STRUCT", [_, *_]:
            fields = [re.fullmatch(r"\s*(?:`([^`]+)`|(\w+))\s*(?::|\s)\s*(.+)", p, re.DOTALL) for p in parts]
            if all(fields):
                return pa.struct([(f[1] or f[2], from_spark(f[3])) for f in fields if f])
    raise ValueError(f"{name}: write ARRAY<type>, MAP<type, type> or STRUCT<name: type, ...>")


def _split(text: str) -> list[str]:
    """The parts between commas that stand in no brackets."""
    parts, depth = [""], 0
    for c in text:
        depth += (c in "<(") - (c in ">)")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return parts


def to_spark(t: pa.DataType) -> str:
    """Spark SQL's name of an Arrow type; a timestamp with a zone is TIMESTAMP, without one TIMESTAMP_NTZ (any unit)."""
    if pa.types.is_decimal(t):
        return f"DECIMAL({t.precision}, {t.scale})"
    if pa.types.is_timestamp(t):
        return "TIMESTAMP_NTZ" if t.tz is None else "TIMESTAMP"
    if pa.types.is_duration(t):
        return "INTERVAL DAY TO SECOND"
    if pa.types.is_large_string(t) or pa.types.is_string_view(t):
        return "STRING"
    if pa.types.is_large_binary(t) or pa.types.is_fixed_size_binary(t):
        return "BINARY"
    if pa.types.is_date64(t):
        return "DATE"
    if pa.types.is_struct(t):
        names = [f.name if re.fullmatch(r"\w+", f.name) else f"`{f.name}`" for f in t]
        return f"STRUCT<{', '.join(f'{n}: {to_spark(f.type)}' for n, f in zip(names, t, strict=True))}>"
    if pa.types.is_map(t):
        return f"MAP<{to_spark(t.key_type)}, {to_spark(t.item_type)}>"
    if pa.types.is_list(t) or pa.types.is_large_list(t) or pa.types.is_fixed_size_list(t):
        return f"ARRAY<{to_spark(t.value_type)}>"
    if pa.types.is_unsigned_integer(t):
        return {8: "SMALLINT", 16: "INT", 32: "BIGINT"}.get(t.bit_width, "DECIMAL(20, 0)")
    return next((name for name, known in _NAMES.items() if known == t), str(t).upper())


def family(t: pa.DataType) -> Family:
    """The family within which values compare; families never mix without a CAST."""
    k = pa.types
    if k.is_integer(t) or k.is_floating(t) or k.is_decimal(t):
        return "number"
    tests: list[tuple[bool, Family]] = [
        (k.is_string(t) or k.is_large_string(t) or k.is_string_view(t), "string"),
        (k.is_boolean(t), "boolean"),
        (k.is_timestamp(t), "timestamp"),
        (k.is_date(t), "date"),
        (k.is_duration(t), "duration"),
        (k.is_binary(t) or k.is_large_binary(t) or k.is_fixed_size_binary(t), "binary"),
        (k.is_null(t), "null"),
    ]
    return next((name for hit, name in tests if hit), "nested")
