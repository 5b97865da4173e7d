"""One query as a DataFrame of its own."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from muntin.core.errors import ConfigError
from muntin.dataflow.graph import QueryPlan
from muntin.spark import files
from muntin.spark.cells import DriverStore
from muntin.spark.live_frame import LOCATION, LiveFrame
from muntin.spark.metrics import Metrics, combine
from muntin.spark.pipeline import all_streaming, build, plan_pipeline, with_store
from muntin.spark.state_key import with_key
from muntin.spark.tables import write_tables
from muntin.spark.tally import Tally


def result_frame(
    spark: SparkSession,
    frames: Mapping[str, DataFrame],
    query: QueryPlan,
    name: str,
    shards: int,
    partitions: int,
    store: str | None,
) -> tuple[DataFrame, Tally | None]:
    """The query's answer: live over streaming inputs (windows in the pane store), replayed over batch inputs, which
    count what they do in the tally."""
    streams, live = query.streams, all_streaming(frames, query.streams)
    if live:
        streams = tuple(s for s in streams if not s.static)
    queries: Mapping[str, QueryPlan] = {name: query}
    if live:
        where = store_of(spark, query, store)
        queries = with_key(queries, where)
    spec, plans = plan_pipeline(streams, queries, shards, partitions)
    if not live:
        tally = Tally(spark)
        return build(spec, plans, frames, tally), tally
    spec = with_store(spec, where)
    write_tables(spec, frames)
    return LiveFrame.of(build(spec, plans, frames), spec), None


def store_of(spark: SparkSession, query: QueryPlan, store: str | None) -> str:
    """Where the query keeps its windows. Raises ConfigError when nothing says so."""
    base = store
    if base is None:
        location = spark.conf.get(LOCATION, None)
        base = files.join(location, "muntin") if location else None
    if base is None:
        raise ConfigError(
            f"a live query keeps its windows on disk: give Session(spark, store=<directory or URI>), set {LOCATION}, "
            "or use session.start(checkpoint)"
        )
    return files.join(files.absolute(base), query.signature)


def stored_metrics(spark: SparkSession, query: QueryPlan, store: str | None) -> Metrics | None:
    """Metrics of the newest complete version that a ``to_df()`` query left in its store; None when there is none."""
    try:
        found = DriverStore(store_of(spark, query, store)).newest_reports()
    except ConfigError:
        return None
    return combine(found[0], found[1]).get(query.signature) if found else None
