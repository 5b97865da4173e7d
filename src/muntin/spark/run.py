"""All registered queries as one streaming query: one scan of each source, every sink written per batch."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from pyspark.errors import StreamingQueryException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from muntin.core.errors import ConfigError, InternalError, StoreError
from muntin.core.version import VERSION
from muntin.cql.durations import format_duration, parse_duration
from muntin.dataflow.codec import decode
from muntin.dataflow.durable import Asked, DurablePlan, OnChange, Since, TakenUp, newest_before, take_up
from muntin.dataflow.graph import QueryPlan
from muntin.dataflow.measured import measured
from muntin.optimizer.statistics import Statistics
from muntin.plan.catalog import Stream
from muntin.spark import files, wire
from muntin.spark.cells import COLLECT_EVERY, DriverStore, fingerprint
from muntin.spark.checkpoint import Checkpoint, check, read_checkpoint, write_record
from muntin.spark.control import send_heartbeat, sources_are_named
from muntin.spark.durable_file import read_plans, write_plans
from muntin.spark.failures import unwrapped
from muntin.spark.fill import Added, add_cells
from muntin.spark.inspect import kept_by
from muntin.spark.late_output import late_frame, unpacker, with_late
from muntin.spark.live_frame import is_whole
from muntin.spark.metrics import Metrics, RunMetrics, add_up, combine, report_to_log
from muntin.spark.outlets import discard, publish
from muntin.spark.pipeline import all_streaming, build, plan_pipeline, with_store
from muntin.spark.sinks import Sink, paths_apart, share_out
from muntin.spark.snapshots import snapshot_of
from muntin.spark.spec import PipelineSpec, Resumed
from muntin.spark.state_key import with_key
from muntin.spark.tables import write_tables
from muntin.spark.types import struct_of
from muntin.state.shard_state import ShardState
from muntin.state.snapshots import Snapshot

log = logging.getLogger("muntin")

_INTERVAL = re.compile(r"\d+\s*[a-zA-Z]+")


class FilledCells(Protocol):
    """What a filler gives: see ``local.history.Filled``."""

    @property
    def taken(self) -> TakenUp: ...

    @property
    def cells(self) -> Mapping[str, ShardState]: ...

    @property
    def watermarks(self) -> Mapping[str, int]: ...


Open = Callable[[Collection[str]], Snapshot | None]
Fill = Callable[[TakenUp, Mapping[str, Asked], DurablePlan | None, Open, int], FilledCells]


@dataclass(frozen=True)
class Job:
    """What a session hands over to be run: registered streams (static tables apart) with their DataFrames, queries and
    sinks by name."""

    spark: SparkSession
    frames: Mapping[str, DataFrame]
    streams: Sequence[Stream]
    asked: Mapping[str, Asked]
    sinks: Mapping[str, Sink]
    late: Sink | None
    shards: int
    partitions: int
    on_change: OnChange = "refuse"
    rows: Mapping[str, Column] = field(default_factory=dict)
    """By stream a row as it came (``late_output.source_row``)."""
    tau: int | None = None
    """Bound on the age of a result, microseconds: how long a row may wait for it."""
    fill: Fill | None = None
    """Fills the windows of new queries from what the checkpoint keeps (None: they begin empty)."""
    queries: Mapping[str, QueryPlan] = field(default_factory=dict)
    """The plans that run, once the checkpoint has been read."""


def start(job: Job, checkpoint: str, trigger: str | None = None) -> Run:
    """Start the pipeline, or continue it from its checkpoint.

    Raises ConfigError or StoreError when the checkpoint, the streams or the trigger do not fit.
    """
    if not job.streams or not all_streaming(job.frames, job.streams):
        raise ConfigError("session.start() runs streaming DataFrames; for batch DataFrames take query.to_df()")
    interval = trigger_of(trigger)
    check_tau(trigger, job.tau)
    paths_apart(job.sinks)
    found = read_checkpoint(checkpoint)
    check(found, job.streams, job.shards, sources_are_named(job.spark))
    stored = read_plans(found.path) if found.query_id else []
    before = newest_before(stored, found.next_batch)
    if before is None and found.next_batch > 0:
        raise StoreError(f"checkpoint {found.path} has no durable plan; restore it, or start with a new checkpoint")
    store = DriverStore(found.store)
    store.check(found.query_id, found.next_batch, found.planned)
    known = _measured(found, before) if before and job.asked.keys() - before.queries.keys() else None
    taken = take_up(before, job.asked, found.next_batch, VERSION, job.on_change, *begun(found, store), known=known)
    filled = _filled(job, taken, before, found, stored)
    taken = taken if filled is None else filled.taken
    for name, note in taken.notes.items():
        log.warning("query %s: %s", name, note)
    job = replace(job, queries=with_key(taken.plans, found.path))
    spec, plans = plan_pipeline(job.streams, job.queries, job.shards, job.partitions)
    homes = {id: v.level for id, v in before.vertices.items()} if before else {}
    spec = replace(
        with_store(spec, found.store), plain=False,
        resumed=Resumed(found.next_batch, taken.since, homes),
    )  # fmt: skip
    if job.late is not None:
        spec = with_late(spec, job.frames, job.rows)
    write_tables(spec, job.frames)
    write_record(found, job.streams, job.shards)
    if filled is not None and filled.cells:
        _add(filled, spec, found)
    write_plans(found.path, stored, taken.durable)
    default = str(job.spark.sparkContext._jsc.hadoopConfiguration().get("fs.defaultFS", "file:///"))
    spec, by_spark = share_out(spec, job.sinks, job.queries, found.path, default)
    since = {name: taken.durable.filling(name) for name in job.queries}
    run = Run(job, spec, found, store, by_spark, since, taken.begun)
    letters = build(spec, plans, job.frames, rows=job.rows)
    writer = letters.writeStream.foreachBatch(run.on_batch).option("checkpointLocation", files.for_spark(checkpoint))
    run.query = (writer.trigger(**interval) if interval else writer).start()
    return run


def begun(found: Checkpoint, store: DriverStore) -> tuple[int, dict[str, int]]:
    """The time of day, and the watermarks that a run goes on from (see ``take_up``)."""
    version = found.next_batch - 1
    marks = {} if found.query_id is None or version < 0 else store.watermarks(found.query_id, version)
    return time.time_ns() // 1000, marks


def _measured(found: Checkpoint, before: DurablePlan) -> Statistics:
    """The statistics that the newest state of a checkpoint holds, for queries that are new."""
    kept, clocks = kept_by(found, before)
    return measured((decode(q.plan) for q in before.queries.values()), kept, clocks)


def _filled(
    job: Job, taken: TakenUp, before: DurablePlan | None, found: Checkpoint, stored: Sequence[DurablePlan]
) -> FilledCells | None:
    """New queries with the history that the checkpoint holds; None where there is none to take up."""
    if job.fill is None or before is None:
        return None
    return job.fill(taken, job.asked, before, lambda ids: snapshot_of(found, stored, ids), job.shards)


def _add(filled: FilledCells, spec: PipelineSpec, found: Checkpoint) -> None:
    levels = {id: v.level for id, v in filled.taken.durable.vertices.items()}
    added = Added(filled.cells, levels, filled.taken.since, filled.watermarks)
    assert found.query_id is not None
    add_cells(found.store, found.query_id, found.next_batch - 1, added, fingerprint(spec))


def trigger_of(text: str | None) -> dict[str, Any]:
    """Arguments for Spark's ``trigger``: none (as fast as possible), ``available_now``, or as ``10 seconds``."""
    if text is None:
        return {}
    if text.lower().replace(" ", "_") in ("available_now", "availablenow"):
        return {"availableNow": True}
    if _INTERVAL.fullmatch(text.strip()):
        return {"processingTime": text.strip()}
    raise ConfigError(f'trigger {text!r} is not known; use "available_now", an interval as "10 seconds", or none')


