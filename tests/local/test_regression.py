"""CORR, COVAR_ and REGR_: the evaluator agrees over drawn streams; Spark's answers where there is no line or no number;
how they are written."""

from __future__ import annotations

import pyarrow as pa
import pytest
from draws import seeds
from regression_answers import ANSWERS, NAMES, every
from test_fixed_aggregates import agrees
from test_fixed_queries import STREAMS

import muntin
from muntin.core.errors import QueryError, UnsupportedError
from muntin.cql import bind, to_cql
from muntin.optimizer.plan_text import plan_text
from muntin.plan.catalog import Catalog

CATALOG = Catalog(STREAMS)
QUERIES = {
    "by group": f"SELECT k, {every('v', 'v * v / 3')} FROM A [RANGE 6 SECONDS] GROUP BY k",
    "periodic": f"SELECT {every('v', 'k / 3')} FROM A [RANGE 6 SECONDS SLIDE 2 SECONDS]",
    "of rows": f"SELECT {every('k', 'v')} FROM A [ROWS 4]",
    "filtered": "SELECT CORR(v, k) FILTER (WHERE v > 0) AS c, REGR_COUNT(v, k) FILTER (WHERE k > 1) AS n FROM "
    "A [ROWS 6]",
    "of distinct pairs": f"SELECT k, {every('DISTINCT v % 3', 'k % 2')} FROM A [RANGE 5 SECONDS] GROUP BY k",
    "of distinct pairs of rows": "SELECT CORR(DISTINCT v % 2, k) AS c, COVAR_POP(v % 2, k) AS p FROM A [ROWS 5]",
    "of a join": f"SELECT a.k AS k, {every('a.v', 'b.v', ('CORR', 'REGR_SLOPE', 'COVAR_SAMP'))} FROM "
    "A a [RANGE 6 SECONDS], B b [RANGE 4 SECONDS] WHERE a.k = b.k GROUP BY a.k",
    "of not numbers": "SELECT k, " + every("POWER(v - 2.0D, 0.5D)", "v", ("CORR", "REGR_R2", "REGR_AVGY", "COVAR_POP"))
    + " FROM A [RANGE 5 SECONDS] GROUP BY k",
}  # fmt: skip


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("strategy", ["upa", "nt"])
@seeds(2, 20)
def test_the_local_runtime_gives_the_evaluator_s_answer(name: str, strategy: str, seeds: range) -> None:
    agrees(QUERIES[name], strategy, name, seeds)


@pytest.mark.parametrize("case", ANSWERS)
def test_edges_are_spark_s(case: str) -> None:
    pairs, wanted = ANSWERS[case]
    y, x = (pa.array(column, pa.float64()) for column in zip(*pairs, strict=True))
    rows = pa.table({"ts": pa.array([1] * len(pairs), pa.timestamp("s")), "y": y, "x": x})
    twice = pa.concat_tables([rows, rows])
    for calls, given in ((every("y", "x"), rows), (every("DISTINCT y", "x"), twice)):
        (got,) = muntin.query(f"Rstream(SELECT {calls} FROM s [UNBOUNDED])", s=given).to_pylist()
        assert [got[n.lower()] for n in NAMES] == [
            None if w is None else pytest.approx(w, abs=1e-15, nan_ok=True) for w in wanted
        ]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("CORR(v)", "CORR takes two arguments, as in CORR(x, y)"),
        ("REGR_SLOPE(v)", "REGR_SLOPE takes two arguments, as in REGR_SLOPE(x, y)"),
        ("REGR_SLOPE(v, 'a')", "REGR_SLOPE takes numbers after its first argument"),
        ("COVAR_POP('a', v)", "COVAR_POP takes numbers, not"),
        ("REGR_COUNT(DISTINCT v)", "REGR_COUNT takes two arguments, as in REGR_COUNT(DISTINCT x, y)"),
    ],
)
def test_a_wrong_call_is_told(call: str, message: str) -> None:
    with pytest.raises((QueryError, UnsupportedError)) as raised:
        bind(f"SELECT {call} AS x FROM A [NOW]", CATALOG)
    assert message in str(raised.value)


def test_its_text_and_its_plan_say_the_same() -> None:
    bound = bind("SELECT CORR(v, k) AS x, REGR_R2(v, k) FILTER (WHERE v > 1) AS y FROM A [ROWS 3]", CATALOG)
    assert bind(to_cql(bound), CATALOG).root == bound.root
    assert "corr(A.v, A.k)" in plan_text(bound.root)
