"""Joins of INTERNAL with external windows, over drawn streams: the local runtime against the evaluator."""

from __future__ import annotations

from random import Random

import pytest
from test_fixed_queries import STREAMS, answers, draw
from test_local_matches import difference

from muntin.core.errors import UnsupportedError
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


RUNS = [(name, s) for name in QUERIES for s in ("upa", "nt", "direct") if (name, s) != ("a join in FROM", "nt")]
"""Without the one whose rows are taken away by negative tuples, which the planner refuses."""


@pytest.mark.parametrize(("name", "strategy"), RUNS)
def test_the_local_runtime_gives_the_evaluator_s_answer(name: str, strategy: str) -> None:
    bound = bind(QUERIES[name], Catalog(STREAMS), QueryOptions(strategy=strategy))
    query = plan_query(bound)
    for seed in range(10):
        rng = Random(f"{name} {seed}")
        streams = draw(rng)
        got = sorted(answers(query, streams, rng), key=lambda r: r[0])
        assert not (problem := difference(run(bound, streams), got)), f"seed {seed}: {problem}"


def test_a_result_outlives_its_internal_part_and_goes_with_the_external_one() -> None:
    query = plan_query(bind(PAIR.format(a="2 SECONDS", b="RANGE 5 SECONDS"), Catalog(STREAMS)))
    pipeline = LocalPipeline(query)
    rows = {"A": [{"ts": 0, "k": 1, "v": 7}], "B": [{"ts": 1, "k": 1, "v": 8}, {"ts": 3, "k": 1, "v": 9}]}
    tables = [pipeline.push({n: to_table(STREAMS["AB".index(n)], r) for n, r in rows.items()}), pipeline.finish()]
    shown = [r for t in tables for r in from_table(t, query.schema, query.shows_op)]
    assert shown == [(1_000_000, "+", (1, 7, 8)), (6_000_000, "-", (1, 7, 8))]


@pytest.mark.parametrize(
    "text",
    [
        PAIR.format(a="2 SECONDS", b="ROWS 3"),
        "SELECT A.k AS k FROM A [RANGE 2 SECONDS INTERNAL], (SELECT k, COUNT(*) AS n FROM B [NOW] GROUP BY k) q WHERE "
        "A.k = q.k",
    ],
)
def test_external_rows_that_leave_by_negative_tuples_are_refused(text: str) -> None:
    with pytest.raises(UnsupportedError, match="negative tuples"):
        plan_query(bind(text, Catalog(STREAMS)))