def check_tau(trigger: str | None, tau: int | None) -> None:
    """Raises ConfigError for a trigger whose interval is longer than ``tau`` (Golab & Ozsu 2003, 3: results are
    recomputed at least every tau)."""
    interval = trigger_of(trigger).get("processingTime")
    if interval is None or tau is None:
        return
    try:
        span = parse_duration(interval)
    except ValueError as e:
        raise ConfigError(f"trigger {trigger!r}: {e}") from None
    if span > tau:
        raise ConfigError(
            f"trigger {trigger!r} is longer than tau, {format_duration(tau).lower()}: rows would wait longer than a "
            "result may be old; shorten the trigger, leave it out (as fast as possible), or allow a longer tau"
        )


class CutOff(Exception):
    """Ends a batch that was interrupted. Spark tells that from a failure by the text, which it searches with a pattern
    that recurs at every character: the texts that Py4J makes of an interruption overflow the JVM's stack."""

    def __str__(self) -> str:
        return "py4j.protocol.Py4JJavaError: An error occurred while calling it off: java.lang.InterruptedException"


@dataclass
class Run:
    """A running pipeline. ``query`` is Spark's own handle."""

    job: Job
    spec: PipelineSpec
    checkpoint: Checkpoint
    store: DriverStore
    by_spark: Mapping[str, Sink]
    since: Mapping[str, Since]
    begun: Mapping[str, int] = field(default_factory=dict)
    """By query the batch from which on its results are those of all that it has read."""
    query: StreamingQuery = field(init=False)
    _metrics: RunMetrics | None = None
    _stopping: threading.Event = field(default_factory=threading.Event)
    _held: threading.Event = field(default_factory=threading.Event)
    _failure: BaseException | None = None

    @property
    def first_batch(self) -> int:
        """The first batch of this run."""
        return 0 if self.spec.resumed is None else self.spec.resumed.batch

    def on_batch(self, letters: DataFrame, batch_id: int) -> None:
        """Write one micro-batch to every sink; Spark commits the batch when this returns."""
        try:
            if self._stopping.is_set():
                self._hold(letters.sparkSession)
            self._batch(letters, batch_id)
        except BaseException as e:  # Spark would hand on its text alone, without class and traceback
            if self._interrupted():
                raise CutOff from None
            self._failure = e
            raise

    def _interrupted(self) -> bool:
        """Whether a batch that fails does so because its query was told to end."""
        query = getattr(self, "query", None)  # unset while the first batch overtakes what started it
        try:
            return self._held.is_set() or (query is not None and not query.isActive)
        except Exception:  # the JVM is gone
            return False

    def _batch(self, letters: DataFrame, batch_id: int) -> None:
        outlets = [o for mine in self.spec.outlets for o in mine]
        for outlet in outlets:
            discard(outlet, batch_id)
        if self.by_spark or self.job.late is not None:
            self._write(letters.persist(), batch_id)
        else:
            _run_whole(letters)
        if not is_whole(self.spec, self.query_id, batch_id):
            raise InternalError(f"batch {batch_id} ended, but not every task left its state; it is not committed")
        for outlet in outlets:
            publish(outlet, batch_id)
        self._after(batch_id)

    def _write(self, letters: DataFrame, batch_id: int) -> None:
        """Hand the batch to the sinks that Spark writes."""
        try:
            if any(s.foreach_batch is not None for s in (*self.by_spark.values(), self.job.late) if s is not None):
                _run_whole(letters)  # a function may look at some of its rows only
            for name, sink in self.by_spark.items():
                sink.write(self._results(letters, name), batch_id)
            if self.job.late is not None:
                self.job.late.write(late_frame(letters, self.spec), batch_id)
        finally:
            letters.unpersist()

    def _results(self, letters: DataFrame, name: str) -> DataFrame:
        number = self.spec.signatures.index(self.job.queries[name].signature)
        query = self.spec.queries[number]
        mine = letters.where(f"kind = {wire.RESULT} AND target = {number}")
        return mine.mapInArrow(unpacker(query.result_schema.to_arrow()), struct_of(query.spark_schema()))

    def _after(self, batch_id: int) -> None:
        found = combine(batch_id, self.store.reports(self.query_id, self.spec.levels, batch_id))
        names = {n: q.signature for n, q in self.job.queries.items()}
        self._metrics = add_up(self._metrics, batch_id, found, names, self.job.tau, self.since)
        report_to_log(self._metrics)
        if batch_id % COLLECT_EVERY == 0:
            self.store.collect(self.query_id, self.spec.levels, self.spec.retain)

    def metrics(self, name: str | None = None) -> Any:
        """``Metrics`` of one query in the last batch, or ``RunMetrics`` of the run; None before the first batch."""
        if self._metrics is None or name is None:
            return self._metrics
        return self._metrics.queries.get(name, Metrics(self._metrics.batch, since=self.since.get(name)))

    @property
    def query_id(self) -> str:
        """Spark's id of the streaming query, which survives restarts."""
        if self.checkpoint.query_id is None:
            self.checkpoint = read_checkpoint(self.checkpoint.path)
        assert self.checkpoint.query_id is not None
        return self.checkpoint.query_id

    @property
    def active(self) -> bool:
        return bool(self.query.isActive)

    @property
    def exception(self) -> BaseException | None:
        """What ended the run: Muntin's own error, what a sink's function raised, or Spark's exception; None while it
        runs and after a clean end."""
        found = self.query.exception()
        return self._cause_of(found) if found is not None else None

    def _cause_of(self, end: BaseException) -> BaseException:
        return unwrapped(end if self._failure is None else self._failure)

    def stop(self, timeout: float = 600.0) -> None:
        """Let the current batch finish, commit and end; a batch that takes longer than ``timeout`` seconds is cut off.

        (It is then repeated by the next run, as after a crash.)
        """
        self._stopping.set()
        deadline = time.monotonic() + timeout
        while self.active and self.query.status["isTriggerActive"] and time.monotonic() < deadline:
            if self._held.wait(0.02):
                break
        self.query.stop()

    def _hold(self, spark: SparkSession) -> None:
        """Hold a batch that must not run any more until ``StreamingQuery.stop`` interrupts its thread."""
        self._held.set()
        for _ in range(300):
            spark.sparkContext._jvm.java.lang.Thread.sleep(100)  # type: ignore[union-attr]
        raise RuntimeError("the run was asked to stop")

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait until the run ends, at most ``timeout`` seconds; whether it has ended. Raises what ended it."""
        try:
            ended = self.query.awaitTermination(timeout)  # type: ignore[arg-type]
        except StreamingQueryException as e:
            failed = self._cause_of(e)
        else:
            return True if timeout is None else bool(ended)
        raise failed  # outside of the handler, so that it keeps its own cause and traceback

    def process_all_available(self) -> None:
        """Wait until everything that the sources have now is processed. For tests and notebooks."""
        try:
            self.query.processAllAvailable()
        except StreamingQueryException as e:
            failed = self._cause_of(e)
        else:
            return
        raise failed

    def heartbeat(self, ts: int, *streams: str) -> None:
        """Declare event time before ``ts`` (microseconds) complete, on the named streams or on all of them."""
        known = [s.name for s in self.spec.streams]
        unknown = [n for n in streams if n not in known]
        if unknown:
            raise ConfigError(f"no stream {unknown[0]!r} in this run; it has {', '.join(known)}")
        send_heartbeat(self.checkpoint.store, dict.fromkeys(streams or known, ts))


def _run_whole(letters: DataFrame) -> None:
    """Run every task of the batch: each has state to commit, whether anybody wants its letters or not."""
    letters.write.format("noop").mode("overwrite").save()
