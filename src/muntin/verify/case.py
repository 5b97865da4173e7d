"""Test vectors as data: one JSON case read, its times made microseconds, its columns given types."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from muntin.core.errors import ConfigError
from muntin.core.schema import Field, Schema
from muntin.core.time import MILLISECOND, SECOND
from muntin.plan.catalog import Catalog, Stream, Table, View
from muntin.plan.windows import Bounds, QueryOptions

UNITS = {"s": SECOND, "ms": MILLISECOND, "seq": SECOND}
"""Microseconds in a case's time unit; ``seq`` (only an order) runs as seconds."""

KINDS = frozenset({"istream", "dstream", "rstream", "changelog", "final"})

JsonRow = dict[str, Any]


@dataclass(frozen=True)
class ExpectedRow:
    """A row that the source asserts: instant (microseconds, or None), '+' or '-' of a change log, columns."""

    ts: int | None
    op: str | None
    columns: JsonRow


@dataclass(frozen=True)
class Expectation:
    """``ticks``: instants (microseconds) at which an rstream is compared; None: only those that have a row."""

    kind: str
    rows: tuple[ExpectedRow, ...]
    ticks: tuple[int, ...] | None = None


@dataclass(frozen=True)
class VectorCase:
    """One case, ready to run. Rows keep their ``ts`` in the case's unit (shifted); everything else is microseconds.

    ``relations``: updates ``{"ts", "op", "row"}`` of retroactive tables, or plain rows of static ones. ``skip`` is
    why a case is only informative (None: it runs). ``boundary_sensitive``: the other reading of RANGE gives other rows.
    """

    id: str
    cql: str | None
    streams: Mapping[str, tuple[JsonRow, ...]]
    relations: Mapping[str, tuple[JsonRow, ...]]
    views: tuple[tuple[str, str], ...]
    late_rows: Mapping[str, tuple[JsonRow, ...]]
    unit: int
    bounds: Bounds
    shift: int
    expect: Expectation
    ignore_ts: bool = False
    observed_from: int | None = None
    observed_until: int | None = None
    skip: str | None = None
    boundary_sensitive: bool = False

    @property
    def options(self) -> QueryOptions:
        """The options the query runs under: its reading of RANGE, and a granule of one time unit."""
        return QueryOptions(bounds=self.bounds, granule=self.unit)

    @property
    def catalog(self) -> Catalog:
        """Streams and tables with the column types that their rows show; slack = the largest back step."""
        streams = tuple(
            Stream(
                name,
                infer_schema([*rows, *self.late_rows.get(name, ())], first="ts"),
                "ts",
                slack=back_step(rows) * self.unit,
                ts_unit=self.unit,
                order=i,
            )
            for i, (name, rows) in enumerate(self.streams.items())
        )
        tables = tuple(_table(name, rows) for name, rows in self.relations.items())
        return Catalog(streams, tables, tuple(View(name, text) for name, text in self.views))

    @property
    def tables(self) -> Mapping[str, tuple[JsonRow | tuple[int, str, JsonRow], ...]]:
        """By table name the rows that are always there, or the updates (instant in microseconds, op, row)."""
        return {
            name: tuple((r["ts"] * self.unit, r["op"], r["row"]) if _is_update(r) else r for r in rows)
            for name, rows in self.relations.items()
        }

    @property
    def until(self) -> int | None:
        """The instant up to which time must have moved; None: to the end of input."""
        if self.expect.kind == "rstream":
            instants = self.expect.ticks or tuple(r.ts for r in self.expect.rows if r.ts is not None)
            return max(instants, default=self.observed_until)
        if self.expect.kind == "final" and self.observed_until is None:
            return self.newest
        return self.observed_until

    @property
    def newest(self) -> int:
        """Event time of the newest row or update."""
        every = [r["ts"] for rows in (*self.streams.values(), *self.relations.values()) for r in rows if "ts" in r]
        return max(every, default=0) * self.unit

    def as_start(self) -> VectorCase:
        """The same case under ``bounds="start"`` without its shift of one unit (windows [start, end) as they were)."""
        plain = {n: tuple({**r, "ts": r["ts"] - self.shift} for r in rows) for n, rows in self.streams.items()}
        late = {n: tuple({**r, "ts": r["ts"] - self.shift} for r in rows) for n, rows in self.late_rows.items()}
        return replace(self, streams=plain, late_rows=late, shift=0, bounds="start")


