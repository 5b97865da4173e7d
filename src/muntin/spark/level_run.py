"""Running one level of one shard: step, send on what comes out. Shared by live and replayed input."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from muntin.core.watermark import Header, lost
from muntin.dataflow.graph import Graph
from muntin.dataflow.routes import Route, route
from muntin.engine.clocks import Times
from muntin.engine.level import LevelOutput
from muntin.engine.meter import Meter
from muntin.engine.rows import results_of, to_wire
from muntin.engine.substeps import substeps
from muntin.engine.valve import Valve
from muntin.spark import metrics, wire
from muntin.spark.slots import slots_of_shards
from muntin.spark.spec import PipelineSpec
from muntin.state.shard_state import ShardState


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

    def steps(
        self,
        states: Mapping[int, ShardState],
        came: Mapping[tuple[int, Route], pa.RecordBatch],
        times: Times,
        meter: Meter | None = None,
        valve: Valve | None = None,
    ) -> Iterator[LevelOutput]:
        """Run the level: its output in the order of time, in as many parts as have room one by one."""
        here = self.level, self.shard, self.spec.shards
        yield from substeps(self.spec.graph, *here, states, came, times, meter, valve=valve)

    def results(self, output: LevelOutput, times: Times) -> Iterator[tuple[int, pa.RecordBatch]]:
        """(query, its rows as the user sees them) for every root of the level that has any."""
        rows = {v: output.rows[v] for v in self.vertices if len(output.rows[v])}
        yield from results_of(self.spec.graph, rows, times)

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


def rows_by_query(graph: Graph, states: Mapping[int, ShardState]) -> list[int]:
    """For each query how many rows the vertices (by number) hold that it uses. Cost: who uses the vertices that hold
    any."""
    found = [0] * len(graph.plans)
    for vertex, state in states.items():
        rows = state.rows()
        for query in graph.used_by[vertex] if rows else ():
            found[query] += rows
    return found


def count(into: dict[str, int], spec: PipelineSpec, query: int, output: LevelOutput, results: int) -> None:
    """Add to a query's report what one step gave, and what it did not take in."""
    used = spec.graph.used_by
    shed = sum(rows for reader, rows in output.shed if query in used[reader])
    metrics.add_to(into, {"results": results, **({"shed": shed} if shed else {})})
    for vertex, table, bad in output.bad_updates:
        if query in spec.graph.used_by[vertex]:
            metrics.count_bad_updates(into, vertex, table, bad)


def count_arrivals(
    into: dict[str, int], spec: PipelineSpec, query: int, headers: Sequence[Header], before: int
) -> None:
    """Add to a query's report what its streams brought, and which of them brought nothing that could be used;
    ``before``: the instants before it are answered."""
    read = spec.streams_of(query)
    own = [h for h in headers if h.source in read]
    late = sum(h.late_by_query[query] for h in own if h.late_by_query)
    metrics.add_to(into, arrivals(own) | {"late": late})
    for source, (bad, late) in lost(own, before).items():
        metrics.count_lost(into, spec.streams[source].name, bad, late)


def arrivals(headers: Sequence[Header]) -> dict[str, int]:
    """What sources brought in a batch, each row once."""
    return {name: sum(getattr(h, name) for h in headers) for name in ("rows", "late", "bad")}


def headers_of(spec: PipelineSpec, headers: Sequence[Header]) -> list[Header]:
    """The headers of the streams that the graph reads, numbered as it numbers them."""
    at = spec.positions
    return [Header(**{**h.__dict__, "source": at[h.source]}) for h in headers if h.source in at]
