"""What a run of the registered queries is made of: plans, the checkpoint made ready for them, and what changes it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from pyspark.sql import Column, DataFrame, SparkSession

from muntin.core.errors import ConfigError, StoreError
from muntin.core.version import VERSION
from muntin.dataflow.durable import Asked, DurablePlan, OnChange, Since, TakenUp, newest_before, take_up
from muntin.dataflow.graph import QueryPlan
from muntin.dataflow.joining_in import never_exact
from muntin.dataflow.measured import kept_of, measured
from muntin.dataflow.sharing.periods import EARLY, with_periods
from muntin.dataflow.sharing.rules import shared_graph
from muntin.engine.clocks import CLOCKS
from muntin.optimizer.statistics import Statistics
from muntin.plan.catalog import Stream
from muntin.spark.cells import DriverStore, fingerprint
from muntin.spark.checkpoint import Checkpoint, check, read_checkpoint, write_record
from muntin.spark.control import sources_are_named
from muntin.spark.durable_file import read_plans, write_plans
from muntin.spark.feeds import StreamPlan
from muntin.spark.fill import Added, add_cells
from muntin.spark.late_output import with_late
from muntin.spark.pipeline import all_streaming, plan_pipeline, with_store
from muntin.spark.sinks import Sink, paths_apart, share_out
from muntin.spark.snapshots import snapshot_of
from muntin.spark.spec import PipelineSpec, Resumed
from muntin.spark.state_key import with_key
from muntin.spark.tables import write_tables
from muntin.state.pane_partials import layouts_of
from muntin.state.shard_state import ShardState
from muntin.state.snapshots import Snapshot

log = logging.getLogger("muntin")


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
    budget: float | None = None
    """Seconds that a batch may take: queries that there is no time for wait (None: nobody does)."""
    scheduling: str = "late_pending"
    """With whom those run that a budget leaves time for (``scheduling.deadlines.SCHEDULING``), and who chooses the
    periods of flexible queries (``dataflow.sharing.periods``)."""
    schedule: str | None = None
    """Policy by which shared joins are done slice by slice (None: whole)."""
    fill: Fill | None = None
    """Fills the windows of new queries from what the checkpoint keeps (None: they begin empty)."""
    queries: Mapping[str, QueryPlan] = field(default_factory=dict)
    """The plans that run, once the checkpoint has been read."""
    every: float = 0.0
    """Seconds between triggers (0: as fast as possible)."""

    @property
    def sheds(self) -> bool:
        """Whether some query allows that input is left out under overload."""
        return any(a.bound.options.shed != "never" for a in self.asked.values())


@dataclass(frozen=True)
class Prepared:
    """All that a streaming query is made of, its checkpoint ready for it. ``job`` with the plans that run."""

    job: Job
    spec: PipelineSpec
    plans: Sequence[StreamPlan]
    checkpoint: Checkpoint
    store: DriverStore
    by_spark: Mapping[str, Sink]
    taken: TakenUp

    @property
    def since(self) -> Mapping[str, Since]:
        """By query since when its youngest state fills."""
        return {name: self.taken.durable.filling(name) for name in self.job.queries}


def prepare(job: Job, checkpoint: str) -> Prepared:
    """Read a checkpoint and write into it what a run of the job needs; the run before must have ended.

    Raises ConfigError or StoreError when the checkpoint or the streams do not fit.
    """
    if not job.streams or not all_streaming(job.frames, job.streams):
        raise ConfigError("session.start() runs streaming DataFrames; for batch DataFrames take query.to_df()")
    paths_apart(job.sinks)
    found = read_checkpoint(checkpoint)
    check(found, job.streams, job.shards, sources_are_named(job.spark))
    stored = read_plans(found.path) if found.query_id else []
    before = newest_before(stored, found.next_batch)
    if before is None and found.next_batch > 0:
        raise StoreError(f"checkpoint {found.path} has no durable plan; restore it, or start with a new checkpoint")
    store = DriverStore(found.store)
    store.check(found.query_id, found.next_batch, found.planned)
    if before is not None:
        _check_nobody_waits(job, before, store.waiting(found.query_id, found.next_batch - 1))
    known = _measured(found, before, stored) if before and job.asked.keys() - before.queries.keys() else None
    taken = take_up(
        before, job.asked, found.next_batch, VERSION, job.on_change, *begun(found, store), known=known,
        schedule=job.schedule,
    )  # fmt: skip
    filled = _filled(job, taken, before, found, stored)
    taken = taken if filled is None else filled.taken
    for name, note in taken.notes.items():
        log.warning("query %s: %s", name, note)
    for name, plan in taken.plans.items():
        _check_exact(name, plan, taken.since, found.next_batch)
    job = replace(job, queries=with_key(_periods(job, taken, found, stored), found.path))
    spec, plans = _planned(job, found, before, taken)
    write_tables(spec, job.frames)
    write_record(found, job.streams, job.shards)
    if filled is not None and filled.cells:
        _add(filled, spec, found)
    write_plans(found.path, stored, taken.durable)
    default = str(job.spark.sparkContext._jsc.hadoopConfiguration().get("fs.defaultFS", "file:///"))
    spec, by_spark = share_out(spec, job.sinks, job.queries, found.path, default)
    return Prepared(job, spec, plans, found, store, by_spark, taken)


def _periods(
    job: Job, taken: TakenUp, found: Checkpoint, stored: Sequence[DurablePlan]
) -> Mapping[str, QueryPlan]:
    """The plans with the periods of flexible queries, as far as the panes that the checkpoint holds tell them."""
    if job.scheduling not in EARLY:
        return taken.plans
    if not any(p.options.periods == "flexible" for p in taken.plans.values()):
        log.warning('scheduling=%r runs no query early: none has periods="flexible"', job.scheduling)
        return taken.plans
    plans = list(taken.plans.values())
    there = {note.vertex for note in shared_graph(plans).shared}
    held = snapshot_of(found, stored, there) if stored else None
    layouts = {} if held is None else {id: layouts_of(held.of(id).values()) for id in there}
    return dict(zip(taken.plans, with_periods(plans, job.scheduling, job.every or None, layouts), strict=True))


def _planned(
    job: Job, found: Checkpoint, before: DurablePlan | None, taken: TakenUp
) -> tuple[PipelineSpec, list[StreamPlan]]:
    """The pipeline of the plans taken up, over the checkpoint's store."""
    spec, plans = plan_pipeline(job.streams, job.queries, job.shards, job.partitions)
    homes = {id: v.level for id, v in before.vertices.items()} if before else {}
    spec = replace(
        with_store(spec, found.store), plain=False,
        resumed=Resumed(found.next_batch, taken.since, homes), budgeted=job.budget is not None,
        sheds=job.sheds,
    )  # fmt: skip
    return (spec if job.late is None else with_late(spec, job.frames, job.rows)), plans


