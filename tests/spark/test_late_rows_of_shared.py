"""Late rows where several queries read one source: each query's are those that its WHERE keeps. Without Spark."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_queries
from muntin.plan.catalog import Catalog, Stream
from muntin.spark import late
from muntin.spark.pack import Packer
from muntin.spark.pipeline import plan_pipeline

WINDOW = "FROM s [RANGE 10 SECONDS SLIDE 2 SECONDS]"
TEXTS = {
    "few": f"SELECT k, SUM(v) AS a {WINDOW} WHERE k < 3 GROUP BY k",
    "named": f"SELECT k, COUNT(*) AS a {WINDOW} WHERE name = 'x' OR k = 1 GROUP BY k",
    "all": f"SELECT k, MAX(s.ts) AS a {WINDOW} GROUP BY k",
}
INSTANT = pa.timestamp("us", "UTC")
SECONDS = [1, 2, 3, 9]
COLUMNS = {"k": [1, 5, 2, 1], "v": [1, 2, 3, 4], "name": ["x", "x", None, "y"]}


def test_a_late_row_is_lost_to_those_whose_where_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Stream("s", Schema.of(ts=INSTANT, k=pa.int64(), v=pa.int64(), name=pa.string()), "ts")
    plans = dict(zip(TEXTS, plan_queries(bind(t, Catalog((stream,))) for t in TEXTS.values()), strict=True))
    spec, feeds = plan_pipeline((stream,), plans, shards=2, partitions=2)
    assert len(spec.graph.shared) == 1
    answered = (5_000_000,) * len(spec.graph.domains)
    monkeypatch.setattr(late.LateSearch, "befores", property(lambda self: answered))
    ts = pa.array([s * 1_000_000 for s in SECONDS]).cast(INSTANT)
    computed = [pa.array(COLUMNS[text.strip("`")]) for _, text in feeds[0].exprs]
    names = ["__ts", *(f"e{i}" for i in range(len(computed)))]
    packer = Packer(replace(spec, store="anywhere"), 0, 0)
    list(packer.letters(iter([pa.RecordBatch.from_arrays([ts, *computed], names=names)])))
    assert packer.late.rows == 3
    assert dict(zip(spec.names, packer.late.by_query, strict=True)) == {"few": 2, "named": 2, "all": 3}
