"""Bytes written to the pane store per batch: the same stream, windows of one minute and of one hour.

A batch should write what arrived (and, for a join, merge each row once), never the window. Runs the engine with a real
pane store on local disk, without Spark: what is written does not depend on who drives the shards.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from muntin.bench.data import RATE, rows
from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_query
from muntin.local.runtime import LocalPipeline
from muntin.plan.catalog import Catalog, Stream
from muntin.state.pane_store import PaneStore

SUM = "SELECT k, SUM(v) AS s FROM A [RANGE {w} SLIDE 1 SECOND] GROUP BY k"
JOIN = (
    "Istream(SELECT A.k AS k, A.v AS av, B.v AS bv, A.ts AS at, B.ts AS bt FROM A [RANGE {w}], B [RANGE {w}] "
    "WHERE A.k = B.k)"
)
CASES = {"sliding-sum": (SUM, 1_000), "window-join": (JOIN, 1_000_000)}
"""Query and number of keys; the join's keys are many, so that an hour of it does not drown in results."""

WINDOWS = {"1 minute": 60, "1 hour": 3600}
SHARDS = 4


@dataclass(frozen=True)
class BytesRecord:
    """``bytes_per_batch``: mean over ``batches`` batches of one second in the steady state; ``ratio``: to one
    minute."""

    bench: str
    case: str
    window: str
    batches: int
    rows_per_batch: int
    bytes_per_batch: float
    ratio: float


def run(batches: int = 450, say: Callable[[str], None] = lambda _: None) -> list[BytesRecord]:
    """Measure every case at both windows; ``batches`` should cover two panes of the longest window."""
    records = []
    for case, (text, keys) in CASES.items():
        found: dict[str, float] = {}
        for window, seconds in WINDOWS.items():
            found[window] = _bytes_per_batch(text.format(w=window), keys, seconds, batches)
            say(f"{case}, {window}: {found[window]:,.0f} bytes a batch")
        base = found["1 minute"]
        records += [
            BytesRecord("state-bytes", case, w, batches, RATE, round(b, 1), round(b / base, 3))
            for w, b in found.items()
        ]
    return records


def lines(records: list[BytesRecord]) -> list[str]:
    """A plain table, one line a record."""
    head = f"{'case':<14}{'window':<10}{'batches':>9}{'rows/batch':>12}{'bytes/batch':>13}{'ratio':>8}"
    body = [
        f"{r.case:<14}{r.window:<10}{r.batches:>9}{r.rows_per_batch:>12,}{r.bytes_per_batch:>13,.0f}{r.ratio:>8.3f}"
        for r in records
    ]
    return [head, *body]


def _bytes_per_batch(text: str, keys: int, seconds: int, batches: int) -> float:
    schema = rows(0, 1, 0).schema
    streams = [Stream(n, Schema.of(**{f.name: f.type for f in schema}), "ts", order=i) for i, n in enumerate("AB")]
    query = plan_query(bind(text, Catalog(tuple(streams))))
    with tempfile.TemporaryDirectory(prefix="muntin-bytes-") as folder:
        run = _Run(LocalPipeline(query, SHARDS), PaneStore.open(str(Path(folder)), "bench", 0), keys)
        for _ in range(0, seconds, 60):
            run.batch(60)
        for _ in range(240):  # a pane of chunks of the usual size closes before anything is counted
            run.batch(1)
        return sum(run.batch(1) for _ in range(batches)) / batches


@dataclass
class _Run:
    """A pipeline whose state is committed and opened again with every batch."""

    pipeline: LocalPipeline
    store: PaneStore
    keys: int
    version: int = 0
    position: int = 0

    def batch(self, seconds: int) -> int:
        """Feed so many seconds of event time and commit; returns the bytes written."""
        count = seconds * RATE
        self.pipeline.push({n: rows(self.position, count, i, keys=self.keys) for i, n in enumerate("AB")})
        self.position += count
        written = self.store.commit(self.version, "t", self.pipeline.cells(), {"shards": SHARDS}).bytes_written
        self.version += 1
        return written
