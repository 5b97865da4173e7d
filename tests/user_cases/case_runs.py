"""Small cases as users report them: a text, rows in seconds, and what must come out of both runtimes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa

from muntin.core.schema import Field, Schema
from muntin.core.time import SECOND
from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_query
from muntin.local.runtime import LocalPipeline
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.windows import QueryOptions
from muntin.reference import run
from muntin.verify.arrow import from_table, to_table
from muntin.verify.compare import bag_difference

Row = tuple[Any, ...]
_TYPES = {int: pa.int64(), float: pa.float64(), str: pa.string(), bool: pa.bool_(), Decimal: pa.decimal128(20, 2)}


@dataclass(frozen=True)
class Rows:
    """Rows in arrival order; ``columns``: their names, ``ts`` (in seconds) first; how the stream behaves."""

    columns: str
    rows: Sequence[Row]
    slack: int = 0
    idle_after: int | None = None

    @property
    def names(self) -> list[str]:
        return self.columns.split()

    def stream(self, name: str, order: int) -> Stream:
        types = [next((_TYPES[type(v)] for v in c if v is not None), pa.int64()) for c in zip(*self.rows, strict=True)]
        schema = Schema(tuple(Field(n, t) for n, t in zip(self.names, types, strict=True)))
        idle = None if self.idle_after is None else self.idle_after * SECOND
        return Stream(name, schema, "ts", self.slack * SECOND, idle, ts_unit=SECOND, order=order)

    def dicts(self, rows: Iterable[Row] | None = None) -> list[dict[str, Any]]:
        return [dict(zip(self.names, r, strict=True)) for r in (self.rows if rows is None else rows)]


@dataclass(frozen=True)
class UserCase:
    """A query over streams by name."""

    text: str
    streams: dict[str, Rows]
    views: dict[str, str] = field(default_factory=dict)
    options: QueryOptions = QueryOptions()

    @property
    def catalog(self) -> Catalog:
        catalog = Catalog(tuple(r.stream(n, i) for i, (n, r) in enumerate(self.streams.items())))
        for name, text in self.views.items():
            catalog = catalog.with_view(name, text)
        return catalog

    def reference(self, until: int | None = None) -> list[Row]:
        """(seconds, op, values...) by the naive evaluator."""
        query = bind(self.text, self.catalog, self.options)
        rows = {n: r.dicts() for n, r in self.streams.items()}
        return [_shown(r) for r in run(query, rows, None if until is None else until * SECOND)]

    def pipeline(self, shards: int = 1) -> Fed:
        """The local runtime, to be fed by hand."""
        query = plan_query(bind(self.text, self.catalog, self.options))
        return Fed(self, LocalPipeline(query, shards))

    def local(self, until: int | None = None, batches: int = 1, shards: int = 1) -> list[Row]:
        """(seconds, op, values...) by the local runtime, the rows cut into equal ``batches``."""
        fed = self.pipeline(shards)
        out = []
        for b in range(batches):
            cut = {
                n: [r for i, r in enumerate(s.rows) if i * batches // len(s.rows) == b] for n, s in self.streams.items()
            }
            out += fed.push(**cut)
        return out + (fed.finish() if until is None else fed.heartbeat(until + 1))

    def must_give(self, *expected: Row, until: int | None = None) -> None:
        """Both runtimes give exactly these (seconds, op or None, values...), in any order, however rows are cut."""
        runs = {"reference": self.reference(until)}
        for batches, shards in ((1, 1), (3, 2), (8, 3)):
            runs[f"local in {batches} batches, {shards} shards"] = self.local(until, batches, shards)
        for name, got in runs.items():
            assert not (found := bag_difference(expected, got)), f"{name}: {found}\n{self.text}"


@dataclass
class Fed:
    """A running local pipeline of a case."""

    case: UserCase
    local: LocalPipeline

    def push(self, now: int = 0, **rows: Sequence[Row]) -> list[Row]:
        """Rows by stream name, at processing time ``now`` (seconds); returns what came out."""
        batch = {}
        for stream in self.case.catalog.streams:
            if stream.name in rows:
                given = self.case.streams[stream.name]
                batch[stream.name] = to_table(stream, given.dicts(rows[stream.name]))
        return self._rows(self.local.push(batch, now * SECOND))

    def heartbeat(self, until: int) -> list[Row]:
        """Every instant before ``until`` seconds is complete."""
        return self._rows(self.local.heartbeat(until * SECOND))

    def finish(self) -> list[Row]:
        return self._rows(self.local.finish())

    def held(self) -> int:
        """Rows in the state of all vertices and shards."""
        return sum(state.rows() for states in self.local.states for state in states.values())

    def _rows(self, table: pa.Table) -> list[Row]:
        return [_shown(r) for r in from_table(table, self.local.query.schema, self.local.query.shows_op)]


def _shown(row: tuple[int, str | None, Row]) -> Row:
    ts, op, values = row
    return (ts // SECOND if ts % SECOND == 0 else ts / SECOND, op, *values)
