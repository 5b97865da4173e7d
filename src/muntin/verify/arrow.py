"""Rows of a case as Arrow tables, and result tables as rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa

from muntin.core.schema import Schema
from muntin.plan.catalog import Stream
from muntin.reference import ResultRow

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_table(stream: Stream, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """The rows in the stream's schema; columns that a row lacks are NULL."""
    schema = stream.schema.to_arrow()
    return pa.table([pa.array([r.get(f.name) for r in rows], f.type) for f in schema], schema=schema)


def from_table(table: pa.Table, schema: Schema, shows_op: bool) -> list[ResultRow]:
    """(instant, op, the query's columns) of a result with the columns of ``schema`` first, then instant, then op."""
    width = len(schema)
    columns = [[_plain(v) for v in c.to_pylist()] for c in table.columns]
    instants = columns[width]
    ops = columns[width + 1] if shows_op else [None] * len(instants)
    values = list(zip(*columns[:width], strict=True)) if width else [()] * len(instants)
    return list(zip(instants, ops, values, strict=True))


def _plain(value: Any) -> Any:
    """Timestamps and durations as integer microseconds, dates as days since the epoch, arrays as tuples."""
    if isinstance(value, list):
        return tuple(map(_plain, value))
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=UTC)
        return (aware - _EPOCH) // timedelta(microseconds=1)
    if isinstance(value, date):
        return (value - _EPOCH.date()).days
    return value // timedelta(microseconds=1) if isinstance(value, timedelta) else value
