"""The deterministic runtime: a query's stages and shards in one process, for tests, experiments and small data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa

from muntin.core.batch import Batch, concat_rows
from muntin.core.time import NEVER
from muntin.core.watermark import Header
from muntin.dataflow.stage import DerivedInput, Input, PhysicalQuery, SourceInput
from muntin.engine.shard import TS, Progress, advance, result_rows, to_wire, wire_schema
from muntin.engine.source import arrive, ship
from muntin.engine.substeps import whole_step
from muntin.kernels.hashing import hash_columns, shard_of
from muntin.operators.joins.hot_keys import hot_head, parts
from muntin.operators.joins.window_join import WindowJoin
from muntin.state.shard_state import ShardState

Batches = Mapping[str, pa.Table]


class LocalPipeline:
    """One query, fed batch by batch. ``push`` returns the result rows that the batch completed.

    ``late`` and ``bad`` count dropped rows. ``states[stage][shard]`` is what the operators remember.
    """

    def __init__(self, query: PhysicalQuery, shards: int = 1) -> None:
        self.query, self.shards = query, shards
        self.states = [[ShardState() for _ in range(shards)] for _ in query.stages]
        self.late = self.bad = 0

    def push(self, batch: Batches, now: int = 0) -> pa.Table:
        """Rows by stream name; ``now``: processing time in microseconds (for ``idle_after``)."""
        return self._run(batch, now, NEVER, finish=False)

    def heartbeat(self, until: int, now: int = 0) -> pa.Table:
        """Every instant before ``until`` (event time, microseconds) is complete."""
        return self._run({}, now, until, finish=False)

    def finish(self) -> pa.Table:
        """End of input: every instant is complete."""
        return self._run({}, 0, NEVER, finish=True)

    def _run(self, batch: Batches, now: int, beat: int, finish: bool) -> pa.Table:
        headers: list[Header] = []
        shipped: dict[tuple[int, int], list[pa.RecordBatch]] = {}
        for number, stream in enumerate(self.query.streams):
            headers.append(Header(number, 0, 0, heartbeat=beat))
            if stream.name not in batch:
                continue
            arrived = arrive(stream, _one_batch(batch[stream.name]), number)
            headers.append(arrived.header)
            self.bad += arrived.header.bad
            for place, source in self._inputs():
                if isinstance(source, SourceInput) and source.stream.name == stream.name:
                    shipped[place] = self._by_shard(source, _by_time(ship(source, arrived)), place[0])
        return self._stages(headers, shipped, now, finish)

    def _stages(
        self, headers: list[Header], arrived: dict[tuple[int, int], list[pa.RecordBatch]], now: int, finish: bool
    ) -> pa.Table:
        progress = [advance(self.query, s, headers, now, finish) for s in self.states[0]]
        results: list[pa.RecordBatch] = []
        for number, stage in enumerate(self.query.stages):
            outputs = [
                self._step(number, shard, [arrived.get((number, i)) for i in range(len(stage.inputs))], progress[shard])
                for shard in range(self.shards)
            ]
            if number == len(self.query.stages) - 1:
                results = [result_rows(self.query, ports[0]) for ports in outputs]
            for place, source in self._inputs():
                if isinstance(source, DerivedInput) and source.stage == number:
                    parts = [self._by_shard(source, to_wire(ports[source.port], source)) for ports in outputs]
                    arrived[place] = [concat_rows(list(p)) for p in zip(*parts, strict=True)]
        table = pa.Table.from_batches(results)
        name = self.query.result_schema.fields[len(self.query.schema)].name
        times = table.column(name).cast(pa.int64()).to_numpy()
        ordered = (times[1:] >= times[:-1]).all()
        return table if ordered else table.take(np.argsort(times, kind="stable"))

    def _step(
        self, stage: int, shard: int, arrived: list[list[pa.RecordBatch] | None], progress: Progress
    ) -> tuple[Batch, ...]:
        rows = [None if a is None else a[shard] for a in arrived]
        output = whole_step(self.query, stage, self.states[stage][shard], rows, progress, shard)
        self.late += sum(r.num_rows for i, r in output.late if not _instants_only(self.query.stages[stage].inputs[i]))
        return output.ports

    def _hot(self, stage: int) -> list[int]:
        """Keys that the shards of a stage found to be hot in the step before."""
        ops = enumerate(self.query.stages[stage].ops)
        heads = [hot_head(f"op{k}") for k, op in ops if isinstance(op, WindowJoin) and op.split]
        return sorted({h for state in self.states[stage] for name in heads for h in state.heads.get(name, [])})

    def _inputs(self) -> Iterable[tuple[tuple[int, int], Input]]:
        for number, stage in enumerate(self.query.stages):
            for position, source in enumerate(stage.inputs):
                yield (number, position), source

    def _by_shard(self, source: Input, rows: pa.RecordBatch, stage: int = 0) -> list[pa.RecordBatch]:
        keys = [rows.column(k) for k in source.shard_key]
        if isinstance(source, SourceInput) and source.split:
            found = dict(parts(rows, keys, self.shards, self._hot(stage)))
            return [found.get(s, _none_of(source)) for s in range(self.shards)]
        if source.everywhere:
            return [rows] * self.shards
        if not keys:
            return [rows if s == 0 else rows.slice(0, 0) for s in range(self.shards)]
        shard = shard_of(hash_columns(keys, rows.num_rows), self.shards)
        return [rows.take(pa.array(np.flatnonzero(shard == s))) for s in range(self.shards)]


def _none_of(source: Input) -> pa.RecordBatch:
    schema = wire_schema(source)
    return pa.RecordBatch.from_arrays([pa.array([], f.type) for f in schema], schema=schema)


def run_local(
    query: PhysicalQuery,
    batches: Iterable[Batches],
    shards: int = 1,
    finish: bool = True,
    heartbeat: int | None = None,
) -> pa.Table:
    """All result rows of the batches; then of ``heartbeat`` (microseconds) if given, then of the end of input if
    ``finish``."""
    pipeline = LocalPipeline(query, shards)
    tables = [pipeline.push(b) for b in batches]
    if heartbeat is not None:
        tables.append(pipeline.heartbeat(heartbeat))
    if finish:
        tables.append(pipeline.finish())
    return pa.concat_tables(tables)


def _instants_only(source: Input) -> bool:
    return isinstance(source, SourceInput) and source.instants_only


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    whole = table.combine_chunks()
    if len(whole):
        return whole.to_batches()[0]
    return pa.RecordBatch.from_arrays([pa.array([], f.type) for f in whole.schema], schema=whole.schema)


def _by_time(rows: pa.RecordBatch) -> pa.RecordBatch:
    times = rows.column(TS).to_numpy()
    return rows.take(pa.array(np.argsort(times, kind="stable")))
