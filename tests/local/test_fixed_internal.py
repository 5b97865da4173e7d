"""Joins of INTERNAL with external windows, over drawn streams: the local runtime against the evaluator."""

from __future__ import annotations

from random import Random

import pytest
from test_fixed_queries import STREAMS, answers, draw
from test_local_matches import difference

from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_query
from muntin.local.runtime import LocalPipeline
from muntin.plan.catalog import Catalog
from muntin.plan.windows import QueryOptions
from muntin.reference import run
from muntin.verify.arrow import from_table, to_table

PAIR = "SELECT A.k AS k, A.v AS v, B.v AS w FROM A [RANGE {a} INTERNAL], B [{b}] WHERE A.k = B.k"
QUERIES = {
    "one external": PAIR.format(a="6 SECONDS", b="RANGE 3 SECONDS"),
    "no key": "SELECT A.v AS v, B.v AS w FROM A [RANGE 6 SECONDS INTERNAL], B [RANGE 3 SECONDS] WHERE A.v < B.v",
    "slide outside": PAIR.format(a="2 SECONDS", b="RANGE 8 SECONDS SLIDE 3 SECONDS"),
    "slide inside": PAIR.format(a="4 SECONDS SLIDE 3 SECONDS", b="RANGE 8 SECONDS"),
    "two slides": PAIR.format(a="4 SECONDS SLIDE 3 SECONDS", b="RANGE 8 SECONDS SLIDE 5 SECONDS"),
    "both internal, two slides": PAIR.format(
        a="4 SECONDS SLIDE 3 SECONDS", b="RANGE 8 SECONDS SLIDE 5 SECONDS INTERNAL"
    ),
    "equal results of internal windows": "SELECT A.k AS k FROM A [RANGE 2 SECONDS INTERNAL], B [RANGE 3 SECONDS "
    "INTERNAL] WHERE A.k = B.k",
    "unbounded": PAIR.format(a="6 SECONDS", b="UNBOUNDED"),
    "now": f"Istream({PAIR.format(a='6 SECONDS', b='NOW')})",
    "two external": "SELECT A.v AS v, B.v AS w, C.v AS x FROM A [RANGE 6 SECONDS INTERNAL], B [RANGE 3 SECONDS], "
    "A C [RANGE 8 SECONDS] WHERE A.k = B.k AND B.k = C.k",
    "two internal": "SELECT A.v AS v, B.v AS w, C.v AS x FROM A [RANGE 6 SECONDS INTERNAL], B [RANGE 3 SECONDS], "
    "A C [RANGE 8 SECONDS INTERNAL] WHERE A.k = B.k AND B.v > C.v",
    "deletions": f"Dstream({PAIR.format(a='6 SECONDS', b='RANGE 3 SECONDS')})",
    "snapshots": f"Rstream({PAIR.format(a='2 SECONDS', b='RANGE 7 SECONDS')})",
    "a join in FROM": "SELECT A.k AS k, q.v AS w FROM A [RANGE 2 SECONDS INTERNAL], (SELECT B.k AS k, C.v AS v FROM "
    "B [RANGE 4 SECONDS], A C [RANGE 3 SECONDS] WHERE B.k = C.k) q WHERE A.k = q.k",
    "counted": "SELECT A.k AS k, COUNT(*) AS n FROM A [RANGE 4 SECONDS SLIDE 2 SECONDS INTERNAL], "
    "B [RANGE 3 SECONDS SLIDE 2 SECONDS] WHERE A.k = B.k GROUP BY A.k",
}


