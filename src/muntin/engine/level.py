"""One step of one level of a graph on one shard: rows that arrived and time in, every vertex's rows out.

Both runtimes drive exactly this.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from muntin.core.batch import Batch
from muntin.core.time import NEVER
from muntin.dataflow.graph import Graph, Vertex
from muntin.dataflow.routes import Everywhere, Here, Route, Split
from muntin.engine.clocks import Progress, Times, progress_of
from muntin.engine.deferral import put_off, taken_up, waiting
from muntin.engine.memory import check_memory
from muntin.engine.meter import Meter
from muntin.engine.rows import from_wire
from muntin.engine.stretching import shown_by
from muntin.engine.valve import Valve
from muntin.kernels.hashing import buffer_values
from muntin.operators.context import Context
from muntin.operators.joins.harvest import Counts
from muntin.operators.joins.hot_keys import HOT, MINE, PLAIN, ROLE
from muntin.operators.joins.narrow import Narrow
from muntin.operators.joins.sliced_join import SlicedJoin
from muntin.operators.table_feed import TableFeed, bad_updates
from muntin.state.shard_state import ShardState

Arrived = Mapping[tuple[int, Route], pa.RecordBatch]
"""What came to a shard from earlier levels: by vertex and route, in canonical order."""

States = Mapping[int, ShardState]
"""State of the vertices of a level that have any, by number."""


_NO_STATE, _NO_TIME = ShardState(), Context(NEVER, NEVER, NEVER, NEVER, None, None)
"""What an operator gets that looks at neither."""


@dataclass(frozen=True)
class LevelOutput:
    """``rows``: by number of the vertex."""

    rows: dict[int, Batch]
    bad_updates: list[tuple[int, str, int]] = field(default_factory=list)
    """(vertex, table, number) of deletions of rows that were not there."""
    shed: list[tuple[int, int]] = field(default_factory=list)
    """(number of the vertex that reads the source, rows that were in time and not admitted)."""
    harvested: list[tuple[int, Counts]] = field(default_factory=list)
    """(number of a join that harvests its windows, what their parts gave)."""


def run_level(
    graph: Graph,
    level: int,
    shard: int,
    states: States,
    arrived: Arrived,
    times: Times,
    meter: Meter | None = None,
    most: int | None = None,
    valve: Valve | None = None,
) -> LevelOutput:
    """Run the vertices of a level in order. Those that have work on shard 0 alone are left out elsewhere.

    ``valve``: what is admitted (None: as the streams were registered).

    With ``most``, an operator that would give more rows raises Cut; the states are then to be put back as they were.
    Operators that wait (``times.deferred``) keep what came for them and give nothing.
    """
    output = LevelOutput({})
    wait = waiting(graph, times.deferred)
    valve = Valve.of(graph.streams) if valve is None else valve
    counted, kept_out = [], []
    shared: dict[Any, Any] = {}
    for number in graph.at(level):
        vertex = graph.vertices[number]
        if shard and graph.single[number]:
            output.rows[number] = Batch.empty(vertex.schema, vertex.signed)
            continue
        reads = bool(vertex.inputs) and graph.vertices[vertex.inputs[0].vertex].is_source
        if vertex.op.timeless and meter is None and not reads:
            inputs = [_input(graph, e.vertex, e.route, arrived, output) for e in vertex.inputs]
            output.rows[number] = vertex.op.step(inputs, _NO_STATE, _NO_TIME)
            continue
        state = states.get(number) or ShardState()
        progress = progress_of(graph, vertex, state, times)
        inputs, shed = [_input(graph, e.vertex, e.route, arrived, output) for e in vertex.inputs], 0
        if reads:
            on_time = _on_time(graph, vertex, inputs[0], progress)
            admitted, shed = _admitted(graph, number, shard, on_time, valve)
            inputs = [admitted]
            if shed:
                output.shed.append((number, shed))
        if number in wait:
            put_off(inputs, state, progress.before)
            output.rows[number] = Batch.empty(vertex.schema, vertex.signed)
            continue
        inputs, progress = taken_up(inputs, state, progress, times.reach)
        harvest = valve.harvest(number)
        ctx = _context(graph, number, shard, progress, states, most, shown_by(graph, number, times))
        ctx = replace(ctx, shared=shared, harvest=harvest)
        if times.deferred and isinstance(vertex.op, SlicedJoin):
            ctx = replace(ctx, asked=asked_of(graph, number, times.deferred))
        began = time.perf_counter()
        output.rows[number] = vertex.op.step(inputs, state, ctx)
        if harvest is not None:
            output.harvested.append((number, harvest.counts))
        if isinstance(vertex.op, TableFeed):
            output.bad_updates.append((number, vertex.op.table, bad_updates(state)))
        if meter is not None:
            counted.append((number, shard, inputs, output.rows[number], state, time.perf_counter() - began))
            kept_out.append((number, shed))
    check_memory(graph, level, states, shard)
    if meter is not None:
        for step in counted:
            meter.count(*step)
        for number, shed in kept_out:
            meter.of(number).shed += shed
    return output


def asked_of(graph: Graph, join: int, deferred: Collection[int]) -> int | None:
    """How far back the readers of a shared join look that some query which does not wait uses; None where one of them
    may look back as far as the join does."""
    put_off = frozenset(deferred)
    readers = [i for i, v in enumerate(graph.vertices) if any(e.vertex == join for e in v.inputs)]
    due = [graph.vertices[i].op for i in readers if not graph.used_by[i] <= put_off]
    reaches = [o.reach if isinstance(o, Narrow) else None for o in due]
    return None if None in reaches else max((r for r in reaches if r is not None), default=0)


def _input(graph: Graph, source: int, route: Route, arrived: Arrived, output: LevelOutput) -> Batch:
    """Rows of an input: made on this level, or come from an earlier one."""
    if isinstance(route, Here) and source in output.rows:
        return output.rows[source]
    vertex, rows = graph.vertices[source], arrived.get((source, route))
    if rows is not None:
        return from_wire(vertex, rows)
    schema = vertex.schema.append(pa.field(ROLE, pa.int8())) if isinstance(route, Split) else vertex.schema
    return Batch.empty(schema, vertex.signed and not vertex.is_source)


def _on_time(graph: Graph, vertex: Vertex, rows: Batch, progress: Progress) -> Batch:
    """The rows that do not come too late; who reads the stream has counted the others (``engine.late``)."""
    stream = graph.vertices[vertex.inputs[0].vertex].op.stream  # type: ignore[attr-defined]
    return rows if stream.static else rows.where(rows.ts >= progress.before)


def _admitted(
    graph: Graph, number: int, shard: int, rows: Batch, valve: Valve
) -> tuple[Batch, int]:
    """The rows of a source that the valve lets in, and how many it does not, each counted on one shard."""
    edge = graph.vertices[number].inputs[0]
    source = graph.vertices[edge.vertex]
    name, users = source.op.stream.name, graph.used_by[number]  # type: ignore[attr-defined]
    kept = valve.admitted(name, rows, source.schema.names, users)
    if kept is None:
        return rows, 0
    return rows.where(kept), len(_once(edge.route, shard, rows.where(~kept)))


def _once(route: Route, shard: int, rows: Batch) -> Batch:
    """Rows of which several shards may have a copy, each on one of them."""
    if isinstance(route, Everywhere):
        return rows.where(np.full(len(rows), shard == 0))
    if isinstance(route, Split):
        role = buffer_values(rows.columns.column(ROLE), np.int8)
        return rows.where((role == PLAIN) | (role == MINE))
    return rows


def _context(
    graph: Graph, number: int, shard: int, progress: Progress, states: States, most: int | None, shown: int
) -> Context:
    vertex, hints = graph.vertices[number], graph.hints[number]
    memory = hints.memory
    if memory is not None:  # what the vertices beside it leave
        level, users = graph.levels[number], graph.used_by[number]
        beside = (v for v in states if v != number and graph.levels[v] == level and graph.used_by[v] & users)
        memory -= sum(states[v].size() for v in beside)
    return Context(
        progress.before,
        progress.watermark,
        progress.end,
        progress.first,
        None,
        hints.pane,
        fifo=tuple(graph.vertices[e.vertex].fifo for e in vertex.inputs),
        functions=graph.functions,
        scan=hints.scan,
        memory=memory,
        home=shard == 0,
        most=most,
        shown=shown,
        expires=graph.expiring[number],
        beside=graph.beside[number],
    )


def hot_keys(graph: Graph, channel: int, states: Mapping[int, ShardState]) -> Iterator[int]:
    """Hashes of the keys that the joins behind a channel (of route ``Split``) found to be hot; ``states`` by vertex."""
    for join in hot_joins(graph, channel):
        if join in states:
            yield from states[join].heads.get(HOT, [])


def hot_joins(graph: Graph, channel: int) -> list[int]:
    """The joins that measure hot keys for a channel."""
    source, route = graph.channels[channel].vertex, graph.channels[channel].route
    windows = [i for i, v in enumerate(graph.vertices) if any((e.vertex, e.route) == (source, route) for e in v.inputs)]
    return [i for i, v in enumerate(graph.vertices) if any(e.vertex in windows for e in v.inputs)]
