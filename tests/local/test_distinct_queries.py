"""DISTINCT, EXISTS and IN over rows that expire: where interval rows that follow one another must not show."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pytest
from draws import seeds
from test_local_matches import difference

from muntin.core.errors import MuntinError
from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_query
from muntin.local.runtime import LocalPipeline
from muntin.operators.distinct import Distinct
from muntin.plan.catalog import Catalog, Stream, Table
from muntin.plan.windows import QueryOptions
from muntin.reference import run
from muntin.verify.arrow import from_table, to_table

SCHEMA = Schema.of(ts=pa.int64(), k=pa.int64(), v=pa.int64())
STREAMS = tuple(Stream(n, SCHEMA, "ts", ts_unit=1_000_000, order=i) for i, n in enumerate("AB"))
TABLES = (Table("N", Schema.of(k=pa.int64(), v=pa.int64()), "nrr"),)
CATALOG = Catalog(STREAMS, TABLES)


def draw(rng: Random) -> dict[str, list[dict[str, Any]]]:
    def stream() -> list[dict[str, Any]]:
        times = sorted(rng.randint(0, 30) for _ in range(rng.randint(1, 40)))
        return [{"ts": t, "k": rng.choice((1, 2, None)), "v": rng.randint(0, 2)} for t in times]

    return {"A": stream(), "B": stream()}


ONES = "SELECT DISTINCT k FROM B [RANGE 3 SECONDS]"
QUERIES = {
    "distinct": "SELECT DISTINCT k, v FROM A [RANGE 5 SECONDS]",
    "distinct, reported at every change": "Rstream(SELECT DISTINCT k FROM A [RANGE 5 SECONDS])",
    "new values": "Istream(SELECT DISTINCT k FROM A [RANGE 5 SECONDS])",
    "values that go": "Dstream(SELECT DISTINCT k FROM A [RANGE 5 SECONDS SLIDE 2 SECONDS])",
    "distinct of a join": "SELECT DISTINCT A.k FROM A [RANGE 6 SECONDS], B [RANGE 2 SECONDS] WHERE A.k = B.k",
    "distinct of distinct rows and others": f"SELECT DISTINCT q.k FROM ({ONES}) AS q, A [RANGE 9 SECONDS] WHERE A.k = "
    "q.k",
    "sums of distinct rows": "SELECT COUNT(*) AS n, SUM(q.k) AS s FROM (SELECT DISTINCT k FROM B [RANGE 3 SECONDS "
    "SLIDE 2 SECONDS]) AS q",
    "greatest of distinct rows": f"SELECT MAX(q.k) AS m FROM ({ONES}) AS q",
    "exists": "SELECT k, v FROM A [RANGE 6 SECONDS] WHERE EXISTS (SELECT 1 FROM B [RANGE 2 SECONDS] WHERE B.k = A.k)",
    "in, of exists": "SELECT k FROM A [RANGE 6 SECONDS] WHERE k IN (SELECT k FROM B [RANGE 2 SECONDS] WHERE EXISTS "
    "(SELECT 1 FROM A [RANGE 4 SECONDS] AS C WHERE C.v = B.v))",
    "not in": "SELECT k FROM A [RANGE 6 SECONDS] WHERE v NOT IN (SELECT k FROM B [RANGE 2 SECONDS])",
    "a window on new values": "SELECT k, COUNT(*) AS n FROM (Istream(SELECT DISTINCT k FROM A [RANGE 2 SECONDS])) "
    "[RANGE 9 SECONDS] AS q GROUP BY k",
}


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("strategy", ["upa", "direct"])
@seeds(4, 40)
def test_the_answers_are_those_of_the_definition(name: str, strategy: str, seeds: range) -> None:
    query = bind(QUERIES[name], CATALOG, QueryOptions(strategy=strategy))
    physical = plan_query(query)
    for seed in seeds:
        rng = Random(seed)
        streams = draw(rng)
        pipeline = LocalPipeline(physical, shards=rng.choice((1, 3)))
        tables, at = [], 0
        while at <= 30:
            end = at + rng.choice((1, 4, 31))
            now = {s.name: [r for r in streams[s.name] if at <= r["ts"] < end] for s in physical.streams}
            tables.append(pipeline.push({s.name: to_table(s, now[s.name]) for s in physical.streams}))
            at = end
        tables.append(pipeline.finish())
        got = [r for t in tables for r in from_table(t, query.root.schema, physical.shows_op)]
        assert not (problem := difference(run(query, streams), got)), f"{seed}: {problem}"


def test_duplicate_elimination_takes_nothing_back() -> None:
    for name in ("distinct", "exists", "sums of distinct rows"):
        plan = plan_query(bind(QUERIES[name], CATALOG, QueryOptions()))
        assert any(isinstance(v.op, Distinct) for v in plan.vertices)
    counted = plan_query(bind(QUERIES["distinct"], CATALOG, QueryOptions(strategy="nt")))
    assert not any(isinstance(v.op, Distinct) for v in counted.vertices)


def test_the_expiry_of_a_row_that_another_follows_is_not_told() -> None:
    """The value stays until 9, which nobody knows when it comes."""
    rows = pa.table({"ts": [0, 4, 20], "k": [1, 1, 2], "v": [0, 0, 0]})
    query = bind("SELECT DISTINCT k FROM A [RANGE 5 SECONDS]", CATALOG, QueryOptions(exp=True))
    pipeline = LocalPipeline(plan_query(query))
    shown = pipeline.push({"A": rows}).to_pylist()
    assert [(r["ts"].second, r["op"], r["exp"]) for r in shown] == [(0, "+", None), (9, "-", None)]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT q.k, N.v FROM (SELECT DISTINCT k FROM A [RANGE 5 SECONDS]) AS q, N WHERE q.k = N.k",
        "SELECT q.k, N.v FROM (SELECT k FROM A [RANGE 5 SECONDS] WHERE EXISTS (SELECT 1 FROM B [RANGE 5 SECONDS] WHERE "
        "B.k = A.k)) AS q LEFT JOIN N ON q.k = N.k",
    ],
)
def test_what_must_know_when_a_row_first_came_refuses_rows_that_follow_one_another(text: str) -> None:
    with pytest.raises(MuntinError, match=r"in whose place others come|of their own|cannot run yet"):
        plan_query(bind(text, CATALOG, QueryOptions()))
