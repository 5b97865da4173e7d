"""Rows as the evaluator holds them, and loading of streams and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from muntin.core.errors import DataError
from muntin.core.schema import Schema
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
    """A table: rows that were always there, and updates in the order of time (given order inside an instant)."""

    kind: str
    always: tuple[Values, ...]
    updates: tuple[tuple[int, str, Values], ...]

    def at(self, t: int) -> list[Values]:
        """The rows after every update at or before ``t``. Raises DataError when a row leaves that is not there."""
        held = Counter(_key(v) for v in self.always)
        rows = {_key(v): v for v in self.always}
        for ts, op, values in self.updates:
            if ts <= t:
                held[_key(values)] += 1 if op == "+" else -1
                rows[_key(values)] = values
        for key, count in held.items():
            if count < 0:
                raise DataError(f"a table loses a row that is not in it: {dict(key)}")
        return [rows[key] for key in held.elements()]


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
    """The history of a table: a plain row is there always, an update (ts, op, row) from its instant on."""
    always, updates = [], []
    for entry in given:
        if isinstance(entry, tuple):
            ts, op, row = entry
            updates.append((ts, op, _typed(table.schema, row)))
        else:
            always.append(_typed(table.schema, entry))
    return History(table.kind, tuple(always), tuple(sorted(updates, key=lambda u: u[0])))


def _typed(schema: Schema, row: Given) -> Values:
    return {f.name: from_outside(row.get(f.name), f.type) for f in schema}


def _key(values: Values) -> tuple[tuple[str, Any], ...]:
    return tuple((n, canonical(v)) for n, v in values.items())
