"""Flexible queries that run early with others of their synopsis: at each instant exactly what the window holds then."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pyarrow.compute as pc
import pytest
from stored import Stored
from test_shared_aggregates import CATALOG, data, grouped, shown
from test_shared_aggregates import text as sliding

from muntin.cql.binder import bind
from muntin.dataflow.durable import Asked, DurablePlan, take_up
from muntin.dataflow.explain import explain_graph
from muntin.dataflow.graph import QueryPlan
from muntin.dataflow.planner import plan_queries, plan_query
from muntin.dataflow.sharing.periods import SHOWN, with_periods
from muntin.dataflow.sharing.rules import shared_graph
from muntin.local.runtime import LocalPipeline
from muntin.operators.synopsis import Synopsis
from muntin.plan.windows import QueryOptions
from muntin.state.pane_partials import Layout, layouts_of
from muntin.state.pane_store import PaneStore

SECOND = 1_000_000

MINUTES = ((10, 2), (5, 2), (6, 2), (15, 3), (12, 3), (20, 5), (30, 5))
"""Windows and SLIDEs of the thesis' example (8.4.3)."""


def planned(texts: list[str], flexible: list[bool], **options: object) -> list[QueryPlan]:
    each = [QueryOptions(periods="flexible" if f else "exact", **options) for f in flexible]  # type: ignore[arg-type]
    return plan_queries(bind(t, CATALOG, o) for t, o in zip(texts, each, strict=True))


def run_each(query: str, plan: QueryPlan) -> str:
    """The query with the SLIDE with which it runs."""
    if plan.early is None:
        return query
    return re.sub(r"SLIDE \d+ SECONDS?", f"SLIDE {plan.early.slide // SECOND} SECONDS", query)


def counted_from(query: str, plan: QueryPlan, bounds: str) -> int:
    """From where the query alone counts its instants so that they are those of its early runs: windows that begin at
    them end elsewhere than those of other lengths do."""
    if plan.early is None or bounds != "start":
        return 0
    found = re.search(r"RANGE (\d+) SECONDS", query)
    assert found is not None
    return (plan.early.origin - int(found[1]) * SECOND) % plan.early.slide


def slides(plans: list[QueryPlan]) -> list[int | None]:
    return [None if p.early is None else p.early.slide // SECOND for p in plans]


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in range(1, 60))])
def test_what_runs_early_is_what_a_query_of_that_slide_shows(seed: int) -> None:
    rng = Random(seed)
    texts = [sliding(rng) for _ in range(rng.choice([8, 20]))]
    options = {"bounds": rng.choice(["half_open", "start", "closed"]), "granule": 1 if seed % 2 else SECOND}
    flexible = [rng.random() < 0.7 for _ in texts]
    plans = with_periods(planned(texts, flexible, **options), "aggressive" if seed % 3 else "hybrid")
    assert all(p.early is None or f for p, f in zip(plans, flexible, strict=True))
    batches, shards = data(rng), rng.choice([1, 3])
    pipe = LocalPipeline(plans, shards)
    end = max(int(t) for b in batches for t in b["s"]["ts"].to_pylist() or [0]) * SECOND + 100 * SECOND
    found = [pipe.push_all(b) for b in batches] + [pipe.push_all({}, until=end)]
    early = 0
    for query, plan, parts in zip(texts, plans, zip(*found, strict=True), strict=True):
        own = QueryOptions(**options, origin=counted_from(query, plan, options["bounds"]))
        alone = LocalPipeline(plan_query(bind(run_each(query, plan), CATALOG, own)), shards)
        want = [alone.push(b) for b in batches] + alone.push_all({}, until=end)
        assert [shown(t) for t in parts] == [shown(t) for t in want], query
        early += run_each(query, plan) != query and any(map(len, want))
    assert early or seed > 2 or not seed % 3, "aggressive scheduling runs some early"


def asked(query: str, periods: str) -> Asked:
    bound = bind(query, CATALOG, QueryOptions(periods=periods))  # type: ignore[arg-type]
    return Asked(bound, lambda places, known: plan_query(bound, places, known))


@pytest.mark.parametrize("seed", [2, *(pytest.param(s, marks=pytest.mark.slow) for s in range(24) if s != 2)])
def test_periods_are_settled_anew_when_queries_come_and_go(seed: int, tmp_path: Path) -> None:
    """Who was there from the beginning is exact at whatever instants it runs: older panes may be coarser."""
    rng = Random(2_000 + seed)
    slide = iter([12, 6, 4, 3, 2, 1])
    texts = {f"q{i}": re.sub(r"SLIDE \d+", f"SLIDE {next(slide, 12)}", grouped(rng)) for i in range(9)}
    batches, shards, running = data(rng, 18), rng.choice([1, 3]), ["q0", "q6", "q7"]
    plan: DurablePlan | None = None
    pipe: Stored | None = None
    alone: dict[str, LocalPipeline] = {}
    periods: set[tuple[str, str]] = set()
    for number, batch in enumerate(batches):
        if number % 3 == 0:
            came = f"q{number // 3}"
            running = [*(n for n in running if n not in ("q1", "q2", "q3") or rng.random() < 0.7), came]
            queries = {n: asked(texts[n], "exact" if n in ("q2", "q4") else "flexible") for n in dict.fromkeys(running)}
            taken = take_up(plan, queries, number, "test")
            plan, cells = taken.durable, {} if pipe is None else pipe.cells()
            plans = list(taken.plans.values())
            ids = [note.vertex for note in shared_graph(plans).shared]
            layouts = {i: layouts_of(c for n, c in cells.items() if n.startswith(f"{i}/")) for i in ids}
            plans = with_periods(plans, "aggressive", held=layouts)
            pipe = Stored(plans, shards)
            pipe.restore({n: c for n, c in cells.items() if taken.since.get(n.partition("/")[0], 0) < number})
        assert pipe is not None
        there = dict(zip(taken.plans, pipe.push_all(batch), strict=True))
        for name in ("q0", "q6", "q7"):
            for each in (12, 6, 4, 3, 2, 1):
                query = re.sub(r"SLIDE \d+", f"SLIDE {each}", texts[name])
                own = alone.setdefault(query, LocalPipeline(plan_query(bind(query, CATALOG)), shards))
                want = own.push(batch)
                if query == run_each(texts[name], plans[list(taken.plans).index(name)]):
                    assert shown(there[name]) == shown(want), (name, number, each)
                    periods.add((name, query))
        pipe.restart(PaneStore.open(str(tmp_path / "store"), "query", 0), number)
    assert len(periods) > (4 if seed == 2 else 2)


