"""Rows as the evaluator holds them, and loading of streams and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from muntin.core.errors import DataError
from muntin.core.schema import Schema
from muntin.core.time import ALWAYS
from muntin.plan.catalog import Stream, Table
from muntin.reference.values import canonical, from_outside, to_micros

Values = dict[str, Any]
Given = Mapping[str, Any]
Update = tuple[int, str, Given]
"""A change of a table: (instant in microseconds, '+' or '-', the row)."""
Streams = Mapping[str, Sequence[Given]]
Tables = Mapping[str, Sequence[Given | Update]]
Functions = Mapping[str, Callable[[Sequence[Any]], Any]]


@dataclass(frozen=True, slots=True)
class Event:
    """A row that comes at ``ts``; ``order`` decides between rows of one instant (stream's registration, arrival)."""

    ts: int
    order: tuple[int, int]
    values: Values


@dataclass(frozen=True, slots=True)
class History:
    """A table: at each instant at which it changes, all its rows from then on. ``updates``: when its feed said
    anything, whether that changed the table or not."""

    kind: str
    versions: tuple[tuple[int, list[Values]], ...]
    updates: tuple[int, ...]

    def at(self, t: int) -> list[Values]:
        """The rows after every update at or before ``t``."""
        return next((rows for ts, rows in reversed(self.versions) if ts <= t), [])


@dataclass(frozen=True)
class Inputs:
    """What a query runs over: events by stream name (in order of time), histories by table name, user's aggregates."""

    events: Mapping[str, list[Event]]
    tables: Mapping[str, History]
    functions: Functions = field(default_factory=dict)


def load_stream(stream: Stream, given: Iterable[Given]) -> list[Event]:
    """Rows in the order of time and, in an instant, of ``order_by`` or arrival; those without event time are left out.

    Raises DataError for a missing time when the stream says ``on_bad_time="fail"``, and for values out of range.
    """
    loaded = []
    for position, row in enumerate(given):
        moment = row[stream.ts]
        if moment is None:
            if stream.on_bad_time == "fail":
                raise DataError(f"stream {stream.name!r}: a row has no event time in {stream.ts!r}: {dict(row)}")
            continue
        ts = moment * stream.ts_unit if isinstance(moment, int) else to_micros(moment)
        loaded.append(Event(ts, (stream.order, position), _typed(stream.schema, row)))
    sequence = stream.order_by
    return sorted(loaded, key=lambda e: (e.ts, e.values[sequence] if sequence else 0, e.order))


def load_table(table: Table, given: Iterable[Given | Update]) -> History:
    """The history of a table: a plain row is there always, an update (ts, op, row) from its instant on.

    Raises DataError for a deletion of a row that is not there when the table says ``on_bad_update="fail"``.
    """
    entries = [e if isinstance(e, tuple) else (ALWAYS, "+", e) for e in given]
    updates = sorted(((ts, op, _typed(table.schema, row)) for ts, op, row in entries), key=lambda u: u[0])
    held: list[Values] = []
    versions: list[tuple[int, list[Values]]] = []
    for ts, together in groupby(updates, key=lambda u: u[0]):
        before, held = held, [*held]
        for _, op, row in together:
            _update(table, held, op, row)
        if Counter(map(_key, held)) != Counter(map(_key, before)):
            versions.append((ts, held))
    return History(table.kind, tuple(versions), tuple(ts for ts, _, _ in updates if ts != ALWAYS))


def _update(table: Table, held: list[Values], op: str, row: Values) -> None:
    """One update of the table's rows: of a bag, or of a table with one row a key."""
    if op == "+" and not table.key:
        held.append(row)
        return
    named = table.key or table.schema.names
    same = next((i for i, r in enumerate(held) if all(canonical(r[c]) == canonical(row[c]) for c in named)), None)
    if same is not None:
        held.pop(same)
    if op == "+":
        held.append(row)
    elif same is None and table.on_bad_update == "fail":
        raise DataError(f"table {table.name!r}: an update takes away a row that is not there: {row}")


def _typed(schema: Schema, row: Given) -> Values:
    return {f.name: from_outside(row.get(f.name), f.type) for f in schema}


def _key(values: Values) -> tuple[tuple[str, Any], ...]:
    return tuple((n, canonical(v)) for n, v in values.items())