def _check_nobody_waits(job: Job, before: DurablePlan, waiting: Collection[str]) -> None:
    """What waits has its rows and its answers still to come: a new query could share neither its state nor its past.

    Raises ConfigError for new queries where somebody waits.
    """
    if waiting and (job.on_change == "refill" or job.asked.keys() - before.queries.keys()):
        raise ConfigError(
            f"{len(waiting)} queries waited for their turn when the last run ended (Session(budget=...)), and what a "
            "new query would share with them is behind: start once with the queries of that run, whose first batch "
            "lets them catch up, and add the new one to it with run.add(query)"
        )


def begun(found: Checkpoint, store: DriverStore) -> tuple[int, dict[str, int], frozenset[str]]:
    """The time of day, the watermarks that a run goes on from and the streams that were sampled (see ``take_up``)."""
    version, now = found.next_batch - 1, time.time_ns() // 1000
    if found.query_id is None or version < 0:
        return now, {}, frozenset()
    return now, store.watermarks(found.query_id, version), store.sampled(found.query_id, version)


def _measured(found: Checkpoint, before: DurablePlan, stored: Sequence[DurablePlan]) -> Statistics | None:
    """The statistics that the newest state of a checkpoint holds, for queries that are new; None where it has none."""
    held = snapshot_of(found, stored, rows=False)
    if held is None:
        return None
    cells = {f"{vertex}/{shard}": state for vertex, shards in held.cells.items() for shard, state in shards.items()}
    return measured(before.readable(), kept_of(cells), held.of(CLOCKS)[0].heads.get("clocks", {}))


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


class StandingQuery(Protocol):
    """A query of a session, as ``Session.sql`` makes them."""

    name: str
    sink: Sink | None
    run: Any

    @property
    def frames(self) -> Mapping[str, DataFrame]: ...

    @property
    def asked(self) -> Asked: ...

    @property
    def physical(self) -> QueryPlan: ...


def with_query(job: Job, query: StandingQuery) -> Job:
    """The job with one more query. Raises ConfigError, or what planning raises, where it cannot run beside the others.
    """
    if query.frames is not job.frames:
        raise ConfigError(f"query {query.name!r} is of another session than the run: register it with that one's sql()")
    if query.name in job.asked:
        raise ConfigError(f"query {query.name!r} runs already; drop() it first or give the new one another name")
    if query.sink is None:
        raise ConfigError(f"query {query.name!r} has no sink: call query.write(...) before run.add(query)")
    there = {s.name for s in job.streams}
    new = (s for s in query.physical.streams if not s.static and s.name not in there)
    streams, sinks = (*job.streams, *new), {**job.sinks, query.name: query.sink}
    all_streaming(job.frames, streams)
    paths_apart(sinks)
    # A name that was dropped a moment ago, and before a batch, may ask another question now.
    return replace(job, streams=streams, asked={**job.asked, query.name: query.asked}, sinks=sinks, on_change="refill")


def without_query(job: Job, name: str) -> Job:
    """The job without a query; its streams stay, since Spark goes on with the same sources. Raises ConfigError."""
    if name not in job.asked:
        raise ConfigError(f"no query {name!r} in this run; it has {', '.join(job.asked)}")
    if len(job.asked) == 1:
        raise ConfigError(f"query {name!r} is the only one of this run: stop() the run instead")
    left = {n: q for n, q in job.asked.items() if n != name}
    return replace(job, asked=left, sinks={n: s for n, s in job.sinks.items() if n != name})


def _check_exact(name: str, plan: QueryPlan, since: Mapping[str, int], batch: int) -> None:
    """Raises ConfigError for a query that would never be exact beside those that ran before (``never_exact``)."""
    words = never_exact(plan, since, batch)
    if words is not None:
        raise ConfigError(
            f"query {name!r} shares operators with queries that run already, which would take back rows that its own "
            f"have never had ({words}): it would not become exact. Run it with a checkpoint of its own"
        )
