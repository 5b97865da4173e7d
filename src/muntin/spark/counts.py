"""What every vertex does in a live run: tasks count it, their reports carry it, the driver adds it up.

A report has one entry a vertex, so that it costs a manifest some hundred bytes a task and a batch nothing else: rows in
and out are lengths of what passes, what is held is looked up once a task.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from muntin.core.batch import Batch
from muntin.core.time import FOREVER, NEVER
from muntin.core.watermark import Header, SourceClock
from muntin.dataflow.graph import Graph
from muntin.engine.level import Arrived
from muntin.engine.meter import Meter
from muntin.spark import wire
from muntin.state.shard_state import ShardState

VERTEX = "vertex "
"""First word of a report's keys for vertices; their ids follow."""

Report = Mapping[str, Mapping[str, int]]

OBSERVED = ("rows", "late", "bad", "results", "state_rows", "watermark")
"""What Spark's own progress shows of a batch (see ``metrics.RunMetrics``)."""


@dataclass(frozen=True)
class VertexCounts:
    """A vertex over all shards. Of a run: ``state_rows``, ``state_bytes`` and ``watermark`` as of the last batch, the
    rest since the run began.

    ``rows_in``, ``rows_out``: rows, negative tuples included (``negative``: those that came out); of a source
    ``rows_out`` is what it brought with a usable event time, ``late`` what some query left out, ``bad`` what had no
    usable event time, ``watermark`` how far it is complete (microseconds; None: it has brought nothing). ``looked``:
    rows of state that were looked at; ``written``: bytes of the chunks that were made; ``shed``: rows that were not
    admitted; ``state_rows``, ``state_bytes``: what it holds (as Arrow buffers); ``seconds``: of processing, the sum
    over tasks.
    """

    rows_in: int = 0
    rows_out: int = 0
    negative: int = 0
    looked: int = 0
    written: int = 0
    shed: int = 0
    late: int = 0
    bad: int = 0
    seconds: float = 0.0
    state_rows: int = 0
    state_bytes: int = 0
    watermark: int | None = None


_COUNTED = ("rows_in", "rows_out", "negative", "looked", "written", "shed", "late", "bad")
_HELD = ("state_rows", "state_bytes")
_LATEST = ("watermark", "now")


class TaskMeter(Meter):
    """Counts the steps of one task: what vertices hold is left to ``vertex_report``, once at the end."""

    def count(self, vertex: int, shard: int, rows_in: int, out: Batch, state: ShardState, seconds: float) -> None:
        """Add one step."""
        self.passed(vertex, rows_in, out, state, seconds)


def vertex_report(graph: Graph, meter: TaskMeter, held: Iterable[tuple[int, ShardState]]) -> dict[str, dict[str, int]]:
    """What a task adds to its report; ``held``: states by number of the vertex, of every shard."""
    found: dict[str, dict[str, int]] = {}
    for number, c in meter.counters.items():
        values = {name: getattr(c, name) for name in ("rows_in", "rows_out", "negative", "looked", "written", "shed")}
        values["us"] = round(c.seconds * 1e6)
        _add(found, graph.vertices[number].id, values)
    for number, state in held:
        _add(found, graph.vertices[number].id, {"state_rows": state.rows(), "state_bytes": state.size()})
    return found


def source_report(graph: Graph, headers: Sequence[Header], clocks: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """What sources brought in a batch (``headers`` numbered as ``graph.streams``), and how far they are complete."""
    found: dict[str, dict[str, int]] = {}
    place = {s.name: i for i, s in enumerate(graph.streams)}
    for vertex in graph.vertices:
        name = next(iter(vertex.streams), "")  # a static table has no clock
        if name not in place or not vertex.is_source:
            continue
        own = [h for h in headers if h.source == place[name]]
        _add(found, vertex.id, {
            "rows_out": sum(h.rows for h in own), "late": sum(h.late for h in own), "bad": sum(h.bad for h in own),
        })  # fmt: skip
        mark = SourceClock(**clocks[name]).watermark() if name in clocks else NEVER
        if mark != NEVER:
            found[VERTEX + vertex.id]["watermark"] = mark
    return found


SHARD = "shard"
"""First word of the counters of a shard in a report."""


def shard_report(graph: Graph, shard: int, came: Arrived, shed: Iterable[tuple[int, int]]) -> dict[str, int]:
    """What sources brought to a shard in a batch, and what of it some operator took in; ``shed``: by number of the
    reader, rows that were not admitted."""
    out: dict[int, int] = {}
    for reader, rows in shed:
        out[reader] = out.get(reader, 0) + rows
    arrived = consumed = 0
    for (source, route), batch in came.items():
        if graph.vertices[source].is_source:
            readers = [
                i for i, v in enumerate(graph.vertices) if any((e.vertex, e.route) == (source, route) for e in v.inputs)
            ]
            arrived += batch.num_rows
            consumed += batch.num_rows - min((out.get(i, 0) for i in readers), default=0)
    return {f"{SHARD} {shard} arrived": arrived, f"{SHARD} {shard} consumed": consumed}


def _add(found: dict[str, dict[str, int]], id: str, values: Mapping[str, int]) -> None:
    own = found.setdefault(VERTEX + id, {})
    for name, value in values.items():
        if value:
            own[name] = own.get(name, 0) + value


def summed(reports: Iterable[Report], vertices: bool) -> dict[str, dict[str, int]]:
    """What the tasks of a batch reported together, by key: of vertices, or all else. Times are the latest, the rest is
    added."""
    found: dict[str, dict[str, int]] = {}
    for report in reports:
        for key, values in report.items():
            if key.startswith(VERTEX) != vertices:
                continue
            own = found.setdefault(key, {})
            for name, value in values.items():
                own[name] = max(own.get(name, value), value) if name in _LATEST else own.get(name, 0) + value
    return found


def by_vertex(reports: Iterable[Report]) -> dict[str, VertexCounts]:
    """What a batch did, by the vertex's id: the sum of its tasks' reports."""
    return {key.removeprefix(VERTEX): _counts(values) for key, values in summed(reports, vertices=True).items()}


def _counts(values: Mapping[str, int]) -> VertexCounts:
    numbers = {name: values.get(name, 0) for name in (*_COUNTED, *_HELD)}
    return VertexCounts(**numbers, seconds=values.get("us", 0) / 1e6, watermark=values.get("watermark"))


def since_then(before: Mapping[str, VertexCounts], batch: Mapping[str, VertexCounts]) -> dict[str, VertexCounts]:
    """The run's counts after one more batch; vertices that ran no more are left out."""
    return {id: _more(before.get(id, VertexCounts()), c) for id, c in batch.items()}


def _more(old: VertexCounts, c: VertexCounts) -> VertexCounts:
    sums = {name: getattr(old, name) + getattr(c, name) for name in _COUNTED}
    return replace(c, **sums, seconds=old.seconds + c.seconds)


def observed_letters(slot: int, report: Report) -> list[wire.Letter]:
    """A task's part of what Spark observes, one letter a number; the report's key "" is the whole pipeline."""
    own = [values for key, values in report.items() if not key.startswith(VERTEX)]
    found = {name: report.get("", {}).get(name, 0) for name in ("rows", "late", "bad", "state_rows")}
    found["results"] = sum(values.get("results", 0) for values in own)
    found["watermark"] = min((v["watermark"] for v in own if "watermark" in v), default=NEVER)
    return [
        wire.Letter(slot, wire.COUNTS, b"", target=OBSERVED.index(name), min_ts=value)
        for name, value in found.items()
        if value not in (0, NEVER, FOREVER)
    ]