def test_panes_that_are_held_have_to_end_where_it_would_run() -> None:
    query = "SELECT k, COUNT(*) AS n FROM s [RANGE 12 SECONDS SLIDE {} SECONDS] GROUP BY k"
    plans = planned([query.format(n) for n in (6, 3, 2)], [True, True, False])
    (note,) = shared_graph(plans).shared

    def with_panes(*grids: int) -> list[int | None]:
        held = {note.vertex: [Layout(g * SECOND, 0, (), ()) for g in grids]}
        return slides(with_periods(plans, "aggressive", held=held))

    assert with_panes() == with_panes(1) == [2, 2, None] and with_panes(2, 1) == [2, None, None]
    assert with_panes(3) == [3, 3, None] and with_panes(6, 2) == [6, None, None]
    assert slides(with_periods(plans, "late_pending")) == [None, None, None]


def example(exact: tuple[int, ...] = ()) -> list[QueryPlan]:
    texts = [f"SELECT MAX(v) AS m FROM s [RANGE {w} SECONDS SLIDE {s} SECONDS]" for w, s in MINUTES]
    return planned(texts, [i not in exact for i in range(len(texts))])


def test_the_example_of_the_thesis() -> None:
    assert slides(with_periods(example(), "aggressive")) == [2] * 7
    assert slides(with_periods(example((3,)), "aggressive")) == [2, 2, 2, None, 2, 2, 2], "exact ones at their own"
    assert slides(with_periods(example((5,)), "aggressive", every=5.0)) == [2, 2, 2, 3, 3, None, 5], "all in each batch"


def test_hybrid_goes_by_what_panes_and_rows_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    assert slides(with_periods(example(), "hybrid")) == [2, 2, 2, 3, 3, 5, 5], "to show a row costs more than its panes"
    monkeypatch.setattr("muntin.dataflow.sharing.periods.SHOWN", 0.0)
    plans = with_periods(example(), "hybrid")
    assert slides(plans) == [2, 2, 2, 2, 2, 5, 5], "as in the text, 8.4.4"
    windows = ((1800, 2), (1799, 3), (30, 3))
    long = [f"SELECT k, SUM(v) AS m FROM s [RANGE {w} SECONDS SLIDE {s} SECONDS] GROUP BY k" for w, s in windows]
    monkeypatch.setattr("muntin.dataflow.sharing.periods.SHOWN", SHOWN)
    assert slides(with_periods(planned(long, [True] * 3), "hybrid")) == [2, 2, 2]
    assert slides(with_periods(planned(long, [True, True, False]), "hybrid")) == [2, 2, None]
    assert slides(with_periods(planned(long, [True] * 3), "hybrid", every=10.0)) == [2, 3, 3], "all in each batch"


def test_explain_says_who_runs_with_whom() -> None:
    graph = shared_graph(with_periods(example((5,)), "aggressive"))
    told = explain_graph("text", graph, [f"q{i}" for i in range(1, 8)])
    assert "shared by rule aggressive scheduling in #1: q1, q2, q3, q4, q5, q7" in told
    assert "2 of SLIDE 3 SECONDS each 2 SECONDS, 1 of SLIDE 5 SECONDS each 2 SECONDS; 3 at their own SLIDE" in told
    assert "RANGE 15 SECONDS SLIDE 3 SECONDS, run each 2 SECONDS" in told


def test_a_run_reports_the_newest_instant_of_each_batch() -> None:
    texts = [f"SELECT k, COUNT(*) AS n FROM s [RANGE 12 SECONDS SLIDE {n} SECONDS] GROUP BY k" for n in (2, 5)]
    plans = with_periods(planned(texts, [False, True]), "aggressive")
    pipe, fewer, told = LocalPipeline(plans, 2), 0, 0
    whole = LocalPipeline([plan_query(bind(texts[0], CATALOG))], 2)
    pipe.live = True
    for batch in data(Random(3), 20):
        exact, flexible = pipe.push_all(batch)
        (all_of,) = whole.push_all(batch)
        newest = max(exact["ts"].to_pylist(), default=None)  # of the instants that have rows
        assert shown(exact) == shown(all_of) and set(flexible["ts"].to_pylist()) <= {newest}
        if len(flexible):
            assert shown(flexible) == shown(exact.filter(pc.equal(exact["ts"], newest)))
        fewer += len(exact) - len(flexible)
        told += len(flexible)
    assert fewer > 20 and told > 20
    assert any(isinstance(v.op, Synopsis) for v in pipe.graph.vertices)