def load_cases(path: Path) -> Iterator[VectorCase]:
    """The cases of one file, in order. Raises ConfigError when the file is not a list of cases."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot read test vectors from {path}: {error}") from error
    if not isinstance(found, list):
        raise ConfigError(f"{path} is not a list of test vectors: its top level is {type(found).__name__}")
    for i, raw in enumerate(found):
        try:
            yield parse_case(raw, path.parent)
        except (KeyError, TypeError, ValueError) as error:
            name = raw.get("id", f"number {i}") if isinstance(raw, dict) else f"number {i}"
            raise ConfigError(f"{path}, case {name}: not in the form of a test vector ({error!r})") from error


def parse_case(raw: Mapping[str, Any], folder: Path) -> VectorCase:
    """One case from its JSON object; ``$ref`` files are found in ``folder``. Raises KeyError for missing fields."""
    unit, shift = UNITS[raw["time_unit"]], raw.get("ts_shift") or 0
    late = raw.get("late_rows")
    return VectorCase(
        id=raw["id"],
        cql=raw["cql"],
        streams={n: _shifted(_rows(v, folder), shift) for n, v in raw["streams"].items()},
        relations={n: tuple(_rows(v, folder)) for n, v in (raw.get("relations") or {}).items()},
        views=tuple((n, q) for n, q in raw.get("views") or ()),
        late_rows={n: _shifted(v, shift) for n, v in late.items()} if isinstance(late, dict) else {},
        unit=unit,
        bounds=raw.get("boundary") or "half_open",
        shift=shift,
        expect=_expectation(raw.get("expect_cql") or raw["expect"], raw["expect"], unit),
        ignore_ts=bool(raw.get("ignore_ts")),
        observed_from=_scaled(raw.get("observed_from"), unit),
        observed_until=_scaled(raw.get("observed_until"), unit),
        skip=None if raw["cql"] and not raw.get("skip") else str(raw.get("skip") or "it has no query in this language"),
        boundary_sensitive=bool(raw.get("boundary_sensitive")),
    )


def infer_schema(rows: list[JsonRow], first: str | None = None) -> Schema:
    """Columns in order of appearance (``first`` at the front) with the Arrow types that their values show.

    Integers with floats are doubles; a column of NULLs alone is a 64-bit integer.
    """
    names = dict.fromkeys([*([first] if first else []), *(n for r in rows for n in r)])
    return Schema(tuple(Field(n, _type([r.get(n) for r in rows])) for n in names))


def back_step(rows: tuple[JsonRow, ...]) -> int:
    """How far the event time of a row lies behind that of an earlier row, at most."""
    furthest, newest = 0, None
    for r in rows:
        newest = r["ts"] if newest is None else max(newest, r["ts"])
        furthest = max(furthest, newest - r["ts"])
    return furthest


def _expectation(chosen: Mapping[str, Any], given: Mapping[str, Any], unit: int) -> Expectation:
    if chosen["kind"] not in KINDS:
        raise ValueError(f"unknown kind of expectation {chosen['kind']!r}")
    ticks = chosen.get("ticks") if chosen.get("ticks") is not None else given.get("ticks")
    rows = tuple(ExpectedRow(_scaled(r.get("ts"), unit), r.get("op"), r["row"]) for r in chosen["rows"])
    return Expectation(chosen["kind"], rows, None if ticks is None else tuple(t * unit for t in ticks))


def _rows(value: Any, folder: Path) -> list[JsonRow]:
    if isinstance(value, dict):
        found: list[JsonRow] = json.loads((folder / value["$ref"]).read_text())
        return found
    return list(value)


def _shifted(rows: list[JsonRow], shift: int) -> tuple[JsonRow, ...]:
    return tuple({**r, "ts": r["ts"] + shift} for r in rows)


def _scaled(value: int | None, unit: int) -> int | None:
    return None if value is None else value * unit


def _table(name: str, rows: tuple[JsonRow, ...]) -> Table:
    updates = all(map(_is_update, rows))
    return Table(name, infer_schema([r["row"] if updates else r for r in rows]), "relation" if updates else "static")


def _is_update(row: JsonRow) -> bool:
    return "op" in row and "row" in row


def _type(values: list[Any]) -> pa.DataType:
    kinds = {type(v) for v in values if v is not None}
    if kinds <= {int}:
        return pa.int64()
    if kinds <= {int, float}:
        return pa.float64()
    if kinds == {str}:
        return pa.string()
    if kinds == {bool}:
        return pa.bool_()
    raise ValueError(f"a column mixes {sorted(k.__name__ for k in kinds)}")
