"""What a live run has measured so far, as EXPLAIN ANALYZE shows it."""

from __future__ import annotations

from collections.abc import Sequence

from muntin.dataflow.graph import Graph
from muntin.engine.meter import Counter, LeftOut, Meter
from muntin.spark.counts import VertexCounts
from muntin.spark.metrics import RunMetrics


def meter_of(graph: Graph, called: Sequence[tuple[str, ...]], metrics: RunMetrics) -> Meter:
    """Counters by number of the vertex; ``called``: all names of each query, in order of the graph's plans."""
    found = Meter(batches=metrics.batches, results=metrics.results)
    for number, vertex in enumerate(graph.vertices):
        if (counts := metrics.vertices.get(vertex.id)) is not None:
            found.counters[number] = _counter(counts, metrics.batches)
    found.seconds = sum(c.seconds for c in found.counters.values())
    for query, names in enumerate(called):
        shed = sum(c.shed for v, c in found.counters.items() if query in graph.used_by[v])
        share = metrics.answered.get(names[0], 1.0)
        if shed or share < 1:
            found.left_out[", ".join(names)] = LeftOut(shed, share, metrics.answered_error.get(names[0], 0.0))
    return found


def _counter(c: VertexCounts, batches: int) -> Counter:
    return Counter(
        batches, c.rows_in, c.rows_out, c.negative, c.state_rows, c.state_rows, c.looked, c.seconds, c.shed,
        c.state_bytes, c.written,
    )  # fmt: skip
