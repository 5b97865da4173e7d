"""A session: streams, tables, views, aggregates and queries over one SparkSession."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace as changed
from typing import Any, Unpack, get_args
from typing import Literal as OneOf

import pyarrow as pa

from muntin.aggregates.registry import is_name
from muntin.core.errors import ConfigError, MuntinError
from muntin.cql.binder import bind
from muntin.cql.options import Duration, Options, microseconds, query_options
from muntin.cql.user_functions import Type, function, with_function
from muntin.dataflow.builder import Places
from muntin.dataflow.durable import OnChange
from muntin.dataflow.explain import Form
from muntin.dataflow.sharing.rules import shared_graph
from muntin.dataflow.sharing.window_joins import share_window_joins
from muntin.local.history import fill
from muntin.local.one_time import Isolation, OneTimeAnswer
from muntin.optimizer.statistics import Statistics
from muntin.plan.aggregates import Evaluate, UserAggregate, evaluator
from muntin.plan.catalog import AggregateFunction, Catalog, Stream, Table, View
from muntin.plan.nodes import BoundQuery
from muntin.plan.user_functions import OnNull, ScalarFunction, user_calls
from muntin.plan.windows import Periods, Shed
from muntin.scheduling.policies import POLICIES
from muntin.session.engines import Engine
from muntin.session.given import UNITS, check_choices, never_changes, spans
from muntin.session.html import session_html
from muntin.session.inherited import shed_by_session
from muntin.session.one_time import ask_checkpoint
from muntin.session.query import Query
from muntin.spark.archive import archive_frame
from muntin.spark.change_feeds import updates_of
from muntin.spark.embedded import Column, DataFrame, SparkSession, not_by_connect
from muntin.spark.formats import check_sink
from muntin.spark.late_output import source_row
from muntin.spark.prepare import Job
from muntin.spark.run import Run, start
from muntin.spark.sinks import ForeachBatch, Sink
from muntin.spark.tables import static_feed, update_feed
from muntin.spark.times import ready_event_time
from muntin.spark.types import arrow_type, check_names, schema_of

TableKind = OneOf["static", "nrr", "relation", "upsert"]
TableForm = OneOf["upsert", "debezium", "delta"]

@contextmanager
def _standing(what: str, way: str) -> Iterator[None]:
    """What binding says of a view or query after a change of what it may read."""
    try:
        yield
    except MuntinError as e:
        raise ConfigError(f"{what} would no longer stand ({e}): {way} first, or keep what it reads") from e


log = logging.getLogger("muntin")


class Session:
    """Streams, tables and queries over one SparkSession.

    Args:
        spark: the user's own session, or ``muntin.local_spark()``.
        shards: number of places that rows are spread over by key; fixed for the life of a checkpoint.
        store: directory or URI for the windows of queries taken as ``to_df()``; ``start`` keeps its own.
        partitions: Spark tasks that the shards share (default: the cores); may change at a restart.
        tau: bound on the age of a result, how long a row may wait for it: ``start`` refuses a trigger that is longer,
            and the run's metrics count the batches that lag further behind (``overdue``; a stream's slack is part of
            the lag). None: no bound. May change at a restart.
        periods: what ``sql`` takes for queries that say nothing else: with "flexible" those whose period can be (whole
            answers at multiples of SLIDE) report the newest of the instants that come with one batch of a live run.
        budget: how long a batch of a live run of several queries may take. Where its operators would take longer, by
            what they took before, queries wait: those that are least late, and of these the ones with the least
            ``priority``. A query that waits answers exactly what it would have answered, in a later batch: when there
            is time, and at the latest when it has waited longest. ``metrics().waited`` and ``lateness`` say how late it
            is. None: nobody waits. May change at a restart.
        schedule: policy by which a join that several queries share is done slice by slice, from one of their windows to
            the next: ``"swf"`` (the smallest window first), ``"greedy"`` (the shortest slice first) or ``"lwo"`` (the
            largest window, and with it all). Where a ``budget`` does not suffice for all, queries run in this order,
            and slices that only others need are done later. None: such joins are done whole. May change at a restart
            for joins that are done so.
        shed: what ``sql`` takes for queries that say nothing else: what they do under overload, as far as each can. One
            that cannot harvest drops rows; one of which rows may not be left out (``plan.windows.QueryOptions``) falls
            behind. Aggregates that are scaled then have columns for their errors.
    """

    def __init__(
        self,
        spark: SparkSession,
        shards: int = 32,
        store: str | None = None,
        partitions: int | None = None,
        tau: Duration | None = None,
        budget: Duration | None = None,
        periods: Periods = "exact",
        schedule: OneOf["lwo", "swf", "greedy"] | None = None,
        shed: Shed = "never",
    ) -> None:
        not_by_connect(spark, "this SparkSession")
        if not 1 <= shards <= 32_767:
            raise ConfigError(f"shards must be between 1 and 32767, not {shards}")
        if partitions is not None and partitions < 1:
            raise ConfigError(f"partitions must be at least 1, not {partitions}")
        self.spark = spark
        self.shards = shards
        self.store = store
        self.tau = None if tau is None else microseconds(tau, "tau")
        if self.tau is not None and self.tau <= 0:
            raise ConfigError(f"tau must be positive, not {tau}")
        if periods not in get_args(Periods):
            raise ConfigError(f'periods is "exact" or "flexible", not {periods!r}')
        self.periods = periods
        if shed not in get_args(Shed):
            raise ConfigError(f"shed is one of {', '.join(get_args(Shed))}, not {shed!r}")
        self.shed = shed
        self.budget = None if budget is None else microseconds(budget, "budget") / 1e6
        if self.budget is not None and self.budget <= 0:
            raise ConfigError(f"budget must be positive, not {budget}")
        if schedule is not None and schedule not in POLICIES:
            raise ConfigError(f"schedule is one of {', '.join(POLICIES)}, or None, not {schedule!r}")
        self.schedule = schedule
        self.partitions = min(shards, partitions or spark.sparkContext.defaultParallelism)
        self.catalog = Catalog()
        self.queries: dict[str, Query] = {}
        self.frames: dict[str, DataFrame] = {}
        self.rows: dict[str, Column] = {}
        self.functions: dict[str, Evaluate] = {}
        self.late_sink: Sink | None = None
        self.running: Run | None = None
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
        not_by_connect(df, f"stream {name!r}: its DataFrame")
        check_names(df, f"stream {name!r}")
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
        of a ``relation`` past and future rows of a stream see the change, of an ``nrr`` (non-retroactive relation) only
        later ones.

        Args:
            name: how queries call it.
            df: its rows; or its updates, whose columns but ``ts`` and ``op`` are the table's.
            kind: ``"static"``, ``"relation"`` or ``"nrr"``; ``"upsert"`` is a relation of which ``feed`` is that.
            ts: event-time column of the updates, as for ``stream``.
            op: column that says whether the row comes (+, I, insert, c, r) or an equal one goes (-, D, delete, d);
                where ``df`` has Debezium's columns ``before`` and ``after`` they hold the rows, and ``op`` may be u.
            slack: how far back in event time updates may come.
            idle_after: processing time without updates after which the table no longer holds time back; time in which
                the pipeline was down does not count.
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
        if kind not in get_args(TableKind):
            raise ConfigError(f'table {name!r}: kind is "static", "relation", "nrr" or "upsert", not {kind!r}')
        check_choices(f"table {name!r}", ts_unit, on_bad_time=on_bad_time, on_bad_update=on_bad_update)
        if kind == "static" and (ts is not None or op is not None or key or on_bad_update != "drop" or feed):
            raise ConfigError(never_changes(name))
        not_by_connect(df, f"table {name!r}: its DataFrame")
        check_names(df, f"table {name!r}")
        by = (key,) if isinstance(key, str) else tuple(key)
        form = "upsert" if kind == "upsert" and feed is None else feed
        came = updates_of(df, form, name, ts, op, ts_unit, by)
        unit = UNITS[came.ts_unit] if came.ts_unit else None
        changes = static_feed(df, name) if kind == "static" else update_feed(came.df, name, came.ts, came.op, unit)
        schema = schema_of(changes.schema, f"table {name!r}")
        given = spans(f"table {name!r}", slack=slack, idle_after=idle_after)
        table = Table(
            name, schema, "relation" if kind == "upsert" else kind, on_bad_time=on_bad_time, key=by,
            on_bad_update=on_bad_update, deletions_first=came.deletions_first, **given,
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

    def sql(self, text: str, name: str | None = None, replace: bool = False, **options: Unpack[Options]) -> Query:
        """Register a continuous query; ``replace``: in the place of one of this name (a run under way keeps that one).

        Options: ``bounds``, ``origin``, ``granule``, ``zone``, ``exp``, ``strategy``, ``skew``, ``memory``,
        ``periods``, ``shed``, ``quality``, ``priority`` (see ``plan.windows.QueryOptions``; durations as text or
        microseconds).
        Without ``zone`` literals, casts and functions are in the zone that the Spark session has now; it may change
        later. Raises QueryError with line and column when the text is wrong.
        """
        name = name or next(n for n in (f"query{i}" for i in range(1, 10**9)) if n not in self.queries)
        if name in self.queries and not replace:
            raise ConfigError(
                f"there is a query {name!r} already; drop() it first, give another name, or replace=True"
            )
        query = Query(self, name, self._bind(text, options))
        read = {scan.stream.name for scan in query.bound.scans}
        endless = any(frame.isStreaming for name, frame in self.frames.items() if name in read)
        for note in (n for n in query.bound.notes if endless or not n.endless):
            log.warning("query %s: %s", name, note.text)
        self.queries[name] = query
        return query

    def explain(self, text: str | None = None, form: Form = "text", **options: Unpack[Options]) -> str:
        """The plan of a query that is not registered; the text may start with EXPLAIN or EXPLAIN ANALYZE.

        EXPLAIN ANALYZE runs it: see ``Query.explain``. Without a text: the graph of all registered queries together,
        each operator with the queries that share it. Raises ConfigError where there are none.
        """
        from muntin.dataflow.explain import asked, explain_graph

        if text is None:
            if not self.queries:
                raise ConfigError("there is no query to explain: register some with sql(...), or give a text")
            places = Places()  # one for all: what they share is laid out once, as ``start`` does
            plans = [q.plan(places) for q in self.queries.values()]
            graph = shared_graph(share_window_joins(plans, places, Statistics(), schedule=self.schedule))
            return explain_graph(form, graph, tuple(self.queries))
        found = asked(text)
        return Query(self, "", self._bind(found.text, options)).explain(form, analyze=found.analyze)

    def __repr__(self) -> str:
        c = self.catalog
        names = [*(s.name for s in c.streams), *(t.name for t in c.tables), *(v.name for v in c.views)]
        return f"Session({', '.join(names) or 'nothing registered'}; queries: {', '.join(self.queries) or 'none'})"

    def _repr_html_(self) -> str:
        return session_html(self)

    def _bind(self, text: str, options: Mapping[str, Any]) -> BoundQuery:
        def make(given: Mapping[str, Any]) -> BoundQuery:
            found = query_options({"periods": self.periods, **given})
            if found.zone is None:
                found = changed(found, session_zone=self.spark.conf.get("spark.sql.session.timeZone"))
            return bind(text, self.catalog, found)

        return shed_by_session(make, options, self.shed)

    def write_late(
        self,
        format: str = "memory",
        path: str | None = None,
        *,
        mode: str = "append",
        options: Mapping[str, Any] | None = None,
        foreach_batch: ForeachBatch | None = None,
    ) -> Sink:
        """Where ``start`` puts late rows, each once: columns stream, ts, late_us, queries, row.

        ``late_us``: microseconds by which it came too late (that much more slack would have kept it). ``queries``: the
        names of the queries whose answers lack it, in one part at least, as a JSON array. ``row``: all columns that the
        stream's DataFrame has, as JSON: ``from_json(row, schema)`` gives the row to be fed again. Cost: every column of
        the streams is read and handed to the workers, also those that no query uses.
        """
        if foreach_batch is None:
            check_sink(self.spark, format, mode, options or {}, "late rows")
            if format.lower() in ("archive", "kafka"):  # they have neither an expiry nor a column value
                raise ConfigError(
                    f"late rows: {format} takes results of queries alone; write them to files or a table, or give "
                    "foreach_batch"
                )
        self.late_sink = Sink(format, path, mode, options or {}, foreach_batch)
        return self.late_sink

    def snapshot(
        self,
        text: str,
        checkpoint: str | None = None,
        isolation: Isolation = "window",
        engine: Engine = "muntin",
    ) -> OneTimeAnswer:
        """Ask the windows of a running pipeline once, while it goes on.

        The text is over windows of time at one instant (``[RANGE ...]`` no longer than those that run, ``[NOW]``, or
        none for all rows that are held), on streams whose rows a join of windows keeps, or a query that shows them.
        ``checkpoint``: another pipeline's (None: of this session's run). The answer has ``rows``, the instant that they
        are of (``at``), the ``batch`` whose state it is, and how old that is.

        ``isolation``: ``"window"``, the state after the last batch that was committed when it was asked; ``"latest"``,
        when it had been read, with what was committed meanwhile; ``"serial"``, no batch is committed until it answers:
        the run's next commit waits, for 10 seconds at most.

        ``engine``: whose SQL it is. ``"muntin"``: CQL; ``"duckdb"`` (``muntin[sql]``) and ``"spark"`` (this session):
        theirs, over the same streams with windows in brackets, and queries, as tables.

        Raises ConfigError where nothing runs or is held yet, and UnsupportedError where what is held does not give the
        answer exactly.
        """
        if checkpoint is None:
            if self.running is None:
                raise ConfigError("there is no run to ask: call start(), or name a checkpoint")
            checkpoint = self.running.made.checkpoint.path
        spark = self.spark if engine == "spark" else None
        return ask_checkpoint(checkpoint, text, isolation=isolation, engine=engine, spark=spark)

    def archive(self, path: str, **wanted: Any) -> DataFrame:
        """The live rows of an archive (sink ``"archive"``, ``muntin.archive``) as a batch DataFrame.

        ``wanted``: ``key``, or ``low`` and ``high``, both included; ``since``, ``until``, ``as_of``: instants as
        datetime, ISO text, or numbers. Only files that may have such rows are read. It is the version of this moment,
        whose files stay while later versions are few (``keep``). Raises StoreError for what is no archive.
        """
        return archive_frame(self.spark, path, wanted)

    def start(self, checkpoint: str, trigger: str | None = None, on_change: OnChange = "refuse") -> Run:
        """Run every query that has a sink as one streaming query, from where the checkpoint stands.

        A query goes on with its state under changed hints (``rate``, ``memory``, ``skew``, ``strategy``), aliases,
        output names, letter case, and beside other queries.

        Args:
            checkpoint: directory or URI; also holds the pane store. Queries may be added and dropped between runs, and
                in a run that goes on (``run.add(query)``, ``run.drop(name)``).
            trigger: ``"available_now"``, an interval as ``"10 seconds"`` (at most the session's ``tau``), or None for
                as fast as possible.
            on_change: for a query that asks another question under its old name (text, ``bounds``, ``zone``,
                ``origin``): ``"refuse"`` to start, or ``"refill"``: what is new in it begins with empty windows.

        Raises ConfigError or StoreError when the checkpoint does not fit the session.
        """
        chosen = {n: q for n, q in self.queries.items() if q.sink is not None}
        if not chosen:
            raise ConfigError("no query has a sink: call query.write(...) before session.start()")
        used = {s.name for q in chosen.values() for s in q.physical.streams}
        known = (*self.catalog.streams, *(t.feed for t in self.catalog.tables))
        streams = tuple(s for s in known if s.name in used or self.frames[s.name].isStreaming)
        self.running = self._start(chosen, streams, checkpoint, trigger, on_change)
        return self.running

    def _start(
        self,
        chosen: Mapping[str, Query],
        streams: tuple[Stream, ...],
        checkpoint: str,
        trigger: str | None,
        on_change: OnChange,
    ) -> Run:
        if on_change not in ("refuse", "refill"):
            raise ConfigError(f'on_change is "refuse" or "refill", not {on_change!r}')
        for query in chosen.values():
            query.physical  # noqa: B018 -- plan them all before anything starts
        moving = tuple(s for s in streams if not s.static)
        job = Job(
            self.spark, self.frames, moving, {n: q.asked for n, q in chosen.items()},
            {n: q.sink for n, q in chosen.items() if q.sink}, self.late_sink, self.shards, self.partitions, on_change,
            self.rows, self.tau, self.budget, self.schedule, fill,
        )  # fmt: skip
        run = start(job, checkpoint, trigger)
        self.runs = [*(r for r in self.runs if r.active), run]
        for query in chosen.values():
            query.run = run
        return run
