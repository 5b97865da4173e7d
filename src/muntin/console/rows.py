"""Rows of a result as plain values for the page."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from muntin.core.shown import is_number, value_text

LIMIT = 200
"""Rows that the page gets of a result."""


def plain_rows(rows: pa.Table | None) -> dict[str, Any]:
    """Columns with their kinds (number, time, other), rows as texts; numbers and times as values too, for plots."""
    if rows is None:
        return {"columns": [], "rows": [], "values": [], "note": "this sink does not let rows be read back"}
    kinds = [_kind(f.type) for f in rows.schema]
    lists = [column.to_pylist() for column in rows.columns]
    return {
        "columns": [{"name": f.name, "kind": k} for f, k in zip(rows.schema, kinds, strict=True)],
        "rows": [[value_text(v) for v in row] for row in zip(*lists, strict=True)],
        "values": [_values(v, k) for v, k in zip(lists, kinds, strict=True)],
        "note": "" if len(rows) else "no rows yet",
    }


def _kind(type: pa.DataType) -> str:
    if is_number(type):
        return "number"
    return "time" if pa.types.is_timestamp(type) else "other"


def _values(column: list[Any], kind: str) -> list[float | None]:
    """Numbers, and times as milliseconds since 1970; nothing for other columns."""
    match kind:
        case "number":
            return [float(v) if v is not None and math.isfinite(v) else None for v in column]
        case "time":
            return [None if v is None else _milliseconds(v) for v in column]
        case _:
            return []


def _milliseconds(value: datetime) -> float:
    return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp() * 1000