EVERY = "SELECT A.k AS k, A.v AS v FROM A [{a} INTERNAL]"
INSIDE = "SELECT A.k AS k, A.v AS v FROM A [{a}] WHERE EXISTS (SELECT 1 FROM B [{b}] WHERE B.k = A.k AND B.v >= A.v)"
COUNTS = "(SELECT k, COUNT(*) AS n FROM B [{b}] GROUP BY k) q"
QUERIES |= {
    "now alone": EVERY.format(a="NOW"),
    "rows alone": EVERY.format(a="ROWS 2"),
    "rows of partitions alone": EVERY.format(a="PARTITION BY k ROWS 1"),
    "rows that slide alone": EVERY.format(a="ROWS 2 SLIDE 2"),
    "rows that slide in time alone": EVERY.format(a="ROWS 2 SLIDE 3 SECONDS"),
    "time that slides by rows alone": EVERY.format(a="RANGE 3 SECONDS SLIDE 2"),
    "unbounded alone": EVERY.format(a="UNBOUNDED"),
    "both of rows": PAIR.replace("RANGE {a}", "ROWS 2").format(b="ROWS 3 INTERNAL"),
    "rows and time": PAIR.replace("RANGE {a}", "ROWS 2").format(b="RANGE 3 SECONDS INTERNAL"),
    "partitions and time": PAIR.format(a="2 SECONDS", b="PARTITION BY k ROWS 1 INTERNAL"),
    "now beside negation": "SELECT A.v AS v, q.v AS w FROM A [NOW INTERNAL], (SELECT B.k AS k, B.v AS v FROM B "
    "[RANGE 3 SECONDS] WHERE NOT EXISTS (SELECT 1 FROM A C [NOW] WHERE C.k = B.k AND C.v > B.v)) q WHERE A.k = q.k",
    "external rows": PAIR.format(a="2 SECONDS", b="ROWS 3"),
    "external rows that slide": PAIR.format(a="2 SECONDS", b="ROWS 2 SLIDE 2"),
    "external rows of partitions": PAIR.format(a="3 SECONDS", b="PARTITION BY k ROWS 1"),
    "external time that slides by rows": PAIR.format(a="2 SECONDS", b="RANGE 3 SECONDS SLIDE 2"),
    "rows beside external time": PAIR.replace("RANGE {a}", "ROWS 2").format(b="RANGE 3 SECONDS"),
    "rows beside external rows": PAIR.replace("RANGE {a}", "ROWS 2").format(b="ROWS 3"),
    "now beside external rows": PAIR.replace("RANGE {a}", "NOW").format(b="ROWS 3"),
    "unbounded beside external rows": PAIR.replace("RANGE {a}", "UNBOUNDED").format(b="ROWS 3"),
    "rows beside rows in time": PAIR.replace("RANGE {a}", "ROWS 2").format(b="ROWS 3 SLIDE 2 SECONDS"),
    "two external, of rows and of time": "SELECT A.v AS v, B.v AS w, C.v AS x FROM A [RANGE 6 SECONDS INTERNAL], "
    "B [ROWS 3], A C [RANGE 2 SECONDS] WHERE A.k = B.k AND B.v > C.v",
    "two external of rows": "SELECT A.k AS k, B.k AS l FROM A [RANGE 6 SECONDS INTERNAL], B [ROWS 3], A C [ROWS 2] "
    "WHERE A.k = B.k AND B.v > C.v",
    "equal results beside external rows": "SELECT B.k AS k FROM A [RANGE 3 SECONDS INTERNAL], B [ROWS 2] "
    "WHERE A.k = B.k",
    "an aggregate": f"SELECT A.k AS k, A.v AS v, q.n AS n FROM A [RANGE 3 SECONDS INTERNAL], "
    f"{COUNTS.format(b='RANGE 2 SECONDS')} WHERE A.k = q.k",
    "an aggregate over an INTERNAL window": f"SELECT A.k AS k, A.v AS v, q.n AS n FROM A [RANGE 3 SECONDS INTERNAL], "
    f"{COUNTS.format(b='RANGE 2 SECONDS INTERNAL')} WHERE A.k = q.k",
    "rows beside an aggregate": f"SELECT A.k AS k, A.v AS v, q.n AS n FROM A [ROWS 2 INTERNAL], "
    f"{COUNTS.format(b='NOW')} WHERE A.k = q.k",
    "an aggregate over rows": "SELECT A.k AS k, COUNT(*) AS n FROM A [ROWS 3 INTERNAL] GROUP BY A.k",
    "an aggregate over all rows": "SELECT SUM(A.v) AS n FROM A [UNBOUNDED INTERNAL]",
    "DISTINCT beside": "SELECT A.v AS v, q.k AS k FROM A [RANGE 3 SECONDS INTERNAL], (SELECT DISTINCT k FROM B "
    "[RANGE 2 SECONDS]) q WHERE A.k = q.k",
    "negation beside": "SELECT A.v AS v, q.v AS w FROM A [RANGE 3 SECONDS INTERNAL], (SELECT * FROM B [RANGE 4 "
    "SECONDS] WHERE NOT EXISTS (SELECT 1 FROM A C [RANGE 2 SECONDS] WHERE C.k = B.k)) q WHERE A.k = q.k",
    "a union beside": "SELECT A.k AS k, q.v AS w FROM A [RANGE 3 SECONDS INTERNAL], (SELECT k, v FROM B [ROWS 2] UNION "
    "ALL SELECT k, v FROM A C [RANGE 2 SECONDS]) q WHERE A.k = q.k",
    "a union of INTERNAL and rows beside": "SELECT A.k AS k, q.v AS w FROM A [RANGE 3 SECONDS INTERNAL], (SELECT k, v "
    "FROM B [ROWS 2] UNION ALL SELECT k, v FROM A C [ROWS 1 INTERNAL]) q WHERE A.k = q.k",
    "a union of INTERNAL and external": "SELECT k, v FROM B [ROWS 2] UNION ALL SELECT k, v FROM A [RANGE 2 SECONDS "
    "INTERNAL]",
    "exists": INSIDE.format(a="RANGE 3 SECONDS INTERNAL", b="RANGE 2 SECONDS INTERNAL"),
    "exists, left external": INSIDE.format(a="RANGE 5 SECONDS", b="RANGE 1 SECONDS INTERNAL"),
    "exists, right external": INSIDE.format(a="RANGE 3 SECONDS INTERNAL", b="RANGE 4 SECONDS"),
    "exists, of rows": INSIDE.format(a="ROWS 2 INTERNAL", b="ROWS 1 INTERNAL"),
    "exists, of rows, left external": INSIDE.format(a="ROWS 3", b="ROWS 1 INTERNAL"),
    "exists, of rows, right external": INSIDE.format(a="ROWS 2 INTERNAL", b="ROWS 2"),
    "exists, rows outside": INSIDE.format(a="ROWS 3 INTERNAL", b="RANGE 1 SECONDS INTERNAL"),
    "exists, rows inside": INSIDE.format(a="RANGE 4 SECONDS INTERNAL", b="ROWS 1 INTERNAL"),
    "exists, external rows inside": INSIDE.format(a="RANGE 4 SECONDS INTERNAL", b="ROWS 1"),
    "exists, all rows": INSIDE.format(a="UNBOUNDED INTERNAL", b="NOW INTERNAL"),
    "exists of an aggregate": "SELECT A.k AS k, A.v AS v FROM A [RANGE 3 SECONDS INTERNAL] WHERE EXISTS (SELECT 1 FROM "
    f"{COUNTS.format(b='RANGE 2 SECONDS')} WHERE q.k = A.k AND q.n > 1)",
    "in": "SELECT A.k AS k FROM A [ROWS 2 INTERNAL] WHERE A.v IN (SELECT v FROM B [RANGE 2 SECONDS INTERNAL])",
    "exists beside a join": "SELECT A.k AS k, C.v AS w FROM A [RANGE 3 SECONDS INTERNAL], A C [RANGE 2 SECONDS "
    "INTERNAL] WHERE A.k = C.k AND EXISTS (SELECT 1 FROM B [RANGE 2 SECONDS INTERNAL] WHERE B.k = A.k)",
    "exists beside a join with external rows": "SELECT A.k AS k, C.v AS w FROM A [RANGE 3 SECONDS INTERNAL], "
    "A C [ROWS 2] WHERE A.k = C.k AND EXISTS (SELECT 1 FROM B [RANGE 2 SECONDS INTERNAL] WHERE B.k = A.k)",
    "exists inside a join": "SELECT q.k AS k, C.v AS w FROM A C [RANGE 3 SECONDS INTERNAL], (SELECT k, v FROM A [RANGE "
    "3 SECONDS INTERNAL] WHERE EXISTS (SELECT 1 FROM B [RANGE 1 SECONDS INTERNAL] WHERE B.k = A.k)) q WHERE q.k = C.k",
    "two exists": INSIDE.format(a="RANGE 3 SECONDS INTERNAL", b="RANGE 2 SECONDS") + " AND EXISTS (SELECT 1 FROM B "
    "[ROWS 2 INTERNAL] WHERE B.k = A.k)",
    "results": "SELECT q.k AS k, B.v AS w FROM (SELECT k, v FROM A [RANGE 2 SECONDS]) [ROWS 2 INTERNAL] AS q, B [ROWS "
    "2] WHERE q.k = B.k",
    "deletions beside rows": f"Dstream({PAIR.format(a='6 SECONDS', b='ROWS 2')})",
    "snapshots beside rows": f"Rstream({PAIR.format(a='2 SECONDS', b='ROWS 2')})",
    "slides beside rows": PAIR.format(a="4 SECONDS SLIDE 3 SECONDS", b="ROWS 2"),
}


