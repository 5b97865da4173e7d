"""A session: queries over what a SparkSession has, and their runs."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace as changed
from typing import Any, Unpack, get_args
from typing import Literal as OneOf

from muntin.core.errors import ConfigError
from muntin.cql.binder import bind
from muntin.cql.options import Duration, Options, microseconds, query_options
from muntin.dataflow.builder import Places
from muntin.dataflow.durable import OnChange, check_on_change
from muntin.dataflow.explain import Form
from muntin.dataflow.planner import together
from muntin.dataflow.sharing.periods import EARLY, with_periods
from muntin.dataflow.sharing.rules import shared_graph
from muntin.local.history import fill
from muntin.local.one_time import Isolation, OneTimeAnswer
from muntin.plan.catalog import Stream
from muntin.plan.nodes import BoundQuery
from muntin.plan.windows import Periods, Shed
from muntin.scheduling.deadlines import SCHEDULING
from muntin.scheduling.policies import POLICIES
from muntin.session.engines import Engine
from muntin.session.html import session_html
from muntin.session.inherited import shed_by_session
from muntin.session.one_time import ask_checkpoint
from muntin.session.query import Query
from muntin.session.registry import Registry
from muntin.spark.archive import archive_frame
from muntin.spark.embedded import DataFrame, SparkSession, not_by_connect
from muntin.spark.formats import check_sink
from muntin.spark.prepare import Job
from muntin.spark.run import Run, start
from muntin.spark.sinks import ForeachBatch, Sink

log = logging.getLogger("muntin")


class Session(Registry):
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
        scheduling: where a ``budget`` does not suffice, with whom the query runs that has waited longest:
            ``"late_pending"`` (what None means) with all that it shares work with, ``"late"`` with those of them that
            wait, ``"conservative"`` with those that have waited as long, ``"edf"`` alone, as long as there is time.
            What costs nothing beside the rest runs in any case. ``"aggressive"`` and ``"hybrid"`` (with a budget also
            ``"late_pending"``) let flexible queries that read a synopsis together run before they are due, with those
            of a shorter SLIDE: all with the shortest, or those for which that costs less (``explain()`` says which). A
            query then shows its exact answer at the instants of the other. May change at a restart.
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
        scheduling: OneOf["edf", "conservative", "late", "late_pending", "aggressive", "hybrid"] | None = None,
        shed: Shed = "never",
    ) -> None:
        not_by_connect(spark, "this SparkSession")
        if not 1 <= shards <= 32_767:
            raise ConfigError(f"shards must be between 1 and 32767, not {shards}")
        if partitions is not None and partitions < 1:
            raise ConfigError(f"partitions must be at least 1, not {partitions}")
        super().__init__(spark)
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
        if scheduling is not None and scheduling not in (*SCHEDULING, *EARLY):
            raise ConfigError(f"scheduling is one of {', '.join((*SCHEDULING, *EARLY))}, not {scheduling!r}")
        if scheduling is not None and scheduling not in EARLY and budget is None:
            raise ConfigError(
                f'scheduling="{scheduling}" says who runs where a budget does not suffice for all: give a budget, too'
            )
        self.scheduling = scheduling or "late_pending"
        if schedule is not None and schedule not in POLICIES:
            raise ConfigError(f"schedule is one of {', '.join(POLICIES)}, or None, not {schedule!r}")
        self.schedule = schedule
        self.partitions = min(shards, partitions or spark.sparkContext.defaultParallelism)
        self.late_sink: Sink | None = None
        self.running: Run | None = None

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
        from muntin.dataflow.explain import FORMS, asked, explain_graph

        if text is None:
            if not self.queries:
                raise ConfigError("there is no query to explain: register some with sql(...), or give a text")
            places = Places()  # one for all: what they share is laid out once, as ``start`` does
            plans = [q.plan(places) for q in self.queries.values()]
            graph = shared_graph(with_periods(together(plans, places, self.schedule), self.scheduling))
            return explain_graph(form, graph, tuple(self.queries))
        if text in FORMS:
            raise ConfigError(f"{text!r} is a form, no query: session.explain(form={text!r}) shows the graph of all")
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
        theirs, over the same streams with windows in brackets, and queries, as tables. The session's scalar functions
        are known under ``"muntin"``.

        On the machine of the run it waits while a batch is under way, and while others ask; two seconds in all at most.

        Raises ConfigError where nothing runs or is held yet, and UnsupportedError where what is held does not give the
        answer exactly.
        """
        if checkpoint is None:
            if self.running is None:
                raise ConfigError("there is no run to ask: call start(), or name a checkpoint")
            checkpoint = self.running.made.checkpoint.path
        spark = self.spark if engine == "spark" else None
        functions = self.catalog.scalars
        return ask_checkpoint(
            checkpoint, text, isolation=isolation, engine=engine, spark=spark, functions=functions
        )

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
        check_on_change(on_change)
        for query in chosen.values():
            query.physical  # noqa: B018 -- plan them all before anything starts
        moving = tuple(s for s in streams if not s.static)
        job = Job(
            self.spark, self.frames, moving, {n: q.asked for n, q in chosen.items()},
            {n: q.sink for n, q in chosen.items() if q.sink}, self.late_sink, self.shards, self.partitions, on_change,
            self.rows, self.tau, self.budget, self.scheduling, self.schedule, fill,
        )  # fmt: skip
        run = start(job, checkpoint, trigger)
        self.runs = [*(r for r in self.runs if r.active), run]
        for query in chosen.values():
            query.run = run
        return run
