"""Late rows as a packer finds them: by the clocks that the batch before left in the pane store.

So late rows go nowhere else, each is there once, and a packer that runs again finds the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from muntin.core.time import FOREVER, NEVER, Instants
from muntin.engine.clocks import CLOCKS, answered
from muntin.engine.late import LateRows, Mask, Places, Reader, late_rows, readers_of
from muntin.spark import wire
from muntin.spark.slots import slots_of_shards
from muntin.spark.spec import PipelineSpec
from muntin.state.pane_store import PaneStore

ROW = "row"
"""Column of a packer's input that holds a row as it came, where there is a late output."""


def late_schema(row: pa.DataType) -> pa.Schema:
    """A late row on its way out; ``row``: the type of the rows of its stream."""
    instant = pa.timestamp("us", "UTC")
    return pa.schema([("ts", instant), ("late_us", pa.int64()), ("queries", pa.string()), ("row", row)])


@dataclass
class LateSearch:
    """What is late among the rows of one partition of one stream. ``rows``: how many; ``by_query``: how many of each
    query."""

    spec: PipelineSpec
    stream: int
    partition: int
    rows: int = 0
    by_query: list[int] = field(default_factory=list)
    held: list[pa.RecordBatch] = field(default_factory=list)

    @cached_property
    def readers(self) -> tuple[Reader, ...]:
        """The windows on the stream."""
        return readers_of(self.spec.graph, self.spec.streams[self.stream].name)

    @cached_property
    def befores(self) -> tuple[int, ...]:
        """What the batch before has answered, by domain. Cost: a manifest of the pane store, once a task."""
        return answered_before(self.spec)

    def look(
        self,
        batch: pa.RecordBatch,
        ts: Instants,
        good: Mask,
        kept: Callable[[int, pa.RecordBatch], Mask],
        shipped: Callable[[int, pa.RecordBatch], pa.RecordBatch],
    ) -> None:
        """Count and hold what is late of a batch; ``kept``: which rows the filter of a source keeps; ``shipped``: what
        it ships."""
        if self.spec.store is None or not self.readers:
            return
        times = ts if good.all() else np.where(good, ts, FOREVER)

        def of_source(source: int, places: Places) -> Mask:
            return kept(source, batch.take(pa.array(places)))

        def columns(source: int, places: Places) -> pa.RecordBatch:
            return shipped(source, batch.take(pa.array(places)))

        found = late_rows(self.readers, self.befores, times, len(self.spec.queries), of_source, columns)
        if found is None:
            return
        self.rows += len(found.places)
        counts = found.lost.per_query()
        self.by_query = (counts + self.by_query if self.by_query else counts).tolist()
        row = next((f.row for f in self.spec.late if f.stream == self.stream), None)
        if row is not None:
            self.held.append(self._shown(batch, times, found, row))

    def _shown(self, batch: pa.RecordBatch, ts: Instants, found: LateRows, row: pa.DataType) -> pa.RecordBatch:
        places = pa.array(found.places)
        came = batch.column(ROW).take(places)
        instants = pa.array(ts[found.places]).cast(pa.timestamp("us", "UTC"))
        queries = pa.array([self._names(k) for k in found.lost.kinds], pa.string()).take(pa.array(found.lost.kind))
        columns = [instants, pa.array(found.by), queries, came if came.type == row else came.cast(row)]
        return pa.RecordBatch.from_arrays(columns, schema=late_schema(row))

    def _names(self, lost: Sequence[int]) -> str:
        """The names of queries, as a JSON array."""
        names = [name for q in lost for name in self.spec.called[q]]
        return json.dumps(sorted(names), ensure_ascii=False)

    def letters(self) -> Iterator[wire.Letter]:
        """The rows that are held, for the late output."""
        slots = slots_of_shards(self.spec.shards, self.spec.partitions)
        for seq, piece in enumerate(p for rows in self.held for p in wire.cut(rows)):
            slot = slots[self.partition % len(slots)]
            yield wire.Letter(
                slot, wire.LATE, wire.encode(piece), source=self.stream, part=self.partition, seq=seq, min_ts=NEVER
            )


def answered_before(spec: PipelineSpec) -> tuple[int, ...]:
    """By domain the instants that were answered before the running task's batch; NEVER in a pipeline's first."""
    context = TaskContext.get()
    batch = context.getLocalProperty("streaming.sql.batchId") if context else None
    query_id = context.getLocalProperty("sql.streaming.queryId") if context else None
    if spec.store is None or batch is None or query_id is None or int(batch) == 0:
        return (NEVER,) * len(spec.graph.domains)
    cell, slot = f"{CLOCKS}/0", slots_of_shards(spec.shards, spec.partitions)[0]
    states = PaneStore.open(spec.store, query_id, 0).load(int(batch) - 1, [cell], task=f"slot{slot}")
    return answered(spec.graph, states[cell])
