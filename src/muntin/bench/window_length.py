"""Time and bytes of a batch of 1,000 rows, beside windows of one minute and of one hour at one rate.

What a batch costs should follow its rows and results, not the window that is kept beside it. Runs the engine in process
with a real pane store on local disk, without Spark: the window is filled in large batches, then small ones are timed.
Timed is what a worker does with a batch, the step of the shard and its commit, in CPU time: the disk and whatever else
the machine does say nothing of the window. What takes more beside the hour than ``MOST`` allows is an error
(``missed``), unless ``GROWING`` says why it must.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from muntin.bench.data import EPOCH_US, MIX, MIX_STREAM, PRIME, RATE
from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.graph import QueryPlan
from muntin.dataflow.planner import plan_query
from muntin.local.runtime import LocalPipeline
from muntin.plan.aggregates import Evaluate, evaluator
from muntin.plan.catalog import AggregateFunction, Catalog, Stream
from muntin.state.pane_store import PaneStore
from muntin.state.window_rows import PANES

CASES = {
    "count": "SELECT COUNT(*) AS a FROM A [RANGE {w}]",
    "sum": "SELECT k, SUM(v) AS a FROM A [RANGE {w}] GROUP BY k",
    "avg": "SELECT k, AVG(v) AS a FROM A [RANGE {w}] GROUP BY k",
    "many-groups": "SELECT u, COUNT(*) AS a FROM A [RANGE {w}] GROUP BY u",
    "min-max": "SELECT k, MIN(v) AS a, MAX(v) AS b FROM A [RANGE {w}] GROUP BY k",
    "min-max-descending": "SELECT MIN(n) AS a, MAX(-n) AS b FROM A [RANGE {w}]",
    "max-signed": "SELECT MAX(v) AS a FROM A [ROWS {n}]",
    "median": "SELECT MEDIAN(v) AS a FROM A [RANGE {w}]",
    "median-by-key": "SELECT k, MEDIAN(v) AS a FROM A [RANGE {w}] GROUP BY k",
    "quantile": "SELECT QUANTILE(v, 0.9) AS a FROM A [RANGE {w}]",
    "first-last": "SELECT k, FIRST(v) AS a, LAST(v) AS b FROM A [RANGE {w}] GROUP BY k",
    "collect": "SELECT u, COLLECT(v) AS a FROM A [RANGE {w}] GROUP BY u",
    "count-distinct": "SELECT COUNT(DISTINCT u) AS a FROM A [RANGE {w}]",
    "sum-distinct": "SELECT SUM(DISTINCT u) AS a FROM A [RANGE {w}]",
    "user-subtract": "SELECT k, spread(v) AS a FROM A [RANGE {w}] GROUP BY k",
    "user-panes": "SELECT k, total(v) AS a FROM A [RANGE {w} SLIDE 1 SECOND] WHERE k < 100 GROUP BY k",
    "user-values": "SELECT k, total(v) AS a FROM A [RANGE {w}] WHERE k < 50 GROUP BY k",
    "rows": "SELECT u, v FROM A [ROWS {n}]",
    "partition-rows": "SELECT u, v FROM A [PARTITION BY u ROWS 2]",
    "range-slide-rows": "SELECT u, v FROM A [RANGE {w} SLIDE 1000]",
    "top-k": "SELECT u, v FROM A [RANGE {w}] ORDER BY v DESC LIMIT 10",
    "top-k-signed": "SELECT u, v FROM A [ROWS {n}] ORDER BY v DESC LIMIT 10",
    "restore": "Rstream-restore(SELECT k, COUNT(*) AS a FROM A [RANGE {w} SLIDE 1 SECOND] GROUP BY k)",
    "distinct": "SELECT DISTINCT u FROM A [RANGE {w}]",
    "join": "SELECT A.u, A.v FROM A [RANGE {w}], B [RANGE {w}] WHERE A.u = B.u",
    "left-join": "SELECT A.u, A.v, B.v AS b FROM A [RANGE {w}] LEFT JOIN B [RANGE {w}] ON A.u = B.u",
    "except": "SELECT u FROM A [RANGE {w}] EXCEPT SELECT u FROM B [RANGE {w}]",
    "not-exists": "SELECT u, v FROM A [RANGE {w}] WHERE NOT EXISTS (SELECT 1 FROM B [RANGE {w}] WHERE B.u = A.u)",
    "collect-all": "SELECT COLLECT(v) AS a FROM A [RANGE {w} SLIDE 1 SECOND]",
    "snapshots": "Rstream(SELECT u FROM A [RANGE {w} SLIDE 1 SECOND])",
    "frequent": "SELECT FREQUENT(u, 10) AS a FROM A [RANGE {w} SLIDE 1 SECOND]",
}
"""Every construct that remembers rows. ``w``: the window; ``n``: as many rows as it holds. What runs Python for each
row gets a part of the rows, so that a window is filled in seconds."""

GROWING = {
    "collect-all": "shows all values of its window",
    "snapshots": "shows all rows of its window",
    "frequent": "reads all distinct values of its group",
}
"""The cases whose batches take more beside a longer window, and why they must (ARCHITECTURE.md, under State)."""

WINDOWS = (60, 3600)
MOST = 3.0
"""How many times the CPU time and the bytes of a batch may be, beside an hour, what they are beside a minute. What is
kept lies in at most eight runs of a size, and an hour has twice as many sizes (the logarithms to base 8 of 3,600 and of
60 batches): so it may be twice, and half as much again for how a machine's speed varies. What followed the window would
be 60 times."""
BATCH, FILL, WARM = 1_000, 60_000, 4
"""Rows a batch; while the window is filled; batches before measuring, besides those of a pane."""


class Total:
    """The sum of values, without taking any away."""

    def init(self) -> int:
        return 0

    def add(self, state: int, value: int) -> int:
        return state + value

    def merge(self, a: int, b: int) -> int:
        return a + b

    def finish(self, state: int) -> int | None:
        return state


class Spread(Total):
    """The same, and values can be taken away."""

    def subtract(self, state: int, value: int) -> int:
        return state - value


FUNCTIONS: dict[str, Evaluate] = {"total": evaluator("total", Total), "spread": evaluator("spread", Spread)}


@dataclass(frozen=True)
class LengthRecord:
    """What a batch of ``BATCH`` rows a stream takes beside a full window of ``window_s`` seconds: CPU time and bytes
    written, as means over all but the one that wrote most, which is shown apart: once in as many rows as the window
    holds a batch merges all that is kept, and whether that falls into those measured is chance."""

    case: str
    window_s: int
    ms_per_batch: float
    bytes_per_batch: int
    ms_most: float
    bytes_most: int


def rows(first: int, count: int, stream: int, values: int) -> pa.Table:
    """Rows of a stream: number ``n``, 1,000 keys ``k``, ``values`` keys ``u``, values ``v`` up to a million."""
    n = np.arange(first, first + count, dtype=np.int64)
    mixed = (n * MIX + stream * MIX_STREAM) % PRIME
    ts = pa.array(EPOCH_US + n * (1_000_000 // RATE)).cast(pa.timestamp("us", "UTC"))
    return pa.table({"ts": ts, "n": n, "k": mixed % 1_000, "u": mixed % values, "v": (mixed * 31 + 7) % 1_000_003})


def run(
    cases: Sequence[str] = tuple(CASES),
    windows: Sequence[int] = WINDOWS,
    batches: int = 30,
    say: Callable[[str], None] = lambda _: None,
) -> list[LengthRecord]:
    """Measure the cases at the windows (seconds)."""
    records = []
    for case in cases:
        for seconds in windows:
            found = _measure(case, seconds, batches)
            say(f"{case}, {seconds} s: {found.ms_per_batch:.1f} ms, {found.bytes_per_batch:,.0f} bytes a batch")
            records.append(found)
    return records


def lines(records: Sequence[LengthRecord]) -> list[str]:
    """A plain table, one line a record."""
    head = f"{'case':<20}{'window':>8}{'ms/batch':>10}{'bytes/batch':>13}{'most ms':>10}{'most bytes':>13}"
    body = [
        f"{r.case:<20}{r.window_s:>6} s{r.ms_per_batch:>10.1f}{r.bytes_per_batch:>13,}{r.ms_most:>10.1f}"
        f"{r.bytes_most:>13,}"
        for r in records
    ]
    return [head, *body]


def missed(records: Sequence[LengthRecord]) -> list[str]:
    """What took more beside the longest window than ``MOST`` allows, and is not to; nothing if nothing did."""
    wrong = []
    for case in dict.fromkeys(r.case for r in records if r.case not in GROWING):
        measured = sorted((r for r in records if r.case == case), key=lambda r: r.window_s)
        short, long = measured[0], measured[-1]
        for what, before, after in (
            ("CPU time", short.ms_per_batch, long.ms_per_batch),
            ("bytes", short.bytes_per_batch, long.bytes_per_batch),
        ):
            if after > MOST * before:
                wrong.append(
                    f"{case}: {after / before:.2f} x the {what} beside {long.window_s} s, more than {MOST} x those "
                    f"beside {short.window_s} s"
                )
    return wrong


def query_of(case: str, seconds: int) -> QueryPlan:
    """The case's query over windows of so many seconds."""
    schema = rows(0, 1, 0, 1).schema
    streams = [Stream(n, Schema.of(**{f.name: f.type for f in schema}), "ts", order=i) for i, n in enumerate("AB")]
    functions = tuple(AggregateFunction(n, pa.int64(), pa.int64(), inverse=e.invertible) for n, e in FUNCTIONS.items())
    text = CASES[case].format(w=f"{seconds} SECONDS", n=seconds * RATE)
    query = plan_query(bind(text, Catalog(tuple(streams), functions=functions)))
    return replace(query, functions=tuple(FUNCTIONS.items()))


