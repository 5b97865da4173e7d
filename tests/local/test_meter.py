"""The meter counts rows, rows of state looked at, and bytes, vertex by vertex, for every kind of state."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.explain import explain_as
from muntin.dataflow.planner import plan_query
from muntin.engine.meter import Meter
from muntin.local.runtime import LocalPipeline
from muntin.plan.catalog import Catalog, Stream

SCHEMA = Schema.of(ts=pa.int64(), k=pa.int64(), v=pa.int64(), s=pa.string())
CATALOG = Catalog(tuple(Stream(n, SCHEMA, "ts", ts_unit=1_000_000, order=i) for i, n in enumerate("AB")))
TEXTS = {
    "window join": "SELECT a.v, b.v AS w FROM A [RANGE 20 SECONDS] a, B [RANGE 20 SECONDS] b WHERE a.k = b.k",
    "band join": "SELECT a.v, b.v AS w FROM A [RANGE 5 SECONDS] a, B [RANGE 5 SECONDS] b "
    "WHERE a.v BETWEEN b.v AND b.v + 3",
    "groups": "SELECT k, SUM(v) AS s FROM A [RANGE 20 SECONDS] GROUP BY k",
    "median": "SELECT k, MEDIAN(v) AS m FROM A [RANGE 20 SECONDS] GROUP BY k",
    "distinct values": "SELECT k, COUNT(DISTINCT s) AS d FROM A [RANGE 20 SECONDS] GROUP BY k",
    "distinct": "SELECT DISTINCT k, v FROM A [RANGE 20 SECONDS]",
    "rows": "SELECT k, v FROM A [PARTITION BY k ROWS 9]",
    "first": "SELECT k, v FROM A [RANGE 20 SECONDS] ORDER BY v LIMIT 5",
    "snapshots": "Rstream(SELECT k, v FROM A [RANGE 20 SECONDS SLIDE 5 SECONDS])",
    "negation": "SELECT k, v FROM A [RANGE 20 SECONDS] a "
    "WHERE NOT EXISTS (SELECT 1 FROM B [RANGE 5 SECONDS] b WHERE a.v = b.v)",
    "extremes": "SELECT k, MIN(v) AS low FROM A [RANGE 20 SECONDS] GROUP BY k",
}


@pytest.mark.parametrize("name", TEXTS)
def test_whatever_keeps_rows_is_counted_in_rows_bytes_and_what_it_looks_at(name: str) -> None:
    rng, meter = np.random.default_rng(1), Meter()
    query = bind(TEXTS[name], CATALOG)
    pipeline = LocalPipeline(plan_query(query), 2, meter)
    for low in range(0, 60, 2):
        batch = {}
        for stream in "AB":
            ts = np.sort(rng.integers(low, low + 2, 60))
            k, v = rng.integers(0, 8, 60), rng.integers(0, 400, 60)
            batch[stream] = pa.table({"ts": ts, "k": k, "v": v, "s": [f"{x % 50}" for x in v]})
        pipeline.push(batch)
    held = {v for states in pipeline.states for v, s in states.items() if s.rows()}
    assert held
    for vertex in held:
        counter = meter.of(vertex)
        states = [s[vertex] for s in pipeline.states]
        assert (counter.state, counter.bytes) == (sum(s.rows() for s in states), sum(s.size() for s in states))
        assert counter.looked > 0 and counter.written >= counter.bytes > 0 and counter.rows_in > 0
    text = explain_as("text", query, pipeline.query, measured=meter)
    assert f"{meter.of(max(held)).bytes} bytes, {meter.of(max(held)).looked} looked at" in text
