"""Unit tests of queries: rows fed batch by batch, with lateness and restarts, answers as dicts. No Spark, no JVM.

    from muntin.testing import Harness, stream

    def test_clicks() -> None:
        h = Harness("SELECT user, COUNT(*) AS n FROM clicks [RANGE 1 MINUTE SLIDE 1 MINUTE] GROUP BY user",
                    clicks=stream({"ts": "timestamp", "user": "string"}, slack="10 seconds"))
        h.feed("clicks", [{"ts": "2024-01-01 00:00:05", "user": "ann"}])
        h.restart()
        assert [(r["user"], r["n"]) for r in h.advance("2024-01-01 00:01:01")] == [("ann", 1)]
"""

from __future__ import annotations

import datetime as dt
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from typing import Literal as OneOf

import pyarrow as pa

from muntin.core.errors import ConfigError
from muntin.core.schema import Field, Schema
from muntin.core.time import NEVER
from muntin.cql.binder import bind
from muntin.cql.literals import instant
from muntin.cql.options import OPTIONS, Duration, microseconds, query_options
from muntin.cql.parameters import with_parameters
from muntin.cql.types import from_spark
from muntin.cql.user_functions import Functions, with_functions
from muntin.dataflow.graph import QueryPlan
from muntin.dataflow.planner import plan_query
from muntin.engine.answer import present_answer
from muntin.local.query import described, open_table
from muntin.local.readers import Input, as_engine
from muntin.local.replay import table_feed
from muntin.local.runtime import LocalPipeline
from muntin.plan.catalog import Catalog, Stream, Table
from muntin.state.pane_store import PaneStore

__all__ = ["Harness", "LateRow", "StreamSpec", "stream"]

Columns = Mapping[str, pa.DataType | str] | Any
"""Columns by name, with Arrow types or Spark's names of types (``"bigint"``, ``"decimal(10, 2)"``); or an Arrow
schema."""

Moment = dt.datetime | str | int
"""A point in time: a datetime (without zone: UTC), a text as ``"2024-01-31 12:00:00"``, or microseconds since 1970."""

Row = Mapping[str, Any]

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True)
class StreamSpec:
    """A stream as a test declares it; see ``stream``."""

    schema: Schema
    ts: str | None
    rules: Mapping[str, Any]


@dataclass(frozen=True)
class LateRow:
    """A row that was left out: more slack by ``late_by`` would have kept it."""

    stream: str
    row: dict[str, Any]
    late_by: dt.timedelta


def stream(
    columns: Columns,
    ts: str | None = None,
    slack: Duration = 0,
    idle_after: Duration | None = None,
    max_jump: Duration | None = None,
    on_bad_time: OneOf["drop", "fail"] = "drop",
    order_by: str | None = None,
    ts_unit: OneOf["us", "ms", "s"] | None = None,
) -> StreamSpec:
    """A stream for ``Harness``: its columns, and the rules of ``Session.stream``.

    ``ts``: column of event time; without it the only timestamp column is taken. Raises ConfigError.
    """
    named = columns.items() if isinstance(columns, Mapping) else ((f.name, f.type) for f in columns)
    schema = Schema(tuple(Field(name, _type(name, kind)) for name, kind in named))
    spans = {"slack": slack, "idle_after": idle_after, "max_jump": max_jump}
    rules: dict[str, Any] = {k: microseconds(v, k) for k, v in spans.items() if v is not None}
    rules |= {"on_bad_time": on_bad_time, "order_by": order_by, "ts_unit": ts_unit}
    return StreamSpec(schema, ts, rules)


def _type(name: str, kind: pa.DataType | str) -> pa.DataType:
    if isinstance(kind, pa.DataType):
        return as_engine(kind)
    try:
        return from_spark(kind)
    except ValueError as e:
        raise ConfigError(f"column {name!r}: {e}") from None


