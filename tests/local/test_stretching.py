"""Queries whose period is flexible report the newest instant of a batch, and exactly what it is."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pytest
from test_sharing import CATALOG, data

from muntin.core.errors import ConfigError
from muntin.cql.binder import bind
from muntin.cql.options import query_options
from muntin.dataflow.graph import Graph
from muntin.dataflow.planner import plan_queries, plan_query
from muntin.engine.clocks import Times
from muntin.engine.lateness import lateness, skipped
from muntin.engine.stretching import stretched, why_not
from muntin.local.runtime import LocalPipeline
from muntin.plan.windows import QueryOptions

FLEXIBLE = QueryOptions(periods="flexible")
SECOND = 1_000_000

TEXTS = [
    "SELECT k, COUNT(*) AS n, MEDIAN(v) AS m FROM A [RANGE 9 SECONDS SLIDE 2 SECONDS] GROUP BY k",
    "SELECT COUNT(*) AS n FROM A [RANGE 9 SECONDS SLIDE 3 SECONDS]",
    "SELECT j, v FROM A [RANGE 4 SECONDS SLIDE 1 SECOND] WHERE v > 2",
    "SELECT a.v AS x, b.v AS y FROM A [RANGE 5 SECONDS SLIDE 2 SECONDS] a, B [RANGE 4 SECONDS SLIDE 3 SECONDS] b "
    "WHERE a.k = b.k",
    "RSTREAM(SELECT DISTINCT j FROM A [RANGE 5 SECONDS SLIDE 2 SECONDS])",
]


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(zip(*(c.to_pylist() for c in table.columns), strict=True), key=repr)


def times_of(table: pa.Table) -> list[int]:
    return table.column("ts").cast(pa.int64()).to_pylist()


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("seed", range(2))
def test_the_newest_instant_of_each_batch_as_it_is(text: str, seed: int) -> None:
    rng = Random(seed)
    plan = plan_query(bind(text, CATALOG, FLEXIBLE))
    exact, flexible = LocalPipeline(plan_query(bind(text, CATALOG)), 3), LocalPipeline(plan, 2)
    replay = LocalPipeline(plan)
    flexible.live, fewer = True, 0
    for batch in data(seed):
        wait = [0] if rng.random() < 0.4 else []
        want, got = exact.push_all(batch, deferred=wait)[0], flexible.push_all(batch, deferred=wait)[0]
        assert rows(replay.push_all(batch, deferred=wait)[0]) == rows(want), "a replay reports every instant"
        newest = max(times_of(want), default=None)
        assert set(times_of(got)) <= {newest}
        if newest in times_of(got):
            assert rows(got) == [r for r in rows(want) if r[-1].timestamp() * SECOND == newest]
        fewer += len(want) - len(got)
    assert fewer > 5
    assert rows(flexible.finish()) == rows(exact.finish()), "at the end of input all that is left"


SUMS = "SELECT k, SUM(v) AS s FROM A [RANGE {} SECONDS SLIDE 2 SECONDS] GROUP BY k"


@pytest.mark.parametrize("others", [[], [SUMS.format(12), SUMS.format(20)]], ids=["alone", "with others"])
@pytest.mark.parametrize("text", [TEXTS[0], SUMS.format(8)])
def test_one_answer_for_an_exact_and_a_flexible_query(text: str, others: list[str]) -> None:
    more = [bind(t, CATALOG, FLEXIBLE) for t in others]
    pipe, fewer = LocalPipeline(plan_queries([bind(text, CATALOG), bind(text, CATALOG, FLEXIBLE), *more]), 1), 0
    pipe.live = True
    for batch in data():
        one, two, *rest = pipe.push_all(batch)
        assert all(len(set(times_of(t))) <= 1 for t in rest)
        newest = max(times_of(one), default=None)
        assert rows(two) == [r for r in rows(one) if r[-1].timestamp() * SECOND == newest]
        fewer += len(one) - len(two)
    assert fewer > 50


def test_lateness_in_periods() -> None:
    plans = plan_queries([bind(t, CATALOG, FLEXIBLE) for t in (*TEXTS[:2], "SELECT k FROM A [NOW]")])
    graph = Graph.of(plans)
    (domain,) = range(len(graph.domains))

    def of(before: int, watermark: int, deferred: tuple[int, ...] = (), **more: Any) -> list[int | None]:
        times = Times((before * SECOND,), (watermark * SECOND,), (before * SECOND,), (), deferred, **more)
        assert [skipped(graph, q, times) for q in range(3)] == [0, 0, 0], "a replay skips nothing"
        found = stretched(graph, times)
        assert [skipped(graph, q, found) for q in (0, 1)] == [
            0 if q in deferred else lateness(graph, q, found) for q in (0, 1)
        ]
        return [lateness(graph, q, times) for q in range(3)]

    assert domain == 0
    assert of(10, 11) == [0, 0, None] and of(10, 12) == [0, 0, None]
    assert of(10, 13) == [1, 0, None], "of 10 and 12 the first comes a period late"
    assert of(10, 22) == [5, 3, None]
    assert of(10, 22, (0,)) == [6, 3, None], "and is late by one more where it waits"
    assert of(20, 22, (), behind={0: 10 * SECOND}) == [5, 0, None]


def test_sessions_have_no_period_to_be_late_by() -> None:
    text = "SELECT k, COUNT(*) AS n FROM A [PARTITION BY k SESSION 5 SECONDS] GROUP BY k"
    graph = Graph.of(plan_queries([bind(text, CATALOG)]))
    assert lateness(graph, 0, Times((10 * SECOND,), (22 * SECOND,), (10 * SECOND,), (), ())) is None


@pytest.mark.parametrize(
    "text, reason",
    [
        ("SELECT k FROM A [RANGE 5 SECONDS]", "no SLIDE"),
        ("ISTREAM(SELECT k FROM A [RANGE 5 SECONDS SLIDE 1 SECOND])", "what changes"),
        ("SELECT k FROM A [RANGE 2 DAYS SLIDE 1 MONTH]", "of months"),
    ],
)
def test_which_periods_cannot_be_flexible(text: str, reason: str) -> None:
    assert reason in (why_not(plan_query(bind(text, CATALOG, FLEXIBLE))) or "")
    assert why_not(plan_query(bind(TEXTS[0], CATALOG))) is None


def test_options() -> None:
    assert query_options({"periods": "flexible", "priority": 3}) == QueryOptions(periods="flexible", priority=3)
    with pytest.raises(ConfigError, match="'often' is none of exact, flexible"):
        query_options({"periods": "often"})
    with pytest.raises(ConfigError, match="not an integer; the greater, the earlier"):
        query_options({"priority": "high"})
    hinted = plan_query(bind(TEXTS[0], CATALOG, QueryOptions(priority=2, periods="flexible")))
    assert plan_query(bind(TEXTS[0], CATALOG)).id == hinted.id, "hints are in no id"
