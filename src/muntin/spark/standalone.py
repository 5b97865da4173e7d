"""One query as a DataFrame of its own.

Its windows and its durable plan are in a directory of the store. The plan is found again by what the query asks, so the
query goes on under other hints, aliases and planners; one that asks something else has another directory, and
``LiveWriter.start`` refuses the checkpoint that goes with the first, or lets it begin anew there.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession

from muntin.core.errors import ConfigError
from muntin.core.version import VERSION
from muntin.dataflow.builder import Places
from muntin.dataflow.durable import Asked, DurablePlan, DurableQuery, take_up
from muntin.dataflow.graph import QueryPlan
from muntin.optimizer.statistics import Statistics
from muntin.spark import files
from muntin.spark.cells import DriverStore
from muntin.spark.durable_file import read_plans, write_plans
from muntin.spark.live_frame import LOCATION, SIGNATURE, Live, LiveFrame
from muntin.spark.metrics import Metrics, combine
from muntin.spark.pipeline import all_streaming, build, plan_pipeline, with_store
from muntin.spark.state_key import with_key
from muntin.spark.tables import write_tables
from muntin.spark.tally import Tally


@dataclass(frozen=True)
class Settled:
    """The plan with which a live query runs, and the directory of its windows; ``durable``: what the store is to
    remember of it."""

    plan: QueryPlan
    where: str
    durable: DurablePlan


def result_frame(
    spark: SparkSession,
    frames: Mapping[str, DataFrame],
    asked: Asked,
    name: str,
    shards: int,
    partitions: int,
    store: str | None,
    refills: bool = False,
) -> tuple[DataFrame, Tally | None]:
    """The query's answer: live over streaming inputs (windows in the pane store), replayed over batch inputs, which
    count what they do in the tally. ``refills``: it may begin anew on the checkpoint of another question."""
    query = asked.plan(Places(), Statistics())
    live = all_streaming(frames, query.streams)
    if live and asked.bound.options.shed != "never":
        raise ConfigError(
            f"query {name!r} has shed={asked.bound.options.shed!r}: what a batch leaves out is decided by the run of "
            'session.start(...), which to_df() has none of; use query.write(...) with it, or shed="never"'
        )
    if not live:
        spec, plans = plan_pipeline(query.streams, {name: query}, shards, partitions)
        tally = Tally(spark)
        return build(spec, plans, frames, tally), tally
    found = settled_as(asked, name, base_of(spark, store))
    streams = tuple(s for s in found.plan.streams if not s.static)
    spec, plans = plan_pipeline(streams, with_key({name: found.plan}, found.where), shards, partitions)
    spec = with_store(spec, found.where)
    write_plans(found.where, [], found.durable)
    write_tables(spec, frames)
    return LiveFrame.of(build(spec, plans, frames), Live(spec, found.durable, refills)), None


def base_of(spark: SparkSession, store: str | None) -> str:
    """Where live queries keep their windows, each in a directory. Raises ConfigError when nothing says so."""
    base = store
    if base is None:
        location = spark.conf.get(LOCATION, None)
        base = files.join(location, "muntin") if location else None
    if base is None:
        raise ConfigError(
            f"a live query keeps its windows on disk: give Session(spark, store=<directory or URI>), set {LOCATION}, "
            "or use session.start(checkpoint)"
        )
    return files.absolute(base)


def settled_as(asked: Asked, name: str, base: str) -> Settled:
    """How a query goes on from what the store has of it, or begins. Cost: reads the plans of the store.

    Raises StoreError for a plan that is damaged, or newer.
    """
    own = files.join(base, asked.plan(Places(), Statistics()).signature)
    others = (files.join(base, n) for n in files.names(base) if SIGNATURE.fullmatch(n))
    for where in (own, *(d for d in others if d != own)):
        stored = _plan_of(where, asked.question)
        if stored is not None:
            before, query = stored
            taken = take_up(replace(before, queries={name: query}), {name: asked}, before.batch, VERSION)
            return Settled(taken.plans[name], where, taken.durable)
    taken = take_up(None, {name: asked}, 0, VERSION, at=time.time_ns() // 1000)
    return Settled(taken.plans[name], own, taken.durable)


def _plan_of(where: str, question: str) -> tuple[DurablePlan, DurableQuery] | None:
    """The plan in a directory, if it is one of this question."""
    for plan in read_plans(where)[-1:]:
        for query in plan.queries.values():
            if query.question == question:
                return plan, query
    return None


def stored_metrics(spark: SparkSession, asked: Asked, name: str, store: str | None) -> Metrics | None:
    """Metrics of the newest complete version that a ``to_df()`` query left in its store; None when there is none."""
    try:
        settled = settled_as(asked, name, base_of(spark, store))
    except ConfigError:
        return None
    found = DriverStore(settled.where).newest_reports()
    if found is None:
        return None
    metrics = combine(found[0], found[1]).get(settled.plan.signature)
    return None if metrics is None else replace(metrics, since=settled.durable.filling(name))