class Harness:
    """One query, fed by hand. ``feed``, ``advance`` and ``finish`` return the result rows that they complete.

    Args:
        text: the query.
        tables: static tables by name: lists of dicts, or whatever ``muntin.query`` takes.
        parameters: values of ``:name`` in the text.
        functions: scalar functions (``muntin.function``), as a list or by name.
        shards: places that state is spread over; answers do not depend on it.
        **streams: streams by name, as ``stream(...)`` or as its columns alone; and the options of ``Session.sql``.

    ``late`` has the rows that came too late, ``bad`` counts those without a usable event time.

    Rows are dicts (columns that one lacks are NULL); times may be datetimes (without zone: UTC) or texts. An instant is
    answered once every stream has passed it by its slack, or ``advance`` says that nothing older comes.
    """

    def __init__(
        self,
        text: str,
        *,
        tables: Mapping[str, Any] | None = None,
        parameters: Mapping[str, Any] | None = None,
        functions: Functions = (),
        shards: int = 2,
        **streams: Any,
    ) -> None:
        options = query_options({k: v for k, v in streams.items() if k in OPTIONS})
        given = {k: v for k, v in streams.items() if k not in OPTIONS}
        self._streams = {n: _opened(n, v, i) for i, (n, v) in enumerate(given.items())}
        read: dict[str, tuple[Input, Schema]] = {n: open_table(n, v) for n, v in (tables or {}).items()}
        known = tuple(Table(n, schema) for n, (_, schema) in read.items())
        catalog = with_functions(Catalog(tuple(self._streams.values()), known), functions)
        self.plan: QueryPlan = plan_query(bind(with_parameters(text, parameters or {}), catalog, options))
        self.late: list[LateRow] = []
        self._shards = shards
        self._pipeline = LocalPipeline(self.plan, shards)
        self._first = {s.name: table_feed(s, *read[s.name]) for s in self.plan.streams if s.static}
        self._results: list[pa.Table] = []
        self._bad = 0
        self._ended = False
        self._store: PaneStore | None = None
        self._version = -1

    def feed(self, stream: str, rows: Sequence[Row], now: Moment = 0) -> list[dict[str, Any]]:
        """A batch of rows of one stream; ``now``: processing time, for ``idle_after``. Raises ConfigError for a stream
        or a column that is not there."""
        found = self._streams.get(stream)
        if found is None:
            raise ConfigError(f"there is no stream {stream!r}; there are {', '.join(self._streams)}")
        batch = {stream: _table(found, rows)}
        if stream not in {s.name for s in self._pipeline.graph.streams}:
            batch = {}  # the query does not read it
        return self._step(batch, now=now)

    def advance(self, until: Moment, now: Moment = 0) -> list[dict[str, Any]]:
        """Event time reaches ``until``: every instant before it is complete, and older rows are late."""
        return self._step({}, now, moment(until))

    def finish(self) -> list[dict[str, Any]]:
        """End of input: every instant is complete."""
        self._step({}, 0)
        self._ended = True
        return self._take(self._pipeline.finish())

    def restart(self, now: Moment = 0) -> None:
        """All state is written, dropped from memory and read back, as when a run goes on from its checkpoint."""
        if self._store is None:
            directory = tempfile.mkdtemp(prefix="muntin-testing-")
            weakref.finalize(self, shutil.rmtree, directory, ignore_errors=True)
            self._store = PaneStore.open(directory, "query", 0)
        cells = self._pipeline.cells()
        self._version += 1
        self._store.commit(self._version, "task", cells, {"shards": self._shards})
        after = LocalPipeline(self.plan, self._shards)
        after.restore(self._store.load(self._version, list(cells)))
        after.since = moment(now)
        self._bad += self._pipeline.bad
        self._pipeline = after

    def answers(self) -> list[dict[str, Any]]:
        """All result rows so far, in order of time."""
        return [row for table in self._results for row in table.to_pylist()]

    def current(self) -> list[dict[str, Any]]:
        """The answer as it stands, of a query that shows changes; see ``Query.current``."""
        schema = self.plan.result_schema.to_arrow()
        return list(present_answer(self.plan, pa.concat_tables([schema.empty_table(), *self._results])).to_pylist())

    @property
    def bad(self) -> int:
        """Rows without a usable event time."""
        return self._bad + self._pipeline.bad

    def _step(self, batch: Mapping[str, pa.Table], now: Moment, until: int = NEVER) -> list[dict[str, Any]]:
        if self._ended:
            raise ConfigError("the input has ended (finish): make another Harness")
        whole = {**self._first, **batch}
        self._first = {}
        (found,) = self._pipeline.push_all(whole, moment(now), until)
        for lost in self._pipeline.late_rows:
            spans = [dt.timedelta(microseconds=int(us)) for us in lost.by]
            self.late += [LateRow(lost.stream, r, by) for r, by in zip(lost.rows.to_pylist(), spans, strict=True)]
        self._pipeline.late_rows.clear()
        return self._take(found)

    def _take(self, found: pa.Table) -> list[dict[str, Any]]:
        self._results.append(found)
        return list(found.to_pylist())


def moment(at: Moment) -> int:
    """Microseconds since 1970."""
    match at:
        case int():
            return at
        case dt.datetime():
            aware = at if at.tzinfo is not None else at.replace(tzinfo=dt.UTC)
            return (aware - _EPOCH) // dt.timedelta(microseconds=1)
        case str():
            try:
                return instant(at, None)
            except ValueError as e:
                raise ConfigError(str(e)) from None
    raise ConfigError(f"{at!r} is no point in time; give a datetime, a text, or microseconds since 1970")


def _opened(name: str, given: Any, order: int) -> Stream:
    if not isinstance(given, StreamSpec | Mapping | pa.Schema):
        raise ConfigError(f"stream {name!r}: give its columns, as muntin.testing.stream({{'ts': 'timestamp', ...}})")
    spec = given if isinstance(given, StreamSpec) else stream(given)
    rules = {k: v for k, v in spec.rules.items() if k != "ts_unit"}
    return described(name, spec.schema, spec.ts, spec.rules["ts_unit"], order=order, **rules)


def _table(stream: Stream, rows: Sequence[Row]) -> pa.Table:
    """Rows in the stream's schema. Raises ConfigError for a column that it has not, and for values of another type."""
    strange = next((name for row in rows for name in row if stream.schema.get(name) is None), None)
    if strange is not None:
        raise ConfigError(f"stream {stream.name!r} has no column {strange!r}; it has {', '.join(stream.schema.names)}")
    return pa.table(
        [_column(stream, f, [row.get(f.name) for row in rows]) for f in stream.schema], stream.schema.to_arrow()
    )


def _column(stream: Stream, f: Field, values: Sequence[Any]) -> pa.Array:
    if pa.types.is_timestamp(f.type):
        values = [None if v is None else moment(_at_midnight(v)) for v in values]
    elif pa.types.is_date(f.type):
        values = [dt.date.fromisoformat(v) if isinstance(v, str) else v for v in values]
    try:
        return pa.array(values, f.type)
    except (pa.ArrowException, TypeError, ValueError) as e:
        raise ConfigError(f"stream {stream.name!r}: column {f.name!r} is {f.type}: {e}") from None


def _at_midnight(value: Any) -> Any:
    """A date as the instant at which it begins (UTC)."""
    plain = isinstance(value, dt.date) and not isinstance(value, dt.datetime)
    return dt.datetime.combine(value, dt.time()) if plain else value
