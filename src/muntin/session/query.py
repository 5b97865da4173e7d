"""A registered query: its plan, its sink, its rows and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from typing import Literal as OneOf

import pyarrow as pa

from muntin.core.errors import ConfigError
from muntin.core.schema import Schema
from muntin.core.shown import Shown
from muntin.dataflow.builder import Places
from muntin.dataflow.durable import Asked, OnChange, check_on_change
from muntin.dataflow.explain import Form
from muntin.dataflow.graph import QueryPlan
from muntin.dataflow.planner import optimized, plan_as_written
from muntin.engine.answer import ordered, present_answer
from muntin.engine.meter import Meter
from muntin.engine.stretching import why_not
from muntin.optimizer.statistics import Statistics
from muntin.plan.aggregates import Evaluate
from muntin.plan.nodes import Aggregate, Apply, BoundQuery, walk
from muntin.session.answers import first_in_order
from muntin.session.html import display, query_html
from muntin.spark.archive import archive_writer
from muntin.spark.embedded import DataFrame
from muntin.spark.formats import check_sink
from muntin.spark.metrics import Metrics
from muntin.spark.run import Run
from muntin.spark.sinks import ForeachBatch, Sink, check_message
from muntin.spark.standalone import result_frame, stored_metrics
from muntin.spark.tally import Tally

if TYPE_CHECKING:
    from muntin.session.session import Session


class Query:
    """A registered query. ``session.sql`` makes them."""

    def __init__(self, session: Session, name: str, bound: BoundQuery) -> None:
        self.session = session
        self.name = name
        self.bound = bound
        self.sink: Sink | None = None
        self.run: Run | None = None
        self.tally: Tally | None = None
        self._physical: QueryPlan | None = None
        self._best: BoundQuery | None = None

    @property
    def physical(self) -> QueryPlan:
        """The planned query. Raises UnsupportedError for what this version cannot run."""
        if self._physical is None:
            self._physical = self.plan(Places())
        return self._physical

    def take(self, bound: BoundQuery) -> None:
        """Ask the same text of other streams and tables; a run under way goes on as it was."""
        self.bound, self._physical, self._best = bound, None, None

    @property
    def frames(self) -> Mapping[str, DataFrame]:
        """The DataFrames of its session, by the name of the stream or table."""
        return self.session.frames

    @property
    def asked(self) -> Asked:
        """The query as a runtime takes it up."""
        return Asked(self.bound, self.plan)

    def plan(self, places: Places, known: Statistics | None = None) -> QueryPlan:
        """The planned query where some vertices already have their places, and statistics are known."""
        plan = plan_as_written(self._optimized(known or Statistics()), places, known)
        if plan.options.periods == "flexible" and (reason := why_not(plan)) is not None:
            if self.session.periods == "flexible":
                return replace(plan, options=replace(plan.options, periods="exact"), functions=self._functions())
            raise ConfigError(f"query {self.name!r}: its period cannot be flexible, since {reason}; leave out periods")
        return replace(plan, functions=self._functions())

    def _optimized(self, known: Statistics) -> BoundQuery:
        """The query without what costs; remembered, since it is planned for itself and again beside others."""
        if known != Statistics():
            return optimized(self.bound, known)
        if self._best is None:
            self._best = optimized(self.bound)
        return self._best

    def _functions(self) -> tuple[tuple[str, Evaluate], ...]:
        """The user-defined aggregates that the query calls."""
        nodes = (n for n in walk(self.bound.root) if isinstance(n, Aggregate | Apply))
        called = {a.fn for n in nodes for _, a in n.aggs}
        return tuple((n, f) for n, f in self.session.functions.items() if f"udaf:{n}" in called)

    @property
    def schema(self) -> Schema:
        """Columns of the result."""
        return self.physical.result_schema

    def explain(self, form: Form = "text", analyze: bool = False) -> str:
        """Plans, update patterns, rules that fired, cost, graph; ``form``: text, json, dot or svg.

        ``analyze``: run the query over its inputs, which must be batch DataFrames and fit into this process, and add
        what every operator did. Raises ConfigError for streaming ones (``metrics`` counts those).
        """
        from muntin.dataflow.explain import explain_as

        return explain_as(form, self.bound, self.physical, measured=self._measured() if analyze else None)

    def _measured(self) -> Meter:
        from muntin.local.analyze import analyze

        frames = {s.name: self.session.frames[s.name] for s in self.physical.streams}
        live = [n for n, f in frames.items() if f.isStreaming]
        if live:
            raise ConfigError(
                f"EXPLAIN ANALYZE runs the query over what its inputs hold, and {live[0]} is streaming: register a "
                "batch DataFrame (spark.read), or see query.metrics() and run.explain() of a live one"
            )
        rows = {
            s.name: frames[s.name].select(*s.schema.names).toArrow().cast(s.schema.to_arrow())
            for s in self.physical.streams
        }
        return analyze(self.physical, rows)

    def to_df(self, on_change: OnChange = "refuse") -> DataFrame:
        """The answer as a DataFrame: streaming over streaming inputs, batch over batch inputs.

        A live query keeps its windows under ``Session(store=...)``, else under Spark's
        ``spark.sql.streaming.checkpointLocation``, and goes on with them under changed hints and aliases, as under
        ``Session.start``.

        Args:
            on_change: for a live query on the checkpoint of one that asked another question: ``"refuse"``
                (``writeStream.start`` raises ConfigError), or ``"refill"``: it goes on where that one's batches ended,
                with empty windows, and the windows of the other question are deleted.

        Raises ConfigError when no place is set, or when the inputs are of both kinds.
        """
        check_on_change(on_change)
        s = self.session
        df, self.tally = result_frame(
            s.spark, s.frames, self.asked, self.name, s.shards, s.partitions, s.store, on_change == "refill"
        )
        return df

    def write(
        self,
        format: str = "memory",
        path: str | None = None,
        *,
        mode: str = "append",
        options: Mapping[str, Any] | None = None,
        foreach_batch: ForeachBatch | None = None,
        encode: OneOf["json"] | None = None,
        key: str | None = None,
    ) -> Query:
        """Set the sink for ``session.start``.

        Spark format and path, ``"memory"`` (see ``rows``), ``"blackhole"`` (rows are counted and dropped), or a
        function of (df, batch id).

        parquet, json, csv and orc are exactly-once: each batch goes to ``<path>/batch=<id>``. Parquet with no option
        but ``compression``, on the checkpoint's file system, is written by the workers: that spares the way through
        the JVM. ``encode="json"`` makes messages of rows, as Kafka takes them: ``value`` is a JSON object of all
        columns, ``key`` the text of the column of that name.

        ``"archive"`` keeps results on disk until they expire, by search key (``session.archive``, ``muntin archive``),
        exactly once too. Options: ``key``; ``every``, the update interval; ``retain``, how long a result is kept, or
        ``span``, the longest lifetime, where the query has ``exp=True`` and each row lives until its ``exp`` (as
        reported: of equal rows that follow each other without a gap only the first is); ``layout``, ``order``,
        ``update`` (see ``archive.layout``). Workers write the files: the archive has to be where all of
        them see it.

        Raises ConfigError for a format that Spark does not find, for options and modes that the format does not have,
        and for results that it does not take.
        """
        if foreach_batch is None:
            check_sink(self.session.spark, format, mode, options or {}, f"query {self.name!r}")
            if format == "archive":
                foreach_batch = archive_writer(path, self.bound, self.physical, self.name, options or {})
        if encode is not None or key is not None or (foreach_batch is None and format.lower() == "kafka"):
            check_message(self.schema, format, options or {}, encode, key, f"query {self.name!r}")
        self.sink = Sink(format, path, mode, options or {}, foreach_batch, encode, key)
        return self

    def rows(self) -> pa.Table:
        """What the ``memory`` sink has received so far.

        Raises ConfigError when the query writes elsewhere or nowhere, or has not been started.
        """
        if self.sink is None:
            raise ConfigError(
                f"query {self.name!r} has no sink that keeps rows: call write() (that is the memory sink) and "
                "session.start(checkpoint) before rows(); for batch DataFrames take to_df().toArrow()"
            )
        if not self.sink.keeps_rows:
            raise ConfigError(
                f"query {self.name!r} writes to {self.sink.told}, rows() reads the memory sink alone: read them there, "
                "or call write() without arguments before session.start(checkpoint)"
            )
        if self.run is None:
            raise ConfigError(f"query {self.name!r} has not run: call session.start(checkpoint) before rows()")
        found = self.sink.rows()
        return found if found is not None else self.schema.to_arrow().empty_table()

    @property
    def _live(self) -> bool:
        return any(self.session.frames[s.name].isStreaming for s in self.physical.streams)

    def _answer(self, limit: int) -> pa.Table:
        """Rows in order of time, ties as ``first_in_order`` has them: over batch DataFrames the first ``limit`` and one
        more if there is one (all for 0), else all that the memory sink has."""
        if self._live:
            rows = self.rows()
            assert self.sink is not None
            return ordered(rows, self.physical) if self.sink.encode is None else rows  # messages have no time
        return first_in_order(self.to_df(), self.physical, limit)

    def to_pandas(self) -> Any:
        """The answer as a pandas DataFrame, in order of time: of batch DataFrames all of it, of a live query what the
        ``memory`` sink has received so far. Raises ConfigError as ``rows`` does."""
        return self._answer(0).to_pandas()

    def show(self, limit: int = 20) -> None:
        """Show rows of the answer, as a table in a notebook, else as text: of batch DataFrames the first ``limit``, of
        a live query the newest that the ``memory`` sink has received. Raises ConfigError as ``rows`` does."""
        if limit < 1:
            raise ConfigError(f"show(limit): at least one row, not {limit}")
        found = self._answer(limit)
        if len(found) <= limit:
            display(Shown(found))
        elif self._live:
            display(Shown(found.slice(len(found) - limit), f"the newest {limit} of {len(found)} rows"))
        else:
            display(Shown(found.slice(0, limit), f"the first {limit} rows; show(n) shows more"))

    def __repr__(self) -> str:
        return f"Query({self.name!r}: {' '.join(self.bound.text.split())})"

    def _repr_html_(self) -> str:
        return query_html(self)

    def current(self) -> pa.Table:
        """The answer as it stands: the rows that the changes in the ``memory`` sink have brought and not taken away.

        For a query that shows changes (a bare SELECT without SLIDE), in the columns of its SELECT list; equal rows as
        often as they are there. It is that of the instants that are complete (``metrics().watermark``). Cost: all
        changes so far, which the memory sink keeps; where they are too many, apply them batch by batch to a table of
        your own (``foreach_batch``).

        Raises ConfigError as ``rows`` does, for other forms of output, and where the sink lacks batches: of a query
        that went on from a checkpoint, only a session that was there from its first batch has all changes.
        """
        self.rows()  # raises where there are none
        assert self.run is not None and self.sink is not None
        begun = self.run.begun.get(self.name, 0)
        changes = self.sink.all_since(begun, self.run.first_of(self.name))
        if changes is None:
            raise ConfigError(
                f"query {self.name!r} answers since batch {begun}, and its memory sink has not all batches since then: "
                "the present answer cannot be told from them. Let the query write to files or a table and apply all of "
                "its changes, or start it with a new checkpoint"
            )
        whole = pa.concat_tables(changes) if changes else self.schema.to_arrow().empty_table()
        return present_answer(self.physical, whole)

    def start(self, checkpoint: str, trigger: str | None = None, on_change: OnChange = "refuse") -> Run:
        """Run this query alone; see ``Session.start``."""
        if self.sink is None:
            raise ConfigError(f"query {self.name!r} has no sink: call write(...) before start()")
        return self.session._start({self.name: self}, self.physical.streams, checkpoint, trigger, on_change)

    def metrics(self) -> Metrics | None:
        """Numbers of the newest complete batch, None before the first: from the run, else from the pane store.

        Of a replay (``to_df`` over batch DataFrames): of all that has been read of its newest DataFrame.
        """
        if self.tally is not None:
            return self.tally.metrics(self.physical.signature)
        if self.run is not None:
            found: Metrics | None = self.run.metrics(self.name)
            return found
        return stored_metrics(self.session.spark, self.asked, self.name, self.session.store)

    def drop(self) -> None:
        """Take the query out of the session; the next ``start`` runs without it and its state is collected.

        A run that is under way keeps it: ``run.drop(name)`` lets it go there.
        """
        self.session.queries.pop(self.name, None)
