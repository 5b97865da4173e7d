"""What a session knows by name: streams, tables, views, aggregates and functions, and what stands on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace as changed
from typing import Any
from typing import Literal as OneOf

import pyarrow as pa

from muntin.aggregates.registry import is_name
from muntin.core.errors import ConfigError, MuntinError
from muntin.cql.binder import bind
from muntin.cql.options import Duration
from muntin.cql.user_functions import Type, function, with_function
from muntin.plan.aggregates import Evaluate, UserAggregate, evaluator
from muntin.plan.catalog import AggregateFunction, Catalog, Stream, Table, View
from muntin.plan.user_functions import OnNull, ScalarFunction, user_calls
from muntin.session.given import UNITS, TableKind, check_choices, check_frame, check_table, spans
from muntin.session.query import Query
from muntin.spark.change_feeds import Updates, updates_of
from muntin.spark.embedded import Column, DataFrame, SparkSession
from muntin.spark.late_output import source_row
from muntin.spark.run import Run
from muntin.spark.tables import TableFrame, static_feed, update_feed
from muntin.spark.times import ready_event_time
from muntin.spark.types import arrow_type, schema_of

TableForm = OneOf["upsert", "debezium", "delta"]


@contextmanager
def _standing(what: str, way: str) -> Iterator[None]:
    """What binding says of a view or query after a change of what it may read."""
    try:
        yield
    except MuntinError as e:
        raise ConfigError(f"{what} would no longer stand ({e}): {way} first, or keep what it reads") from e


def _update_feed(came: Updates, name: str) -> TableFrame:
    return update_feed(came.df, name, came.ts, came.op, UNITS[came.ts_unit] if came.ts_unit else None)


class Registry:
    """Streams, tables, views, aggregates and functions over one SparkSession, by name; ``Session`` adds the queries."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.catalog = Catalog()
        self.queries: dict[str, Query] = {}
        self.frames: dict[str, DataFrame] = {}
        self.rows: dict[str, Column] = {}
        self.functions: dict[str, Evaluate] = {}
        self.runs: list[Run] = []

    def stream(
        self,
        name: str,
        df: DataFrame,
        ts: str = "ts",
        slack: Duration = "0 seconds",
        idle_after: Duration | None = None,
        max_jump: Duration | None = None,
        on_bad_time: OneOf["drop", "fail"] = "drop",
        order_by: str | None = None,
        ts_unit: str | None = None,
        rate: float | None = None,
        sample: float | None = None,
        replace: bool = False,
    ) -> None:
        """Register a DataFrame as a stream; a batch DataFrame is replayed in order of event time.

        Args:
            name: how queries call it.
            df: streaming, or batch.
            ts: event-time column: a timestamp, a date or an integer.
            slack: how far back in event time rows may come.
            idle_after: processing time without rows after which the stream no longer holds time back; time in which the
                pipeline was down does not count.
            max_jump: the most that one batch may move the stream's time forward.
            on_bad_time: what to do with a row that has no usable event time: drop and count it, or fail.
            order_by: column that orders rows of equal event time (NULLs last): windows of rows become reproducible.
            ts_unit: unit of an integer ``ts``: us, ms or s.
            rate: rows a second that are expected; the planner lays out joins by it (never by what an answer is).
            sample: share of its rows that is admitted, above 0 and up to 1: a drop box for more input than there is
                room for. The same rows whenever a batch runs; answers are then not exact, which EXPLAIN and metrics
                say. It may change between runs.
            replace: take the place of what has this name; queries and views that read it are bound anew.

        Raises ConfigError for a name taken, a column that is not there, a type that cannot be event time, and for a
        replacement that a query or view does not fit or a run under way reads.
        """
        self._free(name, replace)
        check_choices(f"stream {name!r}", ts_unit, on_bad_time=on_bad_time)
        check_frame(df, f"stream {name!r}")
        ready = ready_event_time(df, ts, ts_unit, name)
        given = spans(f"stream {name!r}", slack=slack, idle_after=idle_after, max_jump=max_jump)
        if rate is not None and not rate > 0:
            raise ConfigError(f"stream {name!r}: rate is a number of rows a second above 0, not {rate!r}")
        schema = schema_of(ready.schema, f"stream {name!r}")
        if order_by is not None and schema.get(order_by) is None:
            raise ConfigError(
                f"stream {name!r}: there is no column {order_by!r} to order rows of equal event time by; it has "
                f"{', '.join(schema.names)}"
            )
        stream = Stream(
            name, schema, ts, on_bad_time=on_bad_time, order_by=order_by, ts_unit=UNITS.get(ts_unit or "us", 1),
            order=self._order(name), rate=rate, sample=sample, **given,
        )  # fmt: skip
        self._register(stream, ready, source_row(df.schema, ts))

    def table(
        self,
        name: str,
        df: DataFrame,
        kind: TableKind = "static",
        ts: str | None = None,
        op: str | None = None,
        slack: Duration = "0 seconds",
        idle_after: Duration | None = None,
        on_bad_time: OneOf["drop", "fail"] = "drop",
        ts_unit: str | None = None,
        key: str | Sequence[str] = (),
        on_bad_update: OneOf["drop", "fail"] = "drop",
        feed: TableForm | None = None,
        replace: bool = False,
    ) -> None:
        """Register a DataFrame as a table that queries may join.

        A static table is a batch DataFrame, there before every row; a live pipeline reads it when it first runs a query
        that uses it. The other kinds are DataFrames of updates, streaming in a live pipeline, each at an event time:
        all rows of a stream see a change of a ``relation``, only later ones that of an ``nrr`` (non-retroactive one).

        Args:
            name: how queries call it.
            df: its rows; or its updates, whose columns but ``ts`` and ``op`` are the table's.
            kind: ``"static"``, ``"relation"`` or ``"nrr"``; ``"upsert"`` is a relation of which ``feed`` is that.
            ts: event-time column of the updates, as for ``stream``.
            op: column that says whether the row comes (+, I, insert, c, r) or an equal one goes (-, D, delete, d);
                where ``df`` has Debezium's columns ``before`` and ``after`` they hold the rows, and ``op`` may be u.
            slack: how far back in event time updates may come.
            idle_after: processing time without updates after which it no longer holds time back, as for ``stream``.
            on_bad_time: what to do with an update that has no usable event time: drop and count it, or fail.
            ts_unit: unit of an integer ``ts``: us, ms or s.
            key: column or columns of which each combination has one row: a row that comes replaces it, a row that goes
                takes it away whatever its other columns hold, and a repeated update changes nothing. Without it the
                table is a bag: equal rows add up, and each deletion takes one away.
            on_bad_update: what to do with a deletion of a row that is not there: drop and count it (``bad_updates`` in
                the metrics), or fail.
            feed: the form of the updates, which says what ``ts`` and ``op`` need not: ``"upsert"`` (a row replaces the
                one of its key, one that has nothing but key and time takes it away), ``"debezium"``, ``"delta"``
                (``spark.change_feeds``); None: as ``ts`` and ``op`` say.
            replace: as for ``stream``.

        Updates are applied in order of event time, those of one instant in the order in which they come. Raises
        ConfigError for a name taken and for columns that are missing or do not fit the kind. An update with an unknown
        ``op`` stops the run with a DataError.
        """
        self._free(name, replace)
        by = (key,) if isinstance(key, str) else tuple(key)
        check_table(name, kind, ts is not None or op is not None or by or feed, ts_unit, on_bad_time, on_bad_update)
        check_frame(df, f"table {name!r}")
        came = updates_of(df, "upsert" if kind == "upsert" and feed is None else feed, name, ts, op, ts_unit, by)
        changes = static_feed(df, name) if kind == "static" else _update_feed(came, name)
        given = spans(f"table {name!r}", slack=slack, idle_after=idle_after)
        table = Table(
            name, schema_of(changes.schema, f"table {name!r}"), "relation" if kind == "upsert" else kind, key=by,
            on_bad_time=on_bad_time, on_bad_update=on_bad_update, deletions_first=came.deletions_first, **given,
        )  # fmt: skip
        self._register(table, changes.df, changes.row)

    def view(self, name: str, text: str, replace: bool = False) -> None:
        """Name a query, to be used in FROM: a relation, or a stream if it is Istream(...), Dstream(...), Rstream(...).

        ``replace``: take the place of what has this name; queries that read it are bound anew. Raises ConfigError for a
        name taken and QueryError for a text that is wrong.
        """
        self._free(name, replace)
        catalog = self._without(name)
        bind(text, catalog.with_view(name, text))
        self._bind_all(catalog.with_view(name, text))
        self._forget(name)

    def aggregate(
        self,
        name: str,
        aggregate: UserAggregate | type[UserAggregate],
        argument: pa.DataType | str | None = None,
        result: pa.DataType | str | None = None,
    ) -> None:
        """Register an aggregate of one argument, to be called by its name in queries.

        Args:
            name: how queries call it.
            aggregate: an object (or a class made without arguments) that follows ``plan.aggregates.UserAggregate``.
            argument: type that arguments are cast to, as Arrow type or in Spark's DDL (None: any type, as it comes).
            result: type of the answer (None: the argument's).

        Raises ConfigError for a name that is taken, by an aggregate of the language too, and for a class that lacks a
        method.
        """
        if not name.isidentifier():
            raise ConfigError(f"aggregate {name!r}: the name must be one word of letters, digits and underscores")
        if self.catalog.function(name) or self.catalog.scalar(name) or is_name(name):
            raise ConfigError(f"there is an aggregate {name!r} already (names do not tell cases apart)")
        code = evaluator(name, aggregate)
        known = AggregateFunction(name, arrow_type(argument, name), arrow_type(result, name), code.invertible)
        self.functions[name] = code
        self.catalog = changed(self.catalog, functions=(*self.catalog.functions, known))

    def function(
        self,
        name: str | ScalarFunction,
        code: Callable[..., Any] | None = None,
        returns: Type | None = None,
        arguments: Sequence[Type] | None = None,
        version: str = "1",
        on_null: OnNull = "null",
        replace: bool = False,
    ) -> None:
        """Register a scalar function over Arrow arrays, to be called wherever a query may have an expression.

        ``session.function(kelvin)`` takes what ``@muntin.function(...)`` has made; ``session.function("kelvin", code,
        returns="DOUBLE", arguments=["DOUBLE"])`` makes it here (see ``muntin.function``). The code is sent to the
        workers by value where it is defined in the main module or a notebook, else its module must be there.
        ``replace``: take the place of one of this name; queries that call it are bound anew.

        Raises ConfigError for a name that is taken, by the language too, and for one that a run under way calls.
        """
        if isinstance(name, ScalarFunction):
            found = name
        elif returns is None or code is None:
            raise ConfigError(
                f'function {name!r}: give its code and what it returns, as in session.function({name!r}, code, '
                'returns="DOUBLE"), or one made with @muntin.function(returns=...)'
            )
        else:
            found = function(code, returns=returns, arguments=arguments, name=name, version=version, on_null=on_null)
        catalog = with_function(self.catalog, found, replace=replace)
        if self.catalog.scalar(found.name):
            self._not_running(found.name)
            self._bind_all(catalog)
        self.catalog = catalog

    def drop(self, name: str) -> None:
        """Take out the stream, table, view, function or query of this name; a run under way keeps its queries.

        Raises ConfigError where there is none or more than one, and for what a query, a view or a run under way reads.
        """
        there = [self.catalog.function(name), self.catalog.scalar(name), self._known(name), self.queries.get(name)]
        found = [x for x in there if x is not None]
        if not found:
            raise ConfigError(f"there is no stream, table, view, aggregate, function or query {name!r}")
        if len(found) > 1:
            raise ConfigError(
                f"{name!r} is the name of more than one thing here: a query goes with session.queries[{name!r}].drop()"
            )
        match found[0]:
            case Query() as query:
                query.drop()
            case AggregateFunction(own):
                self._not_running(own)
                self._bind_all(self.catalog.without_function(name))
                self.functions.pop(own)
            case ScalarFunction(own):
                self._not_running(own)
                self._bind_all(self.catalog.without_function(name))
            case _:
                self._bind_all(self._without(name))
                self._forget(name)

    def _known(self, name: str) -> Stream | Table | View | None:
        return self.catalog.stream(name) or self.catalog.table(name) or self.catalog.view(name)

    def _free(self, name: str, replace: bool = False) -> None:
        if not replace and self._known(name):
            raise ConfigError(
                f"there is a stream, table or view {name!r} already (names do not tell cases apart): give another "
                "name, replace=True, or drop() it first"
            )

    def _order(self, name: str) -> int:
        """The position of registration of a stream: that of the one that it replaces, or the next."""
        before = self.catalog.stream(name)
        return max((s.order for s in self.catalog.streams), default=-1) + 1 if before is None else before.order

    def _register(self, new: Stream | Table, df: DataFrame, row: Column | None) -> None:
        old = self._known(new.name)
        if old is not None:
            base = self.catalog if type(old) is type(new) else self._without(new.name)
            self._not_running(old.name)
            self._bind_all(base.having(new))
            self._forget(new.name)
        else:
            self.catalog = self.catalog.having(new)
        self.frames[new.name] = df
        if row is not None:
            self.rows[new.name] = row

    def _without(self, name: str) -> Catalog:
        """The catalog without a name. Raises ConfigError where a run under way reads it."""
        old = self._known(name)
        if old is not None:
            self._not_running(old.name)
        return self.catalog.without(name)

    def _not_running(self, name: str) -> None:
        """Raises ConfigError where a run under way reads the stream, table or function: it takes up more queries."""
        self.runs = [r for r in self.runs if r.active]
        for run in self.runs:
            graph = run.spec.graph
            called = {c.code.name for c in user_calls(graph.vertices) if c.code is not None}
            if name in {s.name for s in (*run.job.streams, *graph.streams)} | {*graph.functions} | called:
                raise ConfigError(f"{name!r} is read by a run that is under way: stop() the run first")

    def _bind_all(self, catalog: Catalog) -> None:
        """Go over to another catalog. Raises ConfigError, and changes nothing, where a view or query would not fit."""
        for view in catalog.views:
            with _standing(f"view {view.name!r}", f"session.drop({view.name!r})"):
                bind(view.text, catalog)
        bound = {}
        for name, query in self.queries.items():
            with _standing(f"query {name!r}", f"session.queries[{name!r}].drop()"):
                bound[name] = bind(query.bound.text, catalog, query.bound.options)
        self.catalog = catalog
        for name, anew in bound.items():
            self.queries[name].take(anew)

    def _forget(self, name: str) -> None:
        """Let go of the DataFrame of a stream or table that is no more, or another."""
        for known in (self.frames, self.rows):
            for key in [k for k in known if k.lower() == name.lower()]:
                del known[key]
