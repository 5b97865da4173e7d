"""The deterministic runtime: a graph's levels and shards in one process, for tests, experiments and small data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from itertools import product

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.allocation import keep_memory, release_excess
from muntin.core.batch import concat_rows
from muntin.core.time import NEVER
from muntin.core.watermark import Header, largest
from muntin.dataflow.graph import QueryPlan
from muntin.dataflow.routes import Route, Split, route
from muntin.dataflow.sharing.rules import shared_graph
from muntin.engine.clocks import CLOCKS, Times, advance, answered
from muntin.engine.deferral import settled
from muntin.engine.late import LateInput, late_rows, readers_of
from muntin.engine.level import LevelOutput, hot_keys
from muntin.engine.meter import Meter
from muntin.engine.rows import TS, form_of, results_of, to_wire
from muntin.engine.source import Arrived, arrive, ship
from muntin.engine.stretching import stretched
from muntin.engine.substeps import substeps, whole_step
from muntin.engine.valve import Valve
from muntin.kernels.hashing import buffer_values
from muntin.operators.compute import project
from muntin.operators.joins.harvest import Counts
from muntin.operators.source import Source
from muntin.plan.catalog import Stream
from muntin.scalars.evaluate import predicate_mask
from muntin.state.shard_state import ShardState

Batches = Mapping[str, pa.Table]

Inbox = list[dict[tuple[int, Route], list[pa.RecordBatch]]]
"""By shard: what came, by vertex and route, in the order of the senders."""


class LocalPipeline:
    """Queries over shared streams, fed batch by batch. ``push`` returns the result rows that the batch completed.

    ``late`` and ``bad`` count dropped rows, each once (``late_rows`` has the former as they came), ``shed`` rows not
    admitted (``engine.valve``), ``bad_updates`` by table deletions of rows that were not there.
    ``states[shard][vertex]`` is what a vertex with state remembers (by number in ``graph``), ``clocks[shard]`` how far
    time is; ``since``: processing time at which this run began; ``live``: whether queries whose period is flexible may
    lengthen it (a replay reports every instant); ``valve``: what batches admit from now on (None: as the
    streams were registered); ``harvested``: what parts of windows gave to joins that harvest them.
    """

    def __init__(self, queries: QueryPlan | Sequence[QueryPlan], shards: int = 1, meter: Meter | None = None) -> None:
        keep_memory()
        plans = (queries,) if isinstance(queries, QueryPlan) else tuple(queries)
        self.query, self.shards, self.meter = plans[0], shards, meter
        self.graph = shared_graph(plans)
        self.states = [{v: ShardState() for v in self.graph.stateful} for _ in range(shards)]
        self.clocks = [ShardState() for _ in range(shards)]
        self.bad = self.shed = 0
        self.late_rows: list[LateInput] = []
        self.since = NEVER
        self.live = False
        self.valve: Valve | None = None
        self.harvested: list[tuple[int, Counts]] = []
        self._bad_updates: Counter[tuple[str, int]] = Counter()

    def push(self, batch: Batches, now: int = 0) -> pa.Table:
        """Rows by stream name; ``now``: processing time in microseconds (for ``idle_after``). The first query's
        results; those of all: ``push_all``."""
        return self.push_all(batch, now)[0]

    def push_all(
        self, batch: Batches, now: int = 0, until: int = NEVER, deferred: Collection[int] = ()
    ) -> list[pa.Table]:
        """As ``push``, the results of every query; every instant before ``until`` is then complete. Those of
        ``deferred``, by number, wait if they can (``engine.deferral``), and answer in the next batch that they do not.
        """
        return self._run(batch, now, until, finish=False, deferred=settled(self.graph, deferred))

    def count_all(self, batch: Batches, now: int = 0) -> list[int]:
        """As ``push_all``, but the results of each query are counted and dropped as they come."""
        counts = self._counted(*self._arrived(batch, now, NEVER, finish=False))
        release_excess()
        return counts

    def cells(self) -> dict[str, ShardState]:
        """All state, by the names under which the pane store keeps it."""
        found = {f"{CLOCKS}/{shard}": clock for shard, clock in enumerate(self.clocks)}
        for shard, states in enumerate(self.states):
            found |= {f"{self.graph.vertices[v].id}/{shard}": state for v, state in states.items()}
        return found

    def restore(self, cells: Mapping[str, ShardState]) -> None:
        """Take up state by its names; what is not among ``cells`` stays as it is."""
        for shard, states in enumerate(self.states):
            self.clocks[shard] = cells.get(f"{CLOCKS}/{shard}", self.clocks[shard])
            for v, state in states.items():
                states[v] = cells.get(f"{self.graph.vertices[v].id}/{shard}", state)

    def heartbeat(self, until: int, now: int = 0) -> pa.Table:
        """Every instant before ``until`` (event time, microseconds) is complete."""
        return self._run({}, now, until, finish=False)[0]

    def finish(self, batch: Batches | None = None) -> pa.Table:
        """End of input, after the rows of ``batch``: every instant is complete. The first query's results."""
        return self._run(batch or {}, 0, NEVER, finish=True)[0]

    def finish_all(self) -> list[pa.Table]:
        """As ``finish``, the results of every query."""
        return self._run({}, 0, NEVER, finish=True)

    def take_in(self, rows: Mapping[int, pa.RecordBatch], times: Times) -> list[pa.Table]:
        """Rows of sources by number of their vertex, as ``engine.source.ship`` makes them, in a step of these times on
        every shard; the clocks stay as they are. The results of every query."""
        inbox: Inbox = [{} for _ in range(self.shards)]
        for vertex, arrived in rows.items():
            self._send(vertex, _by_time(arrived), 0, inbox)
        return self._levels(inbox, [times] * self.shards)

    def _run(
        self, batch: Batches, now: int, beat: int, finish: bool, deferred: Collection[int] = ()
    ) -> list[pa.Table]:
        results = self._levels(*self._arrived(batch, now, beat, finish, deferred))
        release_excess()
        return results

    def _arrived(
        self, batch: Batches, now: int, beat: int, finish: bool, deferred: Collection[int] = ()
    ) -> tuple[Inbox, list[Times]]:
        """Rows on their way to the first level, and by shard what they do to time."""
        headers: list[Header] = []
        inbox: Inbox = [{} for _ in range(self.shards)]
        befores = answered(self.graph, self.clocks[0])
        for number, stream in enumerate(self.graph.streams):
            headers.append(Header(number, 0, 0, heartbeat=beat))
            if stream.name not in batch:
                continue
            arrived = arrive(stream, _one_batch(batch[stream.name]), number)
            headers.append(arrived.header)
            self.bad += arrived.header.bad
            self._note_late(stream, arrived, befores)
            for v, vertex in enumerate(self.graph.vertices):
                if isinstance(vertex.op, Source) and vertex.op.stream.name == stream.name:
                    self._send(v, _by_time(ship(vertex.op, arrived)), 0, inbox)
        given = (headers, now, finish, self.since, deferred, self.valve)
        times = [advance(self.graph, clock, *given) for clock in self.clocks]
        if self.live:
            times = [stretched(self.graph, t) for t in times]
        return inbox, times

    def _note_late(self, stream: Stream, arrived: Arrived, befores: tuple[int, ...]) -> None:
        def kept(source: int, places: NDArray[np.int64]) -> NDArray[np.bool_]:
            op = self.graph.vertices[source].op
            assert isinstance(op, Source)
            return predicate_mask(op.keep, arrived.rows.take(pa.array(places)))

        def shipped(source: int, places: NDArray[np.int64]) -> pa.RecordBatch:
            op = self.graph.vertices[source].op
            assert isinstance(op, Source)
            return project(op.columns, arrived.rows.take(pa.array(places)))

        readers = readers_of(self.graph, stream.name)
        found = late_rows(readers, befores, arrived.ts, len(self.graph.plans), kept, shipped)
        if found is not None:
            rows = arrived.rows.take(pa.array(found.places))
            self.late_rows.append(LateInput(stream.name, rows, found.by, found.lost))

    @property
    def late(self) -> int:
        """Rows that some query left out for coming too late."""
        return sum(part.rows.num_rows for part in self.late_rows)

    def _levels(self, inbox: Inbox, times: list[Times]) -> list[pa.Table]:
        graph = self.graph
        results: list[list[pa.RecordBatch]] = [[] for _ in graph.plans]
        for level in range(graph.depth):
            outputs = [self._level(level, shard, inbox, times[shard]) for shard in range(self.shards)]
            own = graph.at(level)
            sent = {c.vertex for c in graph.channels} & set(own)
            for shard, output in enumerate(outputs):
                for v in (v for v in own if v in sent):
                    self._send(v, to_wire(graph.vertices[v], output.rows[v]), shard, inbox)
                for number, rows in results_of(graph, output.rows, times[shard]):
                    results[number].append(rows)
        made: dict[Hashable, pa.Table] = {}
        ends = [tuple((t.end_of(n), t.shown.get(n)) for t in times) for n in range(len(graph.plans))]
        forms = [(form_of(p, r), e) for p, r, e in zip(graph.plans, graph.roots, ends, strict=True)]
        for plan, form, parts in zip(graph.plans, forms, results, strict=True):
            if form not in made:
                made[form] = self._in_time(plan, parts)
        return [_named(made[f], p.result_schema.names) for p, f in zip(graph.plans, forms, strict=True)]

    def _counted(self, inbox: Inbox, times: list[Times]) -> list[int]:
        """The number of results of each query."""
        graph, counts = self.graph, [0] * len(self.graph.plans)
        sent = {c.vertex for c in graph.channels}
        for level, shard in product(range(graph.depth), range(self.shards)):
            arrived = {key: concat_rows(parts) for key, parts in inbox[shard].items()}
            own = self.states[shard], arrived, times[shard], self.meter
            for output in substeps(graph, level, shard, self.shards, *own, valve=self.valve):
                self._noted(output)
                for v in sent.intersection(graph.at(level)):
                    self._send(v, to_wire(graph.vertices[v], output.rows[v]), shard, inbox)
                for number, rows in results_of(graph, {v: output.rows[v] for v in graph.at(level)}, times[shard]):
                    counts[number] += rows.num_rows
        return counts

    def _level(self, level: int, shard: int, inbox: Inbox, times: Times) -> LevelOutput:
        arrived = {key: concat_rows(parts) for key, parts in inbox[shard].items()}
        given = self.states[shard], arrived, times, self.meter, self.valve
        return self._noted(whole_step(self.graph, level, shard, self.shards, *given))

    def _noted(self, output: LevelOutput) -> LevelOutput:
        """What a step left out is counted."""
        self.shed += sum(rows for _, rows in output.shed)
        self.harvested += output.harvested
        for vertex, table, bad in output.bad_updates:
            self._bad_updates[table, vertex] += bad
        return output

    @property
    def bad_updates(self) -> dict[str, int]:
        """By table; a query that reads it in several places meets each update in all of them."""
        return largest((table, bad) for (table, _), bad in self._bad_updates.items())

    def _send(self, vertex: int, rows: pa.RecordBatch, shard: int, inbox: Inbox) -> None:
        """Put a vertex's rows where its readers on later levels find them."""
        for number, channel in enumerate(self.graph.channels):
            if channel.vertex == vertex and rows.num_rows:
                for target, part in route(rows, channel.route, self.shards, shard, self._hot(number, channel.route)):
                    inbox[target].setdefault((vertex, channel.route), []).append(part)

    def _hot(self, channel: int, way: Route) -> list[int]:
        """Keys that the shards found to be hot in the step before."""
        if not isinstance(way, Split):
            return []
        return sorted({h for states in self.states for h in hot_keys(self.graph, channel, states)})

    def _in_time(self, plan: QueryPlan, parts: list[pa.RecordBatch]) -> pa.Table:
        table = pa.Table.from_batches(parts, plan.result_schema.to_arrow())
        if not parts:
            return table
        at = len(plan.schema) + len(plan.edges)
        times = np.concatenate([buffer_values(p.column(at), np.int64) for p in parts])
        if (times[1:] >= times[:-1]).all():
            return table
        # A take from many chunks looks for the chunk of each row: after one copy that takes half as long.
        return table.combine_chunks().take(pa.array(np.argsort(times, kind="stable")))


def run_local(
    query: QueryPlan,
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


def _named(table: pa.Table, names: Sequence[str]) -> pa.Table:
    return table if table.schema.names == list(names) else table.rename_columns(list(names))


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    whole = table.combine_chunks()
    if len(whole):
        return whole.to_batches()[0]
    return pa.RecordBatch.from_arrays([pa.array([], f.type) for f in whole.schema], schema=whole.schema)


def _by_time(rows: pa.RecordBatch) -> pa.RecordBatch:
    times = rows.column(TS).to_numpy()
    return rows.take(pa.array(np.argsort(times, kind="stable")))