def check(name: str, strategy: str, seeds: range) -> None:
    bound = bind(QUERIES[name], Catalog(STREAMS), QueryOptions(strategy=strategy))
    query = plan_query(bound)
    for seed in seeds:
        rng = Random(f"{name} {seed}")
        streams = draw(rng)
        got = sorted(answers(query, streams, rng), key=lambda r: r[0])
        assert not (problem := difference(run(bound, streams), got)), f"{strategy}, seed {seed}: {problem}"


@pytest.mark.parametrize("name", QUERIES)
def test_the_local_runtime_gives_the_evaluator_s_answer(name: str) -> None:
    check(name, "upa", range(2))
    check(name, ("nt", "direct")[len(name) % 2], range(2, 3))


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["upa", "nt", "direct"])
@pytest.mark.parametrize("name", QUERIES)
def test_the_local_runtime_gives_the_evaluator_s_answer_often(name: str, strategy: str) -> None:
    check(name, strategy, range(3, 30))


def shown(text: str, rows: dict[str, list[dict[str, int]]]) -> list[tuple[int, str | None, tuple[int, ...]]]:
    """The result rows as the runtime gives them, held against the evaluator's."""
    bound = bind(text, Catalog(STREAMS))
    query = plan_query(bound)
    pipeline = LocalPipeline(query)
    tables = [pipeline.push({n: to_table(STREAMS["AB".index(n)], r) for n, r in rows.items()}), pipeline.finish()]
    found = [r for t in tables for r in from_table(t, query.schema, query.shows_op)]
    assert not difference(run(bound, rows), found)
    return found