def _measure(case: str, seconds: int, batches: int) -> LengthRecord:
    with tempfile.TemporaryDirectory(prefix="muntin-length-") as folder:
        run = _Run(LocalPipeline(query_of(case, seconds)), PaneStore.open(str(Path(folder)), "bench", 0), seconds)
        for _ in range(0, seconds * RATE, FILL):
            run.batch(FILL)
        for _ in range(WARM + seconds * RATE // BATCH // PANES):
            run.batch(BATCH)
        found = [run.batch(BATCH) for _ in range(batches)]
    *usual, most = sorted(found, key=lambda f: f[1])
    ms, written = (statistics.fmean(part) for part in zip(*usual, strict=True))
    return LengthRecord(case, seconds, round(ms * 1000, 2), round(written), round(most[0] * 1000, 2), most[1])


@dataclass
class _Run:
    """A pipeline whose state is committed with every batch."""

    pipeline: LocalPipeline
    store: PaneStore
    seconds: int
    version: int = 0
    position: int = 0

    def batch(self, count: int) -> tuple[float, int]:
        """Feed so many rows a stream and commit; returns seconds of CPU time and bytes written."""
        values = self.seconds * RATE // 2
        known = {s.name for s in self.pipeline.query.streams}
        given: dict[str, Any] = {n: rows(self.position, count, i, values) for i, n in enumerate("AB") if n in known}
        began = time.process_time()
        self.pipeline.push(given)
        written = self.store.commit(self.version, "t", self.pipeline.cells(), {}).bytes_written
        self.version, self.position = self.version + 1, self.position + count
        return time.process_time() - began, written
