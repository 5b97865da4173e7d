"""Sliding aggregates that read one synopsis, on Spark: the rows of their isolated runs, over a restart with others."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest_spark import Feed

from muntin.bench.data import rows
from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_query
from muntin.local.runtime import LocalPipeline
from muntin.plan.catalog import Catalog, Stream
from muntin.session import Session
from muntin.spark.inspect import inspect

pytestmark = pytest.mark.spark
WINDOW = "FROM A [RANGE {r} SECONDS SLIDE {s} SECONDS]"
TEXTS = {
    "sums": f"SELECT k, SUM(v) AS a {WINDOW.format(r=30, s=5)} WHERE k < 7 GROUP BY k",
    "counts": f"SELECT k, COUNT(*) AS a {WINDOW.format(r=20, s=10)} WHERE k = 3 OR v > 90 GROUP BY k",
    "most": f"SELECT k, MAX(v) AS a, AVG(v) AS b, STDDEV(v) AS c {WINDOW.format(r=15, s=5)} WHERE v < 50 GROUP BY k",
    "all": f"SELECT COUNT(*) AS n, MIN(v) AS m {WINDOW.format(r=10, s=5)} WHERE k IN (1, 5)",
    "few": f"SELECT SUM(v) AS s, CORR(v, k) AS c, REGR_INTERCEPT(v, k) AS i {WINDOW.format(r=40, s=20)}",
    "kinds": f"SELECT k, COUNT(DISTINCT v) AS a, MEDIAN(v) AS b {WINDOW.format(r=25, s=5)} WHERE k > 2 GROUP BY k",
    "near": f"SELECT k, APPROX_COUNT_DISTINCT_BOUNDS(v) AS a, APPROX_QUANTILE(v, 0.9) AS b, APPROX_TOP_K(v, 2) AS c "
    f"{WINDOW.format(r=20, s=10)} GROUP BY k",
    "latest": "SELECT k, SUM(v) AS a FROM A [PARTITION BY k ROWS 3] GROUP BY k",
    "later": "SELECT k, MAX(v) AS a FROM A [PARTITION BY k ROWS 50] WHERE v < 90 GROUP BY k",
    "top": f"SELECT k, FREQUENT(v, 3) AS a {WINDOW.format(r=15, s=5)} GROUP BY k",
}
FUNCTIONS = (
    ["COUNT(*)", "SUM(v)", "AVG(v)", "MIN(v)", "VAR_POP(v)", "COVAR_SAMP(v, k)", "COUNT(DISTINCT v)", "MEDIAN(v)"]
    + ["REGR_COUNT(v, k)", "FREQUENT(v, 2)"]
)


def drawn(rng: Random) -> str:
    """A query over a window of time or of rows, with groups and a predicate of its own."""
    where = rng.choice(("", f"WHERE v < {rng.randint(20, 90)} ", f"WHERE k <> {rng.randint(0, 9)} "))
    if rng.random() < 0.2:
        return f"SELECT k, {rng.choice(FUNCTIONS)} AS a FROM A [ROWS {rng.randint(2, 9)}] {where}GROUP BY k"
    window = WINDOW.format(r=rng.randrange(5, 45, 5), s=rng.choice((5, 10)))
    a, b = rng.sample(FUNCTIONS, 2)
    if rng.random() < 0.3:
        return f"SELECT {a} AS a, {b} AS b {window} {where}"
    return f"SELECT k, {a} AS a, {b} AS b {window} {where}GROUP BY k"


TEXTS |= {f"drawn{i}": drawn(Random(f"on Spark {i}")) for i in range(3)}
LATER = {"wide": f"SELECT k, SUM(v) AS a {WINDOW.format(r=20, s=10)} WHERE k < 7 GROUP BY k"}
SIZE = 800


def batch(number: int) -> pa.Table:
    return rows(number * SIZE, SIZE, 0, rate=40, keys=10)


def alone(text: str, first: int, last: int) -> pa.Table:
    """What a query shows in batches ``first`` to ``last`` that was there from the beginning."""
    schema = Schema.of(**{f.name: f.type for f in batch(0).schema})
    pipe = LocalPipeline(plan_query(bind(text, Catalog((Stream("A", schema, "ts"),)))), 4)
    found = [pipe.push({"A": batch(n)}) for n in range(last)]
    return pa.concat_tables(found[first:])


def shown(table: pa.Table, schema: pa.Schema) -> list[str]:
    return sorted(repr(r) for r in table.select(schema.names).cast(schema).to_pylist())


def run(spark, tmp: Path, texts: dict[str, str], files: range) -> str:  # type: ignore[no-untyped-def]
    feed = Feed(spark, tmp / "in").put(*map(batch, files))
    session = Session(spark, shards=4)
    session.stream("A", feed.live(), ts="ts")
    for name, text in texts.items():
        session.sql(text, name=name).write("parquet", str(tmp / name))
    explained = session.explain()
    session.start(str(tmp / "check"), "available_now").await_termination()
    return explained


def test_queries_share_a_synopsis_and_others_join_in_at_a_restart(spark, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    explained = run(spark, tmp_path, TEXTS, range(3))
    assert explained.count("shared by rule synopses") == 2 and "sums, counts, most, kinds, near, top" in explained
    assert "and at once those of 3, 50 rows" in explained
    left = {n: t for n, t in TEXTS.items() if n not in ("counts", "few")}
    run(spark, tmp_path, left | LATER, range(3, 5))
    for name, text in (TEXTS | LATER).items():
        first, last = 3 if name in LATER else 0, 5 if name not in ("counts", "few") else 3
        expected = alone(text, first, last)
        assert len(expected) and shown(pq.read_table(tmp_path / name), expected.schema) == shown(
            expected, expected.schema
        ), name
    state = inspect(str(tmp_path / "check"))
    assert any("sums" in v.queries and "wide" in v.queries for v in state.vertices)
