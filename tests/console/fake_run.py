"""A run that is none: batches that a test makes up, for the console."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from muntin.console.watched import Standing
from muntin.core.schema import Field, Schema
from muntin.core.time import HOUR, MINUTE, SECOND
from muntin.cql.binder import bind
from muntin.dataflow.graph import Graph
from muntin.dataflow.planner import plan_queries
from muntin.operators.source import Source
from muntin.plan.catalog import Catalog, Stream
from muntin.spark.counts import VertexCounts
from muntin.spark.metrics import Metrics, RunMetrics, add_up

TS = pa.timestamp("us", "UTC")
TEXTS = {
    "wind": """SELECT f.origin, COUNT(*) AS n, AVG(w.speed) AS wind
FROM flights f [RANGE 2 HOURS SLIDE 5 MINUTES], weather w [RANGE 3 HOURS]
WHERE f.origin = w.origin GROUP BY f.origin""",
    "late <script>": "SELECT f.carrier, w.speed FROM flights f [RANGE 2 HOURS], weather w [RANGE 3 HOURS] "
    "WHERE f.origin = w.origin AND f.delay > 30 AND f.carrier <> '</text><script>boom()</script>'",
    "hourly": "SELECT origin, COUNT(*) AS n FROM flights [RANGE 1 HOUR] GROUP BY origin",
}
START = 1_790_000_000 * SECOND


def _graph(texts: dict[str, str]) -> Graph:
    fields = {"flights": "dep carrier origin delay", "weather": "ts origin speed"}
    kinds = {"dep": TS, "ts": TS, "delay": pa.float64(), "speed": pa.float64()}
    catalog = Catalog(tuple(
        Stream(name, Schema(tuple(Field(f, kinds.get(f, pa.string())) for f in all.split())), all.split()[0], order=i)
        for i, (name, all) in enumerate(fields.items())
    ))  # fmt: skip
    return Graph.of(plan_queries([bind(t, catalog) for t in texts.values()]))


class FakeRun:
    """``batch()`` does the next one; ``seen`` is called after each."""

    def __init__(self, texts: dict[str, str] | None = None) -> None:
        self.texts = texts or TEXTS
        self.graph = _graph(self.texts)
        self.active, self.exception = True, None
        self.found: RunMetrics | None = None
        self.seen: Callable[[], None] = lambda: None
        self.rows: dict[str, pa.Table] = {}
        self.notes = {"hourly": "its windows begin empty in batch 7"}

    @property
    def standing(self) -> Standing:
        names = list(self.texts)
        sinks = dict.fromkeys(names, "memory") | ({names[1]: "kafka"} if len(names) > 1 else {})
        return Standing(self.graph, [(n,) for n in names], sinks, self.notes, self.texts)

    def metrics(self, name: str | None = None) -> Any:
        return self.found

    def newest(self, name: str, limit: int) -> pa.Table | None:
        return self.rows.get(name)

    def batch(self, late: int = 0, shed: int = 0, share: float = 1.0) -> None:
        n = 0 if self.found is None else self.found.batches
        wave = 1 + 0.5 * math.sin(n / 5)
        now, mark = START + n * 10 * SECOND, START + n * 10 * SECOND - round(wave * 5 * SECOND)
        queries = {
            name: Metrics(n, rows=round(4000 * wave), late=late, results=round(300 * wave * (i + 1)), shed=shed,
                          state_rows=round(50_000 * wave), watermark=mark - i * SECOND, lag=now - mark + i * SECOND,
                          lateness=None if i else n % 3, waited=i // 2, skipped=i // 2)
            for i, name in enumerate(self.texts)
        }  # fmt: skip
        counts = {
            v.id: VertexCounts(rows_out=round(4000 * wave), watermark=mark - i * MINUTE) if isinstance(v.op, Source)
            else VertexCounts(
                round(4000 * wave), round(900 * wave), seconds=0.2 * i, state_rows=1000 * i * v.op.stateful,
                state_bytes=90_000 * i * v.op.stateful,
            )
            for i, v in enumerate(self.graph.vertices)
        }  # fmt: skip
        found = {"": Metrics(n, rows=8000, late=late, state_rows=150_000, state_bytes=40_000), **queries}
        self.found = add_up(self.found, n, found, {name: name for name in self.texts}, vertices=counts,
                            shares=dict.fromkeys(self.texts, share))
        self.found = replace(self.found, state_rows=round(150_000 * wave))
        self._result(n)
        self.seen()

    def _result(self, n: int) -> None:
        ports = ["EWR", "JFK", "LGA"]
        times = [START + (n - k) * 5 * MINUTE + START % HOUR for k in range(15, -1, -1) for _ in ports]
        self.rows[next(iter(self.texts))] = pa.table({
            "origin": pa.array(ports * 16),
            "n": pa.array([40 + round(20 * math.sin((n + i) / 9 + i % 3)) for i in range(48)]),
            "wind": pa.array([None if i == 7 else 9.5 + i / 10 for i in range(48)]),
            "ts": pa.array(times, TS),
        })  # fmt: skip
