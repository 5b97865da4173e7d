"""Joins of one signature and different windows on Spark: one join runs, and queries answer as they do alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest_spark import SECOND, Feed, bag, events, until

from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_query
from muntin.local.runtime import LocalPipeline
from muntin.session import Session

pytestmark = pytest.mark.spark

TEXTS = {
    "wide": "SELECT a.k, a.v, b.v AS w FROM a [RANGE 20 SECONDS] a, b [RANGE 12 SECONDS] b WHERE a.k = b.k",
    "narrow": "SELECT b.j, COUNT(*) AS n FROM a [RANGE 3 SECONDS SLIDE 2 SECONDS] a, "
    "b [RANGE 9 SECONDS SLIDE 2 SECONDS] b WHERE a.k = b.k AND a.v > 20 GROUP BY b.j",
    "many": "SELECT a.k, a.v, b.v AS w FROM a [ROWS 40] a, b [ROWS 30] b WHERE a.k = b.k",
    "few": "SELECT b.j, COUNT(*) AS n FROM a [ROWS 7] a, b [ROWS 9] b WHERE a.k = b.k AND a.v > 20 GROUP BY b.j",
    "near": "SELECT a.k, b.v AS w FROM a [ROWS 30] a, b [ROWS 40] b WHERE a.v BETWEEN b.v - 5 AND b.v + 5",
    "nearer": "SELECT b.j, COUNT(*) AS n FROM a [ROWS 19] a, b [PARTITION BY k ROWS 8] b WHERE a.v < b.v GROUP BY b.j",
    "nearest": "SELECT a.v, b.j FROM a [ROWS 25] a, b [PARTITION BY k ROWS 9] b WHERE a.v < b.v AND a.k > 2",
    "close": "SELECT b.j, COUNT(*) AS n FROM a [ROWS 20] a, b [ROWS 9] b WHERE a.v BETWEEN b.v - 5 AND b.v + 5 "
    "GROUP BY b.j",
    "part": "SELECT a.j, b.name FROM a [RANGE 5 SECONDS] a, b [RANGE 5 SECONDS] b WHERE a.k = b.k AND a.j < b.j",
}


def test_a_shared_join_on_spark_answers_as_each_alone(
    spark: Any, feed: Callable[[str], Feed], tmp_path: Path
) -> None:
    """Over a restart in which the query with the longest windows goes."""
    tables = {n: [events(10 * i + s, 8 * i, 8, 40) for i in range(5)] for s, n in enumerate("ab")}
    feeds = {n: feed(n).put(*parts[:3]) for n, parts in tables.items()}
    for names in (TEXTS.keys(), TEXTS.keys() - {"wide"}):
        session = Session(spark, shards=2)
        for n, source in feeds.items():
            session.stream(n, source.live())
        for name in (n for n in TEXTS if n in names):
            session.sql(TEXTS[name], name=name).write("parquet", str(tmp_path / name))
        if "wide" in names:
            assert "one join in place of 3, for wide, narrow, part" in session.explain()
            assert "one join in place of 2, for many, few: it keeps 40 rows instead of 47" in session.explain()
            assert "one join in place of 2, for near, close: it keeps 30 rows instead of 50" in session.explain()
            assert "one join in place of 2, for nearer, nearest" in session.explain()
        session.start(str(tmp_path / "cp"), "available_now").await_termination()
        for n, source in feeds.items():
            source.put(*tables[n][3:])
    for name, text in TEXTS.items():
        batches = 3 if name == "wide" else 5
        pipeline = LocalPipeline(plan_query(bind(text, session.catalog)))
        expected = pa.concat_tables([pipeline.push({n: pa.concat_tables(t[:batches]) for n, t in tables.items()})])
        found = pq.read_table(tmp_path / name, partitioning=None)
        assert len(expected) > 50 and bag(until(found, 100 * SECOND)) == bag(expected), name
