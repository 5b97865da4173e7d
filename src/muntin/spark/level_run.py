"""Running one level of one shard: step, send on what comes out. Shared by live and replayed input."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from muntin.core.watermark import Header, lost
from muntin.cql.spark_sql import to_spark_sql
from muntin.dataflow.routes import Route, route
from muntin.engine.clocks import Times
from muntin.engine.level import LevelOutput
from muntin.engine.rows import result_rows, to_wire
from muntin.engine.substeps import whole_step
from muntin.operators.source import Source
from muntin.plan.exprs import Column
from muntin.spark import metrics, wire
from muntin.spark.slots import slots_of_shards
from muntin.spark.spec import PipelineSpec
from muntin.state.shard_state import ShardState

LATE_ROWS = pa.schema(
    [("query", pa.string()), ("stream", pa.string()), ("ts", pa.timestamp("us", "UTC")), ("row", pa.string())]
)
"""Columns of the late output; ``row``: the shipped columns as a JSON object."""


@dataclass
class LevelRun:
    """Level ``level`` of a pipeline on shard ``shard``; ``seq``: how many letters of rows it has sent so far."""

    spec: PipelineSpec
    level: int
    shard: int
    seq: int = 0
    vertices: list[int] = field(init=False)

    def __post_init__(self) -> None:
        graph = self.spec.graph
        self.vertices = [v for v in graph.at(self.level) if not (self.shard and graph.single[v])]

    @property
    def slot(self) -> int:
        return slots_of_shards(self.spec.shards, self.spec.partitions)[self.shard]

    @property
    def stateful(self) -> list[int]:
        """The vertices that have state here."""
        return [v for v in self.vertices if self.spec.graph.vertices[v].op.stateful]

    def step(
        self,
        states: Mapping[int, ShardState],
        came: Mapping[tuple[int, Route], pa.RecordBatch],
        times: Times,
    ) -> LevelOutput:
        """Run the level."""
        return whole_step(self.spec.graph, self.level, self.shard, states, came, times)

    def results(self, output: LevelOutput, times: Times) -> Iterator[tuple[int, pa.RecordBatch]]:
        """(query, its rows as the user sees them) for every root of the level that has any."""
        for number, (plan, root) in enumerate(zip(self.spec.queries, self.spec.graph.roots, strict=True)):
            if root in self.vertices and len(output.rows[root]):
                yield number, result_rows(plan, output.rows[root], times.end_of(number))

    def letters(self, output: LevelOutput) -> Iterator[wire.Letter]:
        """The rows that later levels want."""
        slots = slots_of_shards(self.spec.shards, self.spec.partitions)
        for number, channel in enumerate(self.spec.graph.channels):
            if channel.vertex not in self.vertices or not len(output.rows[channel.vertex]):
                continue
            sent = to_wire(self.spec.graph.vertices[channel.vertex], output.rows[channel.vertex])
            for shard, part in route(sent, channel.route, self.spec.shards, self.shard):
                for piece in wire.cut(part):
                    lowest = pc.min(piece.column("__ts")).as_py()
                    yield wire.Letter(
                        slots[shard], wire.ROWS, wire.encode(piece), level=channel.level, target=number, shard=shard,
                        part=self.shard, seq=self.seq, min_ts=lowest,
                    )  # fmt: skip
                    self.seq += 1

    def forward(self, times: Times, now: int) -> Iterator[wire.Letter]:
        """The same times for the same shard of the next level."""
        if self.level + 1 < self.spec.levels:
            blob = wire.times_blob(times, now)
            yield wire.Letter(
                self.slot, wire.TIMES, blob, level=self.level + 1, shard=self.shard, min_ts=-(2**63)
            )

    def late_letters(self, output: LevelOutput) -> Iterator[wire.Letter]:
        """Late rows for the late output, if the pipeline has one."""
        for source, rows in output.late if self.spec.late else ():
            op = self.spec.graph.vertices[source].op
            for query in sorted(self.spec.graph.used_by[source]):
                assert isinstance(op, Source)
                blob = wire.encode(late_rows(self.spec.names[query], op, rows))
                yield wire.Letter(self.slot, wire.LATE, blob, target=query, shard=self.shard)


def count(into: dict[str, int], spec: PipelineSpec, query: int, output: LevelOutput, results: int) -> None:
    """Add to a query's report what one step gave and dropped."""
    used = spec.graph.used_by
    late = sum(rows.num_rows for source, rows in output.late if query in used[source])
    metrics.add_to(into, {"late": late, "results": results})
    for vertex, table, bad in output.bad_updates:
        if query in used[vertex]:
            metrics.count_bad_updates(into, vertex, table, bad)


def count_arrivals(
    into: dict[str, int], spec: PipelineSpec, query: int, headers: Sequence[Header], before: int
) -> None:
    """Add to a query's report what its streams brought, and which of them brought nothing that could be used;
    ``before``: the instants before it are answered."""
    read = spec.streams_of(query)
    own = [h for h in headers if h.source in read]
    metrics.add_to(into, arrivals(own))
    for source, (bad, late) in lost(own, before).items():
        metrics.count_lost(into, spec.streams[source].name, bad, late)


def arrivals(headers: Sequence[Header]) -> dict[str, int]:
    """What sources brought in a batch."""
    return {"rows": sum(h.rows for h in headers), "bad": sum(h.bad for h in headers)}


def headers_of(spec: PipelineSpec, headers: Sequence[Header]) -> list[Header]:
    """The headers of the streams that the graph reads, numbered as it numbers them."""
    at = spec.positions
    return [Header(**{**h.__dict__, "source": at[h.source]}) for h in headers if h.source in at]


def late_rows(query: str, source: Source, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Rows in the schema of the late output, under the names of the stream's columns."""
    names = [e.name if isinstance(e, Column) else to_spark_sql(e) for _, e in source.columns]
    kept = rows.select([n for n, _ in source.columns])
    texts = [json.dumps(dict(zip(names, r.values(), strict=True)), default=str) for r in kept.to_pylist()]
    if not names:
        texts = ["{}"] * rows.num_rows
    n, ts = rows.num_rows, rows.column("__ts").cast(pa.timestamp("us", "UTC"))
    columns = [pa.array([query] * n), pa.array([source.stream.name] * n), ts, pa.array(texts, pa.string())]
    return pa.RecordBatch.from_arrays(columns, schema=LATE_ROWS)
