"""MIN and MAX keep only rows that can still become an answer (thesis 2.2.2): counted in rows of state."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pytest

from muntin.core.batch import Batch
from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_query
from muntin.local.runtime import LocalPipeline
from muntin.operators.dominated import dominated, shortened
from muntin.operators.group_aggregate import GroupAggregate
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.windows import QueryOptions
from muntin.state.window_rows import timed

SECOND = 1_000_000
STREAM = Stream("S", Schema.of(ts=pa.int64(), k=pa.int64(), v=pa.int64()), "ts", ts_unit=SECOND)


def rows_kept(text: str, values: np.ndarray, batch: int = 100) -> int:
    """Rows that the aggregate itself keeps for a window of as many rows as there are values."""
    pipeline = LocalPipeline(plan_query(bind(text, Catalog((STREAM,)), QueryOptions())))
    for low in range(0, len(values), batch):
        ts = np.arange(low, min(low + batch, len(values)))
        pipeline.push({"S": pa.table({"ts": ts, "k": ts % 4, "v": values[ts]})})
    graph = pipeline.graph
    states = [s for n, s in pipeline.states[0].items() if isinstance(graph.vertices[n].op, GroupAggregate)]
    return sum(c.meta["n"] for s in states for c in s.list("rows"))


@pytest.mark.parametrize("slide", ["", " SLIDE 10 SECONDS"])
def test_dominated_rows_are_not_kept(slide: str) -> None:
    """Of 4,000 rows in random order a staircase has about ln n; with COUNT beside it every row is needed."""
    values = np.random.default_rng(1).integers(0, 10**6, 4_000)
    window = f"[RANGE 1 HOUR 10 MINUTES{slide}]"
    kept = rows_kept(f"SELECT k, MAX(v) AS m FROM S {window} GROUP BY k", values)
    both = rows_kept(f"SELECT k, MIN(v) AS a, MAX(v) AS b FROM S {window} GROUP BY k", values)
    assert kept < both < 1_000
    if not slide:
        assert rows_kept(f"SELECT k, MAX(v) AS m, COUNT(*) AS n FROM S {window} GROUP BY k", values) == 4_000


def test_rising_values_leave_one_row_and_falling_ones_all() -> None:
    text = "SELECT MAX(v) AS m FROM S [RANGE 1 HOUR 10 MINUTES]"
    assert rows_kept(text, np.arange(4_000)) <= 60  # a row a chunk
    assert rows_kept(text, np.arange(4_000)[::-1].copy()) == 4_000


def answer(rows: list[tuple[int, int, int, int | None]], at: int, best: object) -> dict[int, int | None]:
    """MIN or MAX by group at an instant; a group of NULLs alone has a row too."""
    found: dict[int, list[int]] = {}
    for k, ts, exp, v in rows:
        if ts <= at < exp:
            found.setdefault(k, []).extend([] if v is None else [v])
    return {k: best(v) if v else None for k, v in found.items()}  # type: ignore[operator]


@pytest.mark.parametrize("fifo", [True, False])
def test_no_instant_changes(fifo: bool) -> None:
    """Random rows with NULLs and ties: the same answers and the same groups at every instant."""
    for seed in range(60):
        rng = Random(seed)
        rows = []
        for _ in range(25):
            ts = rng.randint(0, 20)
            exp = ts + 8 if fifo else ts + rng.randint(1, 15)
            rows.append((rng.randint(0, 1), ts, exp, rng.choice([None, *range(4)])))
        values = pa.array([r[3] for r in rows], pa.int64())
        columns = pa.RecordBatch.from_pydict({"k": [r[0] for r in rows], "v": values})
        ts, exp = (np.array([r[i] for r in rows], np.int64) for i in (1, 2))
        wanted = rng.choice([[("v", "max")], [("v", "min")], [("v", "max"), ("v", "min")]])
        batch = shortened(Batch(columns, ts, exp), ["k"], wanted)
        k, v = (batch.columns[n].to_pylist() for n in "kv")
        kept = list(zip(k, batch.ts, batch.exp, v, strict=True))
        present = [r for r in rows if r[1] <= 10 < r[2]]
        at_10 = Batch(columns, ts, exp).where((ts <= 10) & (exp > 10))
        still = ~dominated(timed(at_10.columns, at_10.ts, at_10.exp), ["k"], wanted)
        for fn in {fn for _, fn in wanted}:
            best = max if fn == "max" else min
            for at in range(40):
                assert answer(kept, at, best) == answer(rows, at, best), (seed, at, fn)
            left = [r for r, s in zip(present, still, strict=True) if s]
            for at in range(10, 40):
                assert answer(left, at, best) == answer(present, at, best), (seed, at, fn)
