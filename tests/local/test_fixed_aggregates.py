"""FILTER, DISTINCT and IGNORE NULLS in aggregates, over drawn streams with NULLs: the local runtime against the
evaluator."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pytest
from draws import seeds
from test_fixed_queries import STREAMS, answers, draw
from test_local_matches import difference

import muntin
from muntin.core.errors import DataError
from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_query
from muntin.local.runtime import LocalPipeline
from muntin.plan.catalog import Catalog
from muntin.plan.windows import QueryOptions
from muntin.reference import run
from muntin.verify.arrow import from_table, to_table

QUERIES = {
    "filters by group": "SELECT k, COUNT(*) FILTER (WHERE v > 2) AS n, SUM(v) FILTER (WHERE v > 1) AS s FROM "
    "A [RANGE 6 SECONDS] GROUP BY k",
    "periodic filters": "SELECT COUNT(*) FILTER (WHERE v > 2) AS n, MIN(v) FILTER (WHERE k = 1) AS s, "
    "AVG(v) FILTER (WHERE v < 3) AS a FROM A [RANGE 6 SECONDS SLIDE 2 SECONDS]",
    "filters of holistic aggregates": "SELECT MEDIAN(v) FILTER (WHERE k = 2) AS f, COLLECT(v) FILTER (WHERE v < 3) "
    "AS l, STDDEV(v) FILTER (WHERE v <> 1) AS d FROM A [RANGE 6 SECONDS]",
    "first and last": "SELECT k, FIRST(v) FILTER (WHERE v IS NULL OR v < 3) AS f, LAST(v) IGNORE NULLS AS l FROM "
    "A [RANGE 6 SECONDS] GROUP BY k",
    "distinct by group": "SELECT k, SUM(DISTINCT v) AS s, AVG(DISTINCT v) AS a, COLLECT(DISTINCT v) AS c, "
    "MEDIAN(DISTINCT v) AS m, STDDEV(DISTINCT v) AS d, COUNT(DISTINCT v) AS n FROM A [RANGE 12 SECONDS] GROUP BY k",
    "distinct of rows": "SELECT k, SUM(DISTINCT v) AS s, AVG(DISTINCT CAST(v AS DOUBLE)) AS a, "
    "SUM(DISTINCT v) FILTER (WHERE v > 1) AS c FROM A [ROWS 5] GROUP BY k",
    "periodic distinct": "SELECT SUM(DISTINCT v) AS s, AVG(DISTINCT CAST(v AS DECIMAL(10, 2))) AS a FROM "
    "A [RANGE 12 SECONDS SLIDE 3 SECONDS]",
    "having": "SELECT k FROM A [RANGE 9 SECONDS] GROUP BY k HAVING COUNT(*) FILTER (WHERE v > 1) > SUM(DISTINCT v) - 4",
    "truth": "SELECT BOOL_OR(v > 2) AS some, BOOL_AND(v > 0) AS every, COUNT_IF(v = 1) AS n FROM A [ROWS 4]",
    "in a sub-query": "SELECT a.k AS k, (SELECT SUM(DISTINCT b.v) FILTER (WHERE b.v > 0) FROM B b [RANGE 9 SECONDS] "
    "WHERE b.k = a.k) AS c FROM A a [RANGE 9 SECONDS]",
    "tried by group": "SELECT k, TRY_SUM(v * 90000000000000000) AS s, TRY_SUM(DISTINCT v) AS d, TRY_AVG(v) AS a FROM "
    "A [RANGE 6 SECONDS] GROUP BY k",
    "tried, periodic": "SELECT TRY_SUM(v * 90000000000000000) AS s, TRY_AVG(CAST(v AS DOUBLE)) AS a, "
    "TRY_SUM(CAST(v AS DECIMAL(38, 0)) * 1000000000000000000000000000000000000) AS m FROM "
    "A [RANGE 6 SECONDS SLIDE 2 SECONDS]",
    "nothing collected": "SELECT a.k AS k, (SELECT COLLECT(b.v) FROM B b [RANGE 4 SECONDS] WHERE b.k = a.k) AS c "
    "FROM A a [RANGE 3 SECONDS]",
}


def with_nulls(streams: dict[str, list[dict[str, Any]]], rng: Random) -> dict[str, list[dict[str, Any]]]:
    """The streams with small values that repeat, and NULLs."""
    return {n: [r | {"v": rng.choice((None, 0, 1, 2, 3, r["v"]))} for r in rows] for n, rows in streams.items()}


def agrees(text: str, strategy: str, name: str, seeds: range) -> None:
    """The local runtime gives the evaluator's answers over the streams that are drawn for a name and these seeds."""
    bound = bind(text, Catalog(STREAMS), QueryOptions(strategy=strategy))
    query = plan_query(bound)
    for seed in seeds:
        rng = Random(f"{name} {seed}")
        streams = with_nulls(draw(rng), rng)
        got = sorted(answers(query, streams, rng), key=lambda r: r[0])
        assert not (problem := difference(run(bound, streams), got)), f"seed {seed}: {problem}"


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("strategy", ["upa", "nt", "direct"])
@seeds(3, 30)
def test_the_local_runtime_gives_the_evaluator_s_answer(name: str, strategy: str, seeds: range) -> None:
    agrees(QUERIES[name], strategy, name, seeds)


