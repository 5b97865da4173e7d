"""Sliding aggregates over values (COUNT(DISTINCT x), order statistics, FREQUENT) that read one synopsis of frequency
counts: every query has the answer of its isolated run, in any company."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from stored import Stored
from test_shared_aggregates import CATALOG, CONDITIONS, SLIDES, asked, data, restarted, run, shown, since

from muntin.cql.binder import bind
from muntin.dataflow.durable import take_up
from muntin.dataflow.explain import explain_graph
from muntin.dataflow.planner import plan_queries
from muntin.dataflow.sharing.rules import shared_graph
from muntin.local.runtime import LocalPipeline
from muntin.operators.group_aggregate import GroupAggregate
from muntin.operators.synopsis import Synopsis
from muntin.plan.windows import QueryOptions
from muntin.state.pane_store import PaneStore

VALUES = (
    ["COUNT(DISTINCT {c})", "COUNT(DISTINCT {c})", "FREQUENT({c}, 2)", "FREQUENT({c}, 9, 0.2)", "MEDIAN({n})"]
    + ["QUANTILE({n}, 0.3)", "QUANTILE({n}, 0.9)", "PERCENTILE_DISC(0.7) WITHIN GROUP (ORDER BY {c})"]
    + ["COUNT(DISTINCT {c}) FILTER (WHERE v > 0)", "MEDIAN({n} + 1)", "SUM(v)", "COUNT(*)", "MAX(x)"]
)


def text(rng: Random, grouped: bool | None = None) -> str:
    """A sliding aggregate over values, with windows, slide, predicate and groups of its own."""
    made = [
        a.format(c=rng.choice(["v", "name", "x", "d", "ok"]), n=rng.choice(["v", "x", "d"]))
        for a in rng.sample(VALUES, rng.randint(1, 3))
    ]
    groups = "k" if grouped else rng.choice(["", "", "k", "k, name"])
    columns = ", ".join([*(f"{a} AS a{i}" for i, a in enumerate(made)), *([groups] if groups else [])])
    length, slide = rng.choice([1, 2, 4, 6, 10, 15, 24, 30]), rng.choice(SLIDES)
    where = " AND ".join(c.format(c=rng.randint(0, 4)) for c in rng.sample(CONDITIONS, rng.choice([0, 0, 1, 2])))
    query = f"SELECT {columns} FROM s [RANGE {length} SECONDS SLIDE {slide} SECONDS]"
    return query + (f" WHERE {where}" if where else "") + (f" GROUP BY {groups}" if groups else "")


@pytest.mark.parametrize("seed", [2, *(pytest.param(s, marks=pytest.mark.slow) for s in range(60) if s != 2)])
def test_random_groups_over_values_have_the_answers_of_isolated_runs(seed: int) -> None:
    rng = Random(7_000 + seed)
    bounds = rng.choice(["half_open", "half_open", "start"])
    texts = [text(rng) for _ in range(rng.choice([2, 3, 8, 20, 40]))]
    plans = plan_queries(bind(t, CATALOG, QueryOptions(bounds=bounds)) for t in texts)
    batches, shards = data(rng), rng.choice([1, 1, 3])
    pipe, together = run(plans, batches, shards)
    for query, plan, rows in zip(texts, plans, together, strict=True):
        assert rows == run([plan], batches, shards)[1][0], query
    if len(texts) > 20:
        assert any(isinstance(v.op, Synopsis) for v in pipe.graph.vertices)


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in range(1, 8))])
def test_counts_are_merged_and_kept_over_restarts_with_others(seed: int, tmp_path: Path) -> None:
    """From the pane store, with neighbours that come and go: who stays answers as alone; state leaves with time."""
    rng = Random(8_000 + seed)
    texts = {f"q{i}": text(rng, grouped=True) for i in range(9)}
    stay = dict(list(texts.items())[:4])
    batches = data(rng, 24)
    results: dict[str, list[pa.Table]] = {name: [] for name in stay}
    pipe, plan, running = None, None, dict(texts)
    for number, batch in enumerate(batches):
        if number % 8 == 0:
            running = stay | dict(rng.sample(sorted(texts.items()), rng.randint(0, 3)))
            plan, _, pipe = restarted(plan, running, number, pipe)
        assert pipe is not None
        for name, table in zip(running, pipe.push_all(batch), strict=True):
            if name in stay:
                results[name].append(table)
        pipe.restart(PaneStore.open(str(tmp_path / "store"), "query", 0), number)
    for name, query in stay.items():
        own = Stored(plan_queries([bind(query, CATALOG)]), 2)
        alone = [own.push_all(b)[0] for b in batches]
        assert shown(pa.concat_tables(results[name])) == shown(pa.concat_tables(alone)), query


def test_a_query_that_comes_later_begins_with_the_panes_that_tell_what_it_asks() -> None:
    """Panes of ten seconds tell nothing of windows of six: those begin with what comes from then on."""
    text = "SELECT k, MEDIAN(v) AS a, COUNT(DISTINCT name) AS b, FREQUENT(v, 2) AS c FROM s [RANGE {r} SECONDS "
    texts = {n: text.format(r=r) + f"SLIDE {s} SECONDS] GROUP BY k" for n, (r, s) in WINDOWS.items()}
    batches, first = data(Random(3), 12), 5
    before = {n: asked(texts[n]) for n in ("long", "short")}
    plan = take_up(None, before, 0, "test")
    pipe = LocalPipeline(list(plan.plans.values()), 2)
    for batch in batches[:first]:
        pipe.push_all(batch)
    later = take_up(plan.durable, before | {n: asked(texts[n]) for n in ("fits", "finer")}, first, "test")
    going = LocalPipeline(list(later.plans.values()), 2)
    going.restore(pipe.cells())
    found = [going.push_all(batch) for batch in batches[first:]]
    rows = [shown(pa.concat_tables(parts)) for parts in zip(*found, strict=True)]
    shown_by = dict(zip(later.plans, rows, strict=True))
    assert shown_by["fits"] == since(texts["fits"], batches, 0, first, 2)
    assert shown_by["finer"] == since(texts["finer"], batches, first, first, 2)
    assert shown_by["finer"] != since(texts["finer"], batches, 0, first, 2)


WINDOWS = {"long": (30, 10), "short": (20, 10), "fits": (10, 10), "finer": (12, 2)}


def test_one_synopsis_holds_each_value_once_however_many_ask() -> None:
    """Forty windows, slides, predicates and functions over one argument: the counts of the longest window alone."""
    rng, batches = Random(1), data(Random(1), 12)
    functions = ("COUNT(DISTINCT v)", "MEDIAN(v)", "QUANTILE(v, 0.9)", "FREQUENT(v, 3)")
    window = "FROM s [RANGE {r} SECONDS SLIDE {s} SECONDS] WHERE k < {k} GROUP BY k"
    texts = [
        f"SELECT k, {functions[i % 4]} AS a " + window.format(r=rng.randint(1, 30), s=(1, 2, 5)[i % 3], k=4 + i % 2)
        for i in range(39)
    ] + ["SELECT k, MEDIAN(v) AS a " + window.format(r=30, s=1, k=4)]
    pipe, together = run(plan_queries(bind(t, CATALOG) for t in texts), batches)
    assert together[-1] == run([pipe.graph.plans[-1]], batches)[1][0]
    assert not any(isinstance(v.op, GroupAggregate) for v in pipe.graph.vertices)
    held = [s for s in pipe.cells().values() if any(n.startswith("values.") for n in s.chunks)]
    assert len(held) == 1 and sum(n.startswith("values.") for n in held[0].chunks) == 1


def test_explain_says_who_shares_frequency_counts() -> None:
    window = "FROM s [RANGE {n} SECONDS SLIDE 2 SECONDS] WHERE k < {n} GROUP BY k"
    functions = (("COUNT(DISTINCT v)", 4), ("MEDIAN(v)", 8), ("FREQUENT(v, 3)", 6))
    graph = shared_graph(plan_queries(bind(f"SELECT k, {f} AS a {window.format(n=n)}", CATALOG) for f, n in functions))
    told = explain_graph("text", graph, ["kinds", "middle", "top"])
    assert "shared by rule synopses in #1: kinds, middle, top" in told
    assert "counts of v" in told
