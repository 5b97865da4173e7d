"""A pipeline as a DataFrame: select, pack, exchange, one ``mapInArrow`` per level."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from muntin.core.errors import ConfigError
from muntin.dataflow.graph import Graph, QueryPlan
from muntin.dataflow.sharing.rules import shared_graph
from muntin.operators.joins.counted_join import CountedJoin
from muntin.operators.rows_window import RowsWindow
from muntin.operators.table_feed import TableFeed
from muntin.plan.catalog import Stream
from muntin.spark import files, wire
from muntin.spark.control import control_letters
from muntin.spark.feeds import StreamPlan, plan_feeds, select
from muntin.spark.level_task import level_task
from muntin.spark.pack import packer
from muntin.spark.replay_task import SORT_ORDER, replay_task
from muntin.spark.spec import PipelineSpec
from muntin.spark.starts import note_start
from muntin.spark.tally import Tally
from muntin.spark.types import struct_of
from muntin.spark.worker import settled


def plan_pipeline(
    streams: Sequence[Stream], queries: Mapping[str, QueryPlan], shards: int, partitions: int
) -> tuple[PipelineSpec, list[StreamPlan]]:
    """Queries (by name) over streams as one pipeline; queries with equal signatures are one root of the graph, of the
    greatest priority among them."""
    distinct: dict[str, tuple[str, QueryPlan]] = {}
    for name, query in queries.items():
        first, known = distinct.get(query.signature, (name, query))
        priority = max(known.options.priority, query.options.priority)
        distinct[query.signature] = first, replace(known, options=replace(known.options, priority=priority))
    graph = shared_graph([q for _, q in distinct.values()])
    plans = plan_feeds(streams, graph)
    spec = PipelineSpec(
        streams=tuple(streams),
        graph=graph,
        signatures=tuple(distinct),
        names=tuple(n for n, _ in distinct.values()),
        feeds=tuple(f for p in plans for f in p.feeds),
        shards=shards,
        partitions=partitions,
        computed=tuple(p.computed for p in plans),
        called=tuple(tuple(n for n, q in queries.items() if q.signature == signature) for signature in distinct),
    )
    return spec, plans


def with_store(spec: PipelineSpec, store: str) -> PipelineSpec:
    """The pipeline live, its windows and static tables under ``store``; a run of it begins now."""
    starts = note_start(store, time.time_ns() // 1000) if spec.timed else ()
    return replace(spec, store=store, tables=files.join(store, "tables"), starts=starts)


def all_streaming(frames: Mapping[str, DataFrame], streams: Sequence[Stream]) -> bool:
    """Whether the pipeline is live (static tables apart). Raises ConfigError when its streams are of both kinds."""
    moving = [s.name for s in streams if not s.static]
    live = [n for n in moving if frames[n].isStreaming]
    if live and len(live) < len(moving):
        replayed = [n for n in moving if n not in live]
        raise ConfigError(
            f"a query cannot mix streaming and batch DataFrames: {', '.join(live)} is streaming, "
            f"{', '.join(replayed)} is not; "
            "read all of them with spark.readStream (live) or all with spark.read (replay)"
        )
    return bool(live)


def packed(
    spec: PipelineSpec, plans: Sequence[StreamPlan], frames: Mapping[str, DataFrame], rows: Mapping[str, Column]
) -> DataFrame:
    """Letters of every source: one scan per stream, whatever the number of queries; ``rows``: see ``build``."""
    parts: list[DataFrame] = []
    for position, (stream, plan) in enumerate(zip(spec.streams, plans, strict=True)):
        row = rows[stream.name] if any(f.stream == position for f in spec.late) else None
        chosen = select(frames[stream.name], stream, plan, spec.timed, row)
        if not plan.feeds:
            chosen = chosen.where("false")  # keeps the source and its offsets in the plan without reading it
        if spec.store is None:
            chosen = _by_time(chosen, spec.graph)
        parts.append(chosen.mapInArrow(settled(packer(spec, position)), wire.LETTERS_DDL))
    if spec.store is not None:
        parts.append(control_letters(frames[spec.streams[0].name].sparkSession, spec))
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.union(part)
    return whole


def _by_time(rows: DataFrame, graph: Graph) -> DataFrame:
    """Each partition in order of event time; rows of one instant as they came, where a window of rows or a table cares.
    """
    if not any(isinstance(v.op, RowsWindow | CountedJoin | TableFeed) for v in graph.vertices):
        return rows.sortWithinPartitions("__ts")
    return rows.withColumn("__n", F.monotonically_increasing_id()).sortWithinPartitions("__ts", "__n")


def build(
    spec: PipelineSpec,
    plans: Sequence[StreamPlan],
    frames: Mapping[str, DataFrame],
    tally: Tally | None = None,
    rows: Mapping[str, Column] | None = None,
) -> DataFrame:
    """The whole pipeline: the one query's result columns (``spec.plain``), or letters holding results and late rows.

    ``tally``: where a replay reports. ``rows``: by stream a row as it came, for the streams of ``spec.late``.
    """
    letters = packed(spec, plans, frames, rows or {})
    for level in range(spec.levels):
        letters = letters.repartition(spec.partitions, F.col("slot"))
        schema = wire.LETTERS_DDL
        if spec.plain and level == spec.levels - 1:
            schema = struct_of(spec.queries[0].spark_schema())  # type: ignore[assignment]
        if spec.store is None:
            task = settled(replay_task(spec, level, tally=tally))
            letters = letters.sortWithinPartitions(*SORT_ORDER).mapInArrow(task, schema)
        else:
            letters = letters.mapInArrow(settled(level_task(spec, level)), schema)
    return letters