def rows_of(text: str, values: list[int | None]) -> list[Any]:
    """What a query over A shows, a row a second with these values."""
    query = plan_query(bind(text, Catalog(STREAMS)))
    pipeline = LocalPipeline(query)
    rows = [{"ts": t, "k": 1, "v": v} for t, v in enumerate(values)]
    tables = [pipeline.push({"A": to_table(STREAMS[0], rows)}), pipeline.finish()]
    return [r for t in tables for r in from_table(t, query.schema, query.shows_op)]


def test_a_filter_leaves_rows_out() -> None:
    text = (
        "Rstream(SELECT COUNT(*) FILTER (WHERE v > 2) AS n, SUM(v) FILTER (WHERE v > 2) AS s, "
        "FIRST(v) FILTER (WHERE v IS NULL OR v > 2) AS f, LAST(v) IGNORE NULLS AS l FROM A [UNBOUNDED])"
    )
    assert [row for _, _, row in rows_of(text, [1, None, 5, 4, None])] == [
        (0, None, None, 1), (0, None, None, 1), (1, 5, None, 5), (2, 9, None, 4), (2, 9, None, 4),
    ]  # fmt: skip


def test_distinct_values_count_once() -> None:
    text = "Rstream(SELECT SUM(DISTINCT v) AS s, AVG(DISTINCT v) AS a FROM A [RANGE 3 SECONDS])"
    shown = [row for _, _, row in rows_of(text, [1, 1, 4, None, 4])]
    assert shown == [(1, 1.0), (1, 1.0), (5, 2.5), (5, 2.5), (4, 4.0), (4, 4.0), (4, 4.0), (None, None)]


@pytest.mark.parametrize("window", ["[RANGE 9 SECONDS SLIDE 9 SECONDS]", "[RANGE 9 SECONDS]"])
def test_integers_beyond_those_of_a_bigint(window: str) -> None:
    """Unsigned ones have their order and their sums; a variance is that of the nearest doubles."""
    values = [5, 2**64 - 1, 2**63, 1, 2]
    times = pa.array([1_000_000] * 5, pa.timestamp("us"))
    rows = pa.table({"ts": times, "u": pa.array(values, pa.uint64()), "v": pa.array([2**62] * 4 + [2**62 + 2**40])})

    def one(columns: str) -> dict[str, Any]:
        return muntin.query(f"Rstream(SELECT {columns} FROM s {window})", s=rows).to_pylist()[0]

    for name, expected in (("MAX", 2**64 - 1), ("MIN", 1), ("MEDIAN", 5.0), ("AVG", sum(values) / 5)):
        assert one(f"{name}(u) AS a")["a"] == expected
    with pytest.raises(DataError, match="outside 64 bits"):
        one("SUM(u) AS a")
    assert one("STDDEV_POP(v) AS a")["a"] == pytest.approx(0.4 * 2**40)
    found = muntin.query(f"SELECT u FROM s {window} ORDER BY u DESC LIMIT 2", s=rows)["u"].to_pylist()
    assert sorted(found[:2]) == [2**63, 2**64 - 1]


def test_an_overflow_that_is_tried_is_null_until_its_rows_leave() -> None:
    text = "Rstream(SELECT TRY_SUM(v) AS s, TRY_AVG(v) AS a FROM A [RANGE 2 SECONDS])"
    shown = [row for _, _, row in rows_of(text, [2**62, 2**62, 1, None])]
    assert shown == [(2**62, 2.0**62), (None, 2.0**62), (2**62 + 1, 2.0**61), (1, 1.0), (None, None), (None, None)]
