"""One step of one level of a graph on one shard: rows that arrived and time in, every vertex's rows out.

Both runtimes drive exactly this.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from muntin.core.batch import Batch
from muntin.core.time import NEVER
from muntin.dataflow.graph import Graph
from muntin.dataflow.routes import Here, Route, Split
from muntin.engine.admission import let_in, reads_source, weight_of
from muntin.engine.clocks import Progress, Times, progress_of
from muntin.engine.deferral import asked_of, put_off, taken_up, waiting
from muntin.engine.memory import check_memory
from muntin.engine.memory_shedding import shed_memory
from muntin.engine.meter import Meter
from muntin.engine.rows import from_wire
from muntin.engine.stretching import shown_by, shown_of_windows
from muntin.engine.valve import Valve
from muntin.operators.context import Context
from muntin.operators.joins.harvest import Counts
from muntin.operators.joins.hot_keys import HOT, ROLE
from muntin.operators.operator import Operator
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
    shards: int,
    states: States,
    arrived: Arrived,
    times: Times,
    meter: Meter | None = None,
    most: int | None = None,
    valve: Valve | None = None,
) -> LevelOutput:
    """Run the vertices of a level in order on a shard of ``shards``. Those that have work on shard 0 alone are left out
    elsewhere.

    ``valve``: what is admitted (None: as the streams were registered).

    With ``most``, an operator that would give more rows raises Cut; the states are then to be put back as they were.
    Operators that wait (``times.deferred``) keep what came for them and give nothing.
    """
    output, counted = LevelOutput({}), []
    run = _Run(graph, shard, shards, states, times, most, Valve.of(graph.streams) if valve is None else valve)
    wait = waiting(graph, times.deferred)
    for number in graph.at(level):
        vertex = graph.vertices[number]
        if shard and graph.single[number]:
            output.rows[number] = Batch.empty(vertex.schema, vertex.signed)
            continue
        inputs = [_input(graph, e.vertex, e.route, arrived, output) for e in vertex.inputs]
        state, ctx = _NO_STATE, _NO_TIME
        reads = reads_source(graph, vertex)
        if reads or not vertex.op.timeless:
            state = states.get(number) or ShardState()
            progress = progress_of(graph, vertex, state, times)
            if reads:
                inputs = [_let_in(run, number, inputs[0], progress.before, output)]
            if number in wait:
                put_off(inputs, state, progress.before)
                output.rows[number] = Batch.empty(vertex.schema, vertex.signed)
                continue
            inputs, progress = taken_up(inputs, state, progress, times.reach)
            ctx = _context(run, number, progress)
        began = time.perf_counter()
        output.rows[number] = vertex.op.step(inputs, state, ctx)
        seconds, rows_in = time.perf_counter() - began, sum(map(len, inputs))
        counted.append((number, shard, rows_in, output.rows[number], state, seconds))
        _note(output, number, vertex.op, state, ctx)
    output.shed.extend(shed_memory(graph, level, states, run.valve))
    check_memory(graph, level, states, shard)
    if meter is not None:
        for step in counted:
            meter.count(*step)
        for number, shed in output.shed:
            meter.of(number).shed += shed
    return output


@dataclass(frozen=True)
class _Run:
    """What the steps of a level's vertices have in common."""

    graph: Graph
    shard: int
    shards: int
    states: States
    times: Times
    most: int | None
    valve: Valve
    shared: dict[Any, Any] = field(default_factory=dict)


def _let_in(run: _Run, number: int, rows: Batch, before: int, output: LevelOutput) -> Batch:
    """The rows of its source that a vertex gets; what is not admitted is counted."""
    admitted, shed = let_in(run.graph, number, run.shard, rows, before, run.valve)
    if shed:
        output.shed.append((number, shed))
    return admitted


def _note(output: LevelOutput, number: int, op: Operator, state: ShardState, ctx: Context) -> None:
    """What an operator tells beside its rows."""
    if ctx.harvest is not None:
        output.harvested.append((number, ctx.harvest.counts))
    if isinstance(op, TableFeed):
        output.bad_updates.append((number, op.table, bad_updates(state)))


def _input(graph: Graph, source: int, route: Route, arrived: Arrived, output: LevelOutput) -> Batch:
    """Rows of an input: made on this level, or come from an earlier one."""
    if isinstance(route, Here) and source in output.rows:
        return output.rows[source]
    vertex, rows = graph.vertices[source], arrived.get((source, route))
    if rows is not None:
        return from_wire(vertex, rows)
    schema = vertex.schema.append(pa.field(ROLE, pa.int8())) if isinstance(route, Split) else vertex.schema
    return Batch.empty(schema, vertex.signed and not vertex.is_source)


def _context(run: _Run, number: int, progress: Progress) -> Context:
    graph, times = run.graph, run.times
    vertex, hints = graph.vertices[number], graph.hints[number]
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
        memory=None if hints.memory is None else hints.memory - _held_beside(run, number),
        shard=run.shard,
        shards=run.shards,
        shown=shown_by(graph, number, times),
        shown_of=shown_of_windows(graph, number, times),
        asked=asked_of(graph, number, times.deferred),
        reach=times.reach,
        expires=graph.expiring[number],
        beside=graph.beside[number],
        narrowed=graph.narrowed[number],
        shared=run.shared,
        harvest=run.valve.harvest(number),
        weight=weight_of(graph, number, run.valve),
        most=run.most,
    )


def _held_beside(run: _Run, number: int) -> int:
    """Bytes that other vertices of its level and its queries hold."""
    graph = run.graph
    level, users = graph.levels[number], graph.used_by[number]
    beside = (v for v in run.states if v != number and graph.levels[v] == level and graph.used_by[v] & users)
    return sum(run.states[v].size() for v in beside)


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