def at(second: int, k: int, v: int) -> dict[str, int]:
    return {"ts": second, "k": k, "v": v}


def test_a_result_comes_though_an_equal_row_leaves_at_that_instant() -> None:
    """Both rows of A have the values that the query shows; the first leaves its window as the second comes."""
    text = (
        "SELECT A.k AS k, C.v AS w FROM A [RANGE 2 SECONDS INTERNAL], B C [RANGE 9 SECONDS INTERNAL] WHERE A.k = C.k "
        "AND EXISTS (SELECT 1 FROM B [RANGE 9 SECONDS INTERNAL] WHERE B.k = A.k)"
    )
    rows = {"A": [at(1, 1, 5), at(3, 1, 5)], "B": [at(0, 1, 8)]}
    assert shown(text, rows) == [(1_000_000, "+", (1, 8)), (3_000_000, "+", (1, 8))]
    rows_of_one = text.replace("RANGE 2 SECONDS", "ROWS 1")
    assert shown(rows_of_one, rows) == [(1_000_000, "+", (1, 8)), (3_000_000, "+", (1, 8))]


def test_a_row_that_exists_lets_pass_is_one_result_however_many_partners_it_meets() -> None:
    text = "SELECT A.v AS v FROM A [RANGE 9 SECONDS INTERNAL] WHERE EXISTS (SELECT 1 FROM B [{b}] WHERE B.k = A.k)"
    rows = {"A": [at(0, 1, 5), at(0, 1, 5)], "B": [at(1, 1, 0), at(2, 2, 0), at(4, 1, 0)]}
    assert shown(text.format(b="ROWS 1 INTERNAL"), rows) == [(1_000_000, "+", (5,))] * 2
    left = [(1_000_000, "+", (5,)), (2_000_000, "-", (5,)), (4_000_000, "+", (5,))]
    assert shown(text.format(b="ROWS 1"), rows) == [r for r in left for _ in range(2)]


def test_a_result_leaves_with_the_external_row_that_a_later_one_pushes_out() -> None:
    text = "SELECT A.v AS v, B.v AS w FROM A [RANGE 2 SECONDS INTERNAL], B [ROWS 1] WHERE A.k = B.k"
    rows = {"A": [at(0, 1, 5)], "B": [at(1, 1, 7), at(9, 1, 8)]}
    assert shown(text, rows) == [(1_000_000, "+", (5, 7)), (9_000_000, "-", (5, 7))]


def test_a_result_outlives_its_internal_part_and_goes_with_the_external_one() -> None:
    rows = {"A": [at(0, 1, 7)], "B": [at(1, 1, 8), at(3, 1, 9)]}
    text = PAIR.format(a="2 SECONDS", b="RANGE 5 SECONDS")
    assert shown(text, rows) == [(1_000_000, "+", (1, 7, 8)), (6_000_000, "-", (1, 7, 8))]


BOUNDED = ("external rows", "an aggregate", "exists", "exists, of rows")


@pytest.mark.parametrize("name", BOUNDED)
def test_state_is_that_of_external_windows_however_many_results_there_were(name: str) -> None:
    """Thesis 3.3.2: rows that expired are removed, though results stay."""
    pipeline = LocalPipeline(plan_query(bind(QUERIES[name], Catalog(STREAMS))))
    sizes = []
    for second in range(0, 3_000, 100):
        rows = {n: [at(second + i, i % 7, i % 5) for i in range(100)] for n in "AB"}
        pipeline.push({n: to_table(STREAMS["AB".index(n)], r) for n, r in rows.items()})
        sizes.append(sum(state.rows() for states in pipeline.states for state in states.values()))
    assert max(sizes[20:]) <= 1.25 * max(sizes[:20])
