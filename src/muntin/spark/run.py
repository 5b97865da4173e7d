"""All registered queries as one streaming query: one scan of each source, every sink written per batch."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from muntin.console.watched import Seen, Standing
from muntin.core.errors import ConfigError, InternalError
from muntin.dataflow.explain import Form
from muntin.scheduling.deadlines import SCHEDULING
from muntin.spark import files, wire
from muntin.spark.cells import COLLECT_EVERY
from muntin.spark.checkpoint import check, read_checkpoint
from muntin.spark.checkpoint_files import written_by_the_jvm
from muntin.spark.control import send_heartbeat, sources_are_named
from muntin.spark.counts import by_vertex
from muntin.spark.due import Budget, by_priority
from muntin.spark.failures import unwrapped
from muntin.spark.finishing import declare
from muntin.spark.gate import CutOff, Gate
from muntin.spark.late_output import late_frame, unpacker
from muntin.spark.listing import QueryList, QueryRow, run_html, sharing
from muntin.spark.live_frame import is_whole
from muntin.spark.load import overload_of, traffic_of
from muntin.spark.metrics import Metrics, RunMetrics, add_up, combine, report_to_log
from muntin.spark.newest import newest_rows
from muntin.spark.outlets import discard, publish
from muntin.spark.overload import Overload, harvest_counts
from muntin.spark.pipeline import build
from muntin.spark.prepare import Job, Prepared, StandingQuery, prepare, with_query, without_query
from muntin.spark.readers import wait_for_readers
from muntin.spark.run_meter import meter_of
from muntin.spark.sight import describe, levels_text, observed, query_name
from muntin.spark.sinks import Sink
from muntin.spark.spec import PipelineSpec
from muntin.spark.triggers import check_tau, interval, seconds_between, trigger_of
from muntin.spark.turns import BatchTurns
from muntin.spark.types import struct_of

if TYPE_CHECKING:
    from muntin.console.server import Console

log = logging.getLogger("muntin")


def start(job: Job, checkpoint: str, trigger: str | None = None) -> Run:
    """Start the pipeline, or continue it from its checkpoint.

    Raises ConfigError or StoreError when the checkpoint, the streams or the trigger do not fit.
    """
    if "availableNow" in trigger_of(trigger) and job.budget is not None:
        raise ConfigError(
            "a run with a budget may end with queries that wait for their turn, so it cannot be one that ends by "
            "itself: leave out the budget, or the trigger"
        )
    check_tau(trigger, job.tau)
    interval(trigger, job)
    made = prepare(replace(job, every=seconds_between(trigger)), checkpoint)
    sharing = SCHEDULING.get(job.scheduling, "late_pending")
    budget = None if job.budget is None else Budget(job.budget, job.partitions, sharing)
    run = Run(made, trigger, budget)
    run.begin(made)
    return run


@dataclass(repr=False)
class Run:
    """A running pipeline. ``query`` is Spark's own handle, another one after each ``add`` and ``drop``."""

    made: Prepared
    trigger: str | None = None
    budget: Budget | None = None
    query: StreamingQuery = field(init=False)
    _begun: dict[str, int] = field(default_factory=dict)
    _entered: dict[str, int] = field(default_factory=dict)
    _query_id: str | None = None
    _metrics: RunMetrics | None = None
    _gone: dict[str, Metrics] = field(default_factory=dict)
    _late: dict[str, int] = field(default_factory=dict)
    _gate: Gate = field(default_factory=Gate)
    _changes: threading.RLock = field(default_factory=threading.RLock)
    _changing: bool = False
    _starting: bool = False
    _failure: BaseException | None = None
    _lost: BaseException | None = None
    _seen: list[Seen] = field(default_factory=list)
    _console: Console | None = None
    _overload: Overload | None = None
    _turns: BatchTurns = field(init=False)

    def __post_init__(self) -> None:
        self._turns = BatchTurns(self.made.checkpoint.path, seconds_between(self.trigger))

    @property
    def job(self) -> Job:
        """What runs."""
        return self.made.job

    @property
    def spec(self) -> PipelineSpec:
        """The pipeline as its workers have it."""
        return self.made.spec

    @property
    def by_spark(self) -> Mapping[str, Sink]:
        """The sinks that Spark writes, by query; the workers write the others."""
        return self.made.by_spark

    @property
    def begun(self) -> Mapping[str, int]:
        """By query the batch from which on its results are those of all that it has read (of dropped ones, too)."""
        return self._begun

    def first_of(self, name: str) -> int:
        """The first batch of a query in this run."""
        return self._entered.get(name, 0)

    def begin(self, made: Prepared) -> None:
        """Start Spark's query over what was prepared; the one before it has ended."""
        first = made.spec.resumed.batch
        fresh = dict.fromkeys(made.job.asked, first)
        self._entered |= fresh if made is self.made else dict.fromkeys(fresh.keys() - self.job.asked.keys(), first)
        self._begun |= made.taken.begun
        self.made = made
        self._overload = overload_of(made, interval(self.trigger, made.job))
        letters = observed(build(made.spec, made.plans, made.job.frames, rows=made.job.rows))
        writer = letters.writeStream.foreachBatch(self.on_batch)
        writer = writer.queryName(query_name(made.job.asked, made.checkpoint.path))
        writer = writer.option("checkpointLocation", files.for_spark(made.checkpoint.path))
        arguments = trigger_of(self.trigger)
        if self._gate.stopping.is_set():
            raise ConfigError("the run was stopped in the meantime: session.start(...) begins another")
        self._starting = True
        self._turns.open()
        try:
            with written_by_the_jvm(made.job.spark, made.checkpoint.path):
                self.query = (writer.trigger(**arguments) if arguments else writer).start()
        finally:
            self._starting = False

    def add(self, query: StandingQuery) -> None:
        """Take up a query while data flows, between two batches: nothing is lost or repeated.

        The streaming query ends and begins again from the checkpoint (less than a second). The new query has the
        history that others keep where that is exact (its rows are copied), else its windows grow from empty; log,
        ``metrics().since`` and ``muntin state`` say so. Waits for the batch under way; calls from several threads
        follow one another. What makes the new query's first *batch* fail ends the run as in any other batch.

        Raises ConfigError, StoreError, or what planning raises: the queries that ran go on then, without it.
        """
        with self._change():
            job = with_query(self.job, query)
            interval(self.trigger, job)
            if self._metrics is not None and self._metrics.shed and query.asked.bound.options.shed == "never":
                log.warning(
                    "query %s: rows were left out before it came, which it lacks where it shares windows with others, "
                    "until these have passed", query.name,
                )  # fmt: skip
            check(read_checkpoint(self.made.checkpoint.path), job.streams, job.shards, sources_are_named(job.spark))
            self._restart(job)
            self._gone.pop(query.name, None)
            query.run = self
            log.info("query %s: added from batch %d on", query.name, self.spec.resumed.batch)

    def _catch_up(self) -> None:
        """Wait until nobody waits for a turn: the next batch is for everybody, and so are all until the run goes on
        with other queries."""
        if self.budget is None:
            return
        self.budget.everybody = True
        if self.budget.held or self.budget.waits:
            send_heartbeat(self.made.checkpoint.store, {})
        while (self.budget.held or self.budget.waits) and self.query.isActive and not self._gate.stopping.is_set():
            time.sleep(0.02)

    def drop(self, name: str) -> None:
        """Let a query go while data flows: its sink gets nothing more once this returns, its state is collected.

        The others go on as after ``add``. State that another query uses stays. The session still knows the query, so it
        can be added again, with what the others keep by then. Raises ConfigError for a name that does not run, and for
        the only query.
        """
        with self._change():
            self._restart(without_query(self.job, name))
            self._late.pop(name, None)
            log.info("query %s: dropped before batch %d", name, self.spec.resumed.batch)

    def queries(self) -> QueryList:
        """The queries that run now, one row each (``listing.QueryRow``); ``print`` shows a table."""
        made = self.made
        partners = sharing(made.spec.graph, made.spec.called)
        answered = {} if self._metrics is None else self._metrics.answered
        rows = []
        for name, asked in made.job.asked.items():
            m = self.metrics(name) or Metrics(0)
            rows.append(
                QueryRow(
                    name, asked.bound.text, made.since[name], m.lag, m.watermark, self._late.get(name, 0), m.state_rows,
                    m.lateness, m.waited, answered.get(name, 1.0), partners[name],
                )
            )  # fmt: skip
        return QueryList(rows)

    def __repr__(self) -> str:
        done = 0 if self._metrics is None else self._metrics.batches
        state = "active" if self.active else "ended"
        return f"Run({state}, {done} batches, queries: {', '.join(self.job.asked)})"

    def _repr_html_(self) -> str:
        link = "" if self._console is None or self._console.closed else self._console._repr_html_()
        return run_html(self.active, self.exception, self._metrics, self.queries()) + link

    @contextmanager
    def _change(self) -> Iterator[None]:
        """One change at a time, of a run that goes on."""
        if self._gate.thread == threading.get_ident():
            raise ConfigError("add() and drop() wait for the batch under way: call them outside of a sink's function")
        with self._changes:
            if self._gate.stopping.is_set() or not self.query.isActive:
                raise ConfigError("the run has ended: session.start(...) begins another, with the queries of that time")
            self._changing = True
            try:
                yield
            finally:
                self._changing = False

    def _restart(self, job: Job) -> None:
        """Go on with another job from the checkpoint; with the present one where that fails."""
        before = self.job
        try:
            self._catch_up()
            self._pause()
            made = prepare(job, self.made.checkpoint.path)
            self.begin(made)
        except BaseException as e:
            self._resume(before, e)
            raise
        finally:
            if self.budget is not None:
                self.budget.everybody = False

    def _pause(self) -> None:
        """End the streaming query between two batches."""
        self._gate.pausing.set()
        self._gate.drain(self.query, self._gate.stopping.is_set)
        if self._gate.stopping.is_set():
            raise ConfigError("the run was stopped in the meantime: session.start(...) begins another")
        self.query.stop()
        failed = self.exception
        if failed is not None:
            raise ConfigError(f"the run failed in the meantime ({failed}): session.start(...) begins another")
        self._gate.reopen()

    def _resume(self, job: Job, error: BaseException) -> None:
        """After a change that failed: whatever it had come to, the job that ran goes on, unless the run has ended."""
        self._gate.pausing.clear()  # a batch that is held goes on
        if self._gate.stopping.is_set() or self.query.isActive or self.exception is not None:
            return
        self._gate.reopen()
        try:
            self.begin(prepare(job, self.made.checkpoint.path))
        except Exception as e:
            self._lost = unwrapped(e)
            error.add_note(f"The queries that ran could not be started again either, the run has ended: {e}")

    def on_batch(self, letters: DataFrame, batch_id: int) -> None:
        """Write one micro-batch to every sink; Spark commits the batch when this returns."""
        self._gate.thread = threading.get_ident()
        try:
            self._gate.enter(letters.sparkSession)
            with self._turns.batch(batch_id):
                self._batch(letters, batch_id)
        except BaseException as e:  # Spark would hand on its text alone, without class and traceback
            if self._interrupted():
                raise CutOff from None
            self._failure = e
            raise
        finally:
            self._gate.thread = None

    def _interrupted(self) -> bool:
        """Whether a batch that fails does so because its query was told to end."""
        # The first batch of a query may overtake what starts it.
        query = None if self._starting else getattr(self, "query", None)
        try:
            return self._gate.held.is_set() or (query is not None and not query.isActive)
        except Exception:  # the JVM is gone
            return False

    def _batch(self, letters: DataFrame, batch_id: int) -> None:
        began = time.monotonic()
        if self.budget is not None:
            self.budget.decide(self.spec, batch_id)
        if self._overload is not None:
            self._overload.decide(batch_id)
        outlets = [o for _, mine in by_priority(self.spec, enumerate(self.spec.outlets)) for o in mine]
        for outlet in outlets:
            discard(outlet, batch_id)
        if self.by_spark or self.job.late is not None:
            self._write(letters.persist(), batch_id)
        else:
            describe(letters, batch_id, levels_text(self.spec.graph))
            _run_whole(letters)
        if not is_whole(self.spec, self.query_id, batch_id):
            raise InternalError(f"batch {batch_id} ended, but not every task left its state; it is not committed")
        waited = wait_for_readers(self.made.checkpoint.path)
        for outlet in outlets:
            publish(outlet, batch_id)
        self._after(batch_id, began, waited)

    def _write(self, letters: DataFrame, batch_id: int) -> None:
        """Hand the batch to the sinks that Spark writes."""
        try:
            levels = f", {levels_text(self.spec.graph)}"  # the first job does all of it
            if any(s.foreach_batch is not None for s in (*self.by_spark.values(), self.job.late) if s is not None):
                describe(letters, batch_id, levels[2:])
                _run_whole(letters)  # a function may look at some of its rows only
                levels = ""
            number = {n: i for i, names in enumerate(self.spec.called) for n in names}
            for _, name in by_priority(self.spec, ((number[n], n) for n in self.by_spark)):
                sink = self.by_spark[name]
                describe(letters, batch_id, f"{name} to {sink.told}{levels}")
                levels = ""
                sink.write(self._results(letters, name), batch_id)
            if self.job.late is not None:
                describe(letters, batch_id, f"late rows to {self.job.late.told}")
                self.job.late.write(late_frame(letters, self.spec), batch_id)
        finally:
            letters.unpersist()

    def _results(self, letters: DataFrame, name: str) -> DataFrame:
        number = self.spec.signatures.index(self.job.queries[name].signature)
        query = self.spec.queries[number]
        mine = letters.where(f"kind = {wire.RESULT} AND target = {number}")
        return mine.mapInArrow(unpacker(query.result_schema.to_arrow()), struct_of(query.spark_schema()))

    def _after(self, batch_id: int, began: float, waited: float) -> None:
        """What a batch tells that ``began`` then and ``waited`` for readers, which is no load."""
        made, store = self.made, self.made.store
        reports = list(store.reports(self.query_id, made.spec.levels, batch_id))
        found, vertices = combine(batch_id, reports), by_vertex(reports)
        ended = time.monotonic() - waited
        if self.budget is not None:
            took = {id: c.seconds for id, c in vertices.items()}
            self.budget.note(made.spec, took, reports, ended - began)
            found = self.budget.told(found)
            if self.budget.left:  # their turn comes whether more rows do or not
                send_heartbeat(made.checkpoint.store, {})
        names = {n: q.signature for n, q in made.job.queries.items()}
        if self._metrics is not None:
            self._gone |= {n: m for n, m in self._metrics.queries.items() if n not in names}
        shares, given = {}, {}
        if self._overload is not None:
            traffic, gave = traffic_of(made, found, vertices), harvest_counts(reports)
            self._overload.done(batch_id, began, ended, traffic, gave)
            shares = {s: self._overload.answer(s) for s in names.values()}
            given = {s: self._overload.given(s, found[s].results, found[s].rows) for s in names.values() if s in found}
        self._metrics = add_up(self._metrics, batch_id, found, names, made.job.tau, made.since, vertices, shares, given)
        for name, m in self._metrics.queries.items():
            self._late[name] = self._late.get(name, 0) + m.late
        report_to_log(self._metrics, made.job.queries)
        if batch_id % COLLECT_EVERY == 0:
            store.collect(self.query_id, made.spec.levels, made.spec.retain, batch_id)
        for seen in self._seen:
            seen()

    def metrics(self, name: str | None = None) -> Any:
        """``Metrics`` of one query in the last batch, or ``RunMetrics`` of the run; None before the first batch.

        Of a query that was dropped: in its last batch.
        """
        if self._metrics is None or name is None:
            return self._metrics
        found = self._metrics.queries.get(name) or self._gone.get(name)
        return found or Metrics(self._metrics.batch, since=self.made.since.get(name))

    def explain(self, form: Form = "text") -> str:
        """EXPLAIN ANALYZE of what runs: the graph of all queries with what each operator did since the run began, what
        was left out under overload, and the estimated share of each full answer. ``form``: text, json, dot or svg."""
        from muntin.dataflow.explain import explain_graph

        spec = self.spec
        measured = None if self._metrics is None else meter_of(spec.graph, spec.called, self._metrics)
        return explain_graph(form, spec.graph, [", ".join(names) for names in spec.called], measured=measured)

    @property
    def standing(self) -> Standing:
        """What runs, for the console."""
        made = self.made
        sinks = {n: s.told for n, s in made.job.sinks.items()}
        texts = {n: a.bound.text for n, a in made.job.asked.items()}
        return Standing(made.spec.graph, made.spec.called, sinks, made.taken.notes, texts)

    def newest(self, name: str, limit: int) -> pa.Table | None:
        """The newest rows of a query, at most ``limit``, in order of time: those of the ``memory`` sink and of Parquet
        files; None for other sinks."""
        return newest_rows(self.job.sinks[name], self.job.queries[name], limit)

    def ui(self, host: str = "127.0.0.1", port: int | None = None, token: str | None = None) -> Console:
        """Serve the console: a page with the operators at work, queries, streams, history and newest rows; ``/metrics``
        for Prometheus. It stays after the run has ended, until ``close()``; a second call gives the same one.

        ``host``: under another address than this machine's own, who knows the token can look. ``port``: 0 for any
        (None: 4680, or any). ``token``: None for a random one, "" for none. The history is kept in the checkpoint.
        Raises ConfigError where the packages of ``muntin[ui]`` are missing, and for an address that cannot be had.
        """
        if self._console is not None and not self._console.closed:
            return self._console
        try:
            from muntin.console.server import serve
            from muntin.console.service import Service
        except ModuleNotFoundError as e:
            raise ConfigError(f'the console needs {e.name}: pip install "muntin[ui]"') from None
        kept = files.join(self.made.checkpoint.path, "console.json")
        service = Service(self, lambda: files.read(kept), lambda raw: files.write_atomically(kept, raw))
        self._console = serve(service, host, port, token)
        self._seen = [service.seen]
        return self._console

    @property
    def query_id(self) -> str:
        """Spark's id of the streaming query, which survives restarts."""
        self._query_id = self._query_id or read_checkpoint(self.made.checkpoint.path).query_id
        assert self._query_id is not None
        return self._query_id

    @property
    def active(self) -> bool:
        """Whether it runs; between two streaming queries too."""
        return self._changing or bool(self.query.isActive)

    @property
    def exception(self) -> BaseException | None:
        """What ended the run: Muntin's own error, what a sink's function raised, or Spark's exception; None while it
        runs and after a clean end."""
        found = self.query.exception()
        return self._cause_of(found) if found is not None else self._lost

    def _cause_of(self, end: BaseException) -> BaseException:
        return unwrapped(end if self._failure is None else self._failure)

    def stop(self, timeout: float = 600.0) -> None:
        """Let the current batch finish, commit and end; a batch that takes longer than ``timeout`` seconds is cut off.

        (It is then repeated by the next run, as after a crash.) An ``add`` or ``drop`` under way in another thread
        gives up.
        """
        self._gate.stopping.set()
        with self._changes:
            self._gate.drain_until(self.query, timeout)
            self.query.stop()
            self._turns.close()

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait until the run ends, at most ``timeout`` seconds; whether it has ended. Raises what ended it."""
        deadline, left = math.inf if timeout is None else time.monotonic() + timeout, timeout
        while True:
            query = self.query
            try:
                ended = query.awaitTermination(left)  # type: ignore[arg-type]
            except StreamingQueryException as e:
                failed = self._cause_of(e)
                break
            if timeout is not None and not ended:
                return False
            if self._was_last(query, deadline):
                self._turns.close()
                if self._lost is None:
                    return True
                failed = self._lost
                break
            left = None if timeout is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return False
        self._turns.close()
        raise failed  # outside of the handler, so that it keeps its own cause and traceback

    def _was_last(self, query: StreamingQuery, deadline: float = math.inf) -> bool:
        """Whether no other follows a streaming query that has ended; False where that is not known in time."""
        left = -1 if deadline == math.inf else max(0.0, deadline - time.monotonic())
        if not self._changes.acquire(timeout=left):
            return False
        try:
            return self.query is query
        finally:
            self._changes.release()

    def process_all_available(self) -> None:
        """Wait until everything that the sources have now is processed. For tests and notebooks."""
        while True:
            query = self.query
            try:
                query.processAllAvailable()
            except StreamingQueryException as e:
                failed = self._cause_of(e)
                break
            if self._was_last(query):
                if self._lost is None:
                    return
                failed = self._lost
                break
        raise failed

    def heartbeat(self, ts: int, *streams: str) -> None:
        """Declare event time before ``ts`` (microseconds) complete, on the named streams or on all of them."""
        known = [s.name for s in self.spec.streams]
        unknown = [n for n in streams if n not in known]
        if unknown:
            raise ConfigError(f"no stream {unknown[0]!r} in this run; it has {', '.join(known)}")
        send_heartbeat(self.made.checkpoint.store, dict.fromkeys(streams or known, ts))

    def finish(self) -> int:
        """Declare the end of input: every instant that rows of the committed batches can still change is answered next.

        Returns the event time (microseconds) before which all is then complete: the last expiry of a finite window,
        and no later, where a replay ends too. Call it when all rows have been processed (``process_all_available``):
        what comes after it, older than that, is late. Raises ConfigError where no row has come.
        """
        return declare(self.made.checkpoint.path, None)


def _run_whole(letters: DataFrame) -> None:
    """Run every task of the batch: each has state to commit, whether anybody wants its letters or not."""
    letters.write.format("noop").mode("overwrite").save()
