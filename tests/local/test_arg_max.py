"""ARG_MAX and ARG_MIN: which row they show, what they leave out, how they are written; and the evaluator agrees."""

from __future__ import annotations

import pytest
from draws import seeds
from test_fixed_aggregates import agrees
from test_fixed_queries import STREAMS
from test_local_matches import difference

from muntin.core.errors import QueryError, UnsupportedError
from muntin.cql import bind, to_cql
from muntin.dataflow.planner import plan_query
from muntin.local.runtime import LocalPipeline
from muntin.optimizer.plan_text import plan_text
from muntin.plan.catalog import Catalog
from muntin.reference import run
from muntin.verify.arrow import from_table, to_table

CATALOG = Catalog(STREAMS)
QUERIES = {
    "by group": "SELECT k, ARG_MAX(v, v) AS m, ARG_MIN(k, v) AS n FROM A [RANGE 6 SECONDS] GROUP BY k",
    "ties": "SELECT ARG_MAX(v, k) AS m, ARG_MIN(v, k) AS n FROM A [RANGE 6 SECONDS]",
    "periodic": "SELECT ARG_MAX(v, k) AS m, MIN_BY(k, v) AS n, COUNT(*) AS c FROM A [RANGE 6 SECONDS SLIDE 2 SECONDS]",
    "of rows": "SELECT k, MAX_BY(v, k + v) AS m, ARG_MIN(k, -v) AS n FROM A [ROWS 5] GROUP BY k",
    "filtered": "SELECT ARG_MAX(k, v) FILTER (WHERE v < 3) AS m, ARG_MIN(v, k) FILTER (WHERE v > 0) AS n FROM "
    "A [ROWS 4]",
    "of a join": "SELECT a.k AS k, ARG_MAX(b.v, a.v) AS m FROM A a [RANGE 6 SECONDS], B b [RANGE 4 SECONDS] "
    "WHERE a.k = b.k GROUP BY a.k",
    "in a sub-query": "SELECT a.k AS k, (SELECT ARG_MIN(b.v, b.k) FROM B b [RANGE 9 SECONDS] WHERE b.k = a.k) AS c "
    "FROM A a [RANGE 5 SECONDS]",
    "the last of results": "SELECT ARG_MIN(n, t) AS f, ARG_MAX(n, t) AS l FROM (Istream(SELECT k, COUNT(*) AS n, "
    "MAX(ts) AS t FROM A [RANGE 6 SECONDS] GROUP BY k)) [RANGE 9 SECONDS] AS q",
    "in HAVING": "SELECT k FROM A [RANGE 9 SECONDS] GROUP BY k HAVING ARG_MAX(v, v) > ARG_MIN(v, v) + 1",
}  # fmt: skip


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("strategy", ["upa", "nt"])
@seeds(3, 30)
def test_the_local_runtime_gives_the_evaluator_s_answer(name: str, strategy: str, seeds: range) -> None:
    agrees(QUERIES[name], strategy, name, seeds)


def shown(call: str, rows: list[tuple[int | None, int | None]], window: str = "UNBOUNDED") -> list[int | None]:
    """The answer after each row (k, v), a row a second."""
    bound = bind(f"Rstream(SELECT {call} AS x FROM A [{window}])", CATALOG)
    query = plan_query(bound)
    pipeline = LocalPipeline(query)
    made = [{"ts": t, "k": k, "v": v} for t, (k, v) in enumerate(rows)]
    tables = [pipeline.push({"A": to_table(STREAMS[0], made)}), pipeline.finish()]
    got = [r for t in tables for r in from_table(t, query.schema, query.shows_op)]
    assert not difference(run(bound, {"A": made}), got)
    return [row[0] for _, _, row in got]


def test_the_value_beside_the_greatest_and_the_least() -> None:
    rows = [(1, 5), (2, 9), (3, 2), (4, 7)]
    assert shown("ARG_MAX(k, v)", rows) == [1, 2, 2, 2]
    assert shown("ARG_MIN(k, v)", rows) == [1, 1, 3, 3]


def test_it_falls_back_when_the_row_leaves() -> None:
    rows = [(1, 9), (2, 5), (3, 7), (4, 1)]
    assert shown("ARG_MAX(k, v)", rows, "ROWS 2") == [1, 1, 3, 3]
    assert shown("ARG_MAX(k, v)", rows, "RANGE 2 SECONDS")[:4] == [1, 1, 3, 3]


def test_rows_of_one_key_are_told_apart_by_value() -> None:
    rows = [(5, 1), (3, 1), (8, 1), (None, 1)]
    assert shown("ARG_MAX(k, v)", rows) == [5, 5, 8, 8]
    assert shown("ARG_MIN(k, v)", rows) == [5, 3, 3, None]  # a NULL is below all others


def test_a_null_key_leaves_a_row_out_and_a_null_value_does_not() -> None:
    rows = [(1, None), (None, 2), (3, 1), (4, None)]
    assert shown("ARG_MAX(k, v)", rows) == [None, None, None, None]
    assert shown("ARG_MIN(k, v)", rows) == [None, None, 3, 3]
    assert shown("ARG_MAX(k, v) FILTER (WHERE k IS NOT NULL)", rows) == [None, None, 3, 3]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("ARG_MAX(v)", "ARG_MAX takes two arguments, as in ARG_MAX(x, y)"),
        ("MAX_BY(v, NULL)", "after its first argument, not NULL"),
        ("ARG_MIN(NULL, v)", "ARG_MIN takes numbers, strings"),
        ("ARG_MAX(v, k) IGNORE NULLS", "IGNORE NULLS and RESPECT NULLS go with FIRST and LAST"),
        ("ARG_MAX(SUM(v), k)", "aggregates do not nest"),
        ("ARG_MAX(v, k, 3)", "count"),
        ("ARG_MAX(DISTINCT v, k)", "DISTINCT goes with one argument"),
    ],
)
def test_a_wrong_call_is_told(call: str, message: str) -> None:
    with pytest.raises((QueryError, UnsupportedError)) as raised:
        bind(f"SELECT {call} AS x FROM A [NOW]", CATALOG)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    "rows", ["(Istream(SELECT k, COUNT(*) AS n FROM A [NOW] GROUP BY k)) [RANGE 9 SECONDS] AS q",
             "(SELECT k, COUNT(*) AS n FROM A [RANGE 9 SECONDS] GROUP BY k) AS q"],
)  # fmt: skip
def test_first_of_rows_without_an_event_time_says_what_to_write(rows: str) -> None:
    """``the last of results`` above is what it says."""
    with pytest.raises(UnsupportedError, match=r"show a time there, as MAX\(ts\) AS t, and write ARG_MIN\(x, t\)"):
        plan_query(bind(f"SELECT FIRST(n) AS f FROM {rows}", CATALOG))


@pytest.mark.parametrize("call", ["ARG_MAX(v, k)", "argmin(k, v)", "MAX_BY(v, k) FILTER (WHERE v > 1)"])
def test_its_text_says_the_same(call: str) -> None:
    bound = bind(f"SELECT {call} AS x FROM A [ROWS 3]", CATALOG)
    assert bind(to_cql(bound), CATALOG).root == bound.root


def test_explain_shows_the_call() -> None:
    assert "arg_max(A.v, A.k)" in plan_text(bind("SELECT MAX_BY(v, k) AS x FROM A [NOW]", CATALOG).root)
