"""Queries with equal parts: each part is done and kept once, and every query has the answer that it has alone."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.explain import explain_graph
from muntin.dataflow.graph import Graph
from muntin.dataflow.planner import plan_queries, plan_query
from muntin.engine.meter import Meter
from muntin.local.runtime import LocalPipeline
from muntin.operators.joins.window_join import WindowJoin
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.windows import QueryOptions

SCHEMA = Schema.of(ts=pa.int64(), k=pa.int64(), j=pa.int64(), v=pa.int64())
CATALOG = Catalog(tuple(Stream(n, SCHEMA, "ts", ts_unit=1_000_000, order=i) for i, n in enumerate("ABC")))
FROM = "FROM A [RANGE 20 SECONDS] {a}, B [RANGE 10 SECONDS] {b} WHERE {a}.k = {b}.k"
JOIN = "SELECT {a}.k AS key{n}, {b}.v AS v{n} " + FROM


def texts(count: int) -> list[str]:
    """One question under so many names."""
    return [JOIN.format(a=f"left{n}", b=f"right{n}", n=n) for n in range(count)]


def pipeline(queries: list[str], meter: Meter | None = None) -> LocalPipeline:
    return LocalPipeline([plan_query(bind(t, CATALOG)) for t in queries], 3, meter)


def data(seed: int = 1) -> list[dict[str, pa.Table]]:
    rng = Random(seed)
    batches = []
    for low in range(0, 60, 6):
        batch = {}
        for name in "ABC":
            ts = sorted(rng.randint(low, low + 5) for _ in range(30))
            batch[name] = pa.table({"ts": ts} | {c: [rng.randint(0, 5) for _ in ts] for c in ("k", "j", "v")})
        batches.append(batch)
    return batches


def run(pipe: LocalPipeline) -> list[list[tuple[object, ...]]]:
    found = [pipe.push_all(b) for b in data()] + [pipe.finish_all()]
    tables = [pa.concat_tables(parts) for parts in zip(*found, strict=True)]
    return [sorted(zip(*(c.to_pylist() for c in t.columns), strict=True), key=repr) for t in tables]


def test_ten_equal_queries_cost_what_one_does() -> None:
    one, ten = Meter(), Meter()
    alone, together = pipeline(texts(1), one), pipeline(texts(10), ten)
    (answer,) = run(alone)
    assert all(a == answer for a in run(together)) and len(answer) > 1_000
    assert len(together.graph.vertices) == len(alone.graph.vertices)
    work = [sum(c.rows_in + c.rows_out for c in m.counters.values()) for m in (one, ten)]
    state = [sum(s.size() for s in p.cells().values()) for p in (alone, together)]
    assert work[1] == work[0] and state[1] == state[0]


def test_the_answer_of_equal_queries_is_formed_once() -> None:
    """Under each query's names: the columns lie in the same buffers. What shows more than they do has its own."""
    plans = plan_queries([bind(t, CATALOG, QueryOptions(exp=n == 3)) for n, t in enumerate(texts(4))])
    pipe = LocalPipeline(plans, 1)
    tables = [pipe.push_all(b) for b in data()][-1]
    assert [tuple(t.schema.names) for t in tables] == [p.result_schema.names for p in plans]
    where = [t.column(1).chunk(0).buffers()[1].address for t in tables]
    marks = [t.column(3).chunk(0).buffers()[2].address for t in tables]
    assert len(tables[0]) > 100 and len(set(where[:3])) == 1 and len(set(marks[:3])) == 1 and marks[3] != marks[0]


def test_equal_parts_of_different_queries_are_kept_once() -> None:
    grouped = f"SELECT a.k, COUNT(*) AS n {FROM.format(a='a', b='b')} GROUP BY a.k"
    more = f"SELECT x.k, SUM(y.v) AS s {FROM.format(a='x', b='y')} GROUP BY x.k"
    graph = Graph.of([plan_query(bind(t, CATALOG)) for t in (*texts(1), more)])
    joins = [i for i, v in enumerate(graph.vertices) if "join" in type(v.op).__name__.lower()]
    assert [graph.used_by[j] for j in joins] == [frozenset({0, 1})]
    both = pipeline([*texts(1), more, grouped])
    assert run(both) == [run(pipeline([t]))[0] for t in (*texts(1), more, grouped)]


@pytest.mark.parametrize("seed", range(6))
def test_queries_over_other_sources_keep_their_own_time(seed: int) -> None:
    """A vertex of A alone may run ahead of one that also waits for B: who reads both gets each instant whole."""
    rng = Random(seed)
    alone = "SELECT k, COUNT(*) AS n FROM A [RANGE 9 SECONDS] GROUP BY k"
    union = f"{alone} UNION ALL SELECT k, COUNT(*) AS n FROM B [RANGE 4 SECONDS] GROUP BY k"
    minus = "SELECT k FROM A [RANGE 9 SECONDS] EXCEPT SELECT k FROM B [RANGE 4 SECONDS]"
    joined = f"SELECT q.n FROM ({alone}) AS q, C [RANGE 3 SECONDS] c WHERE q.k = c.k"
    queries = rng.sample([alone, union, minus, joined], 3)
    together = pipeline(queries)
    apart = [pipeline([q]) for q in queries]
    shown: list[list[tuple[object, ...]]] = [[] for _ in queries]
    lone: list[list[tuple[object, ...]]] = [[] for _ in queries]
    for batch in data(seed):
        names = [n for n in batch if rng.random() < 0.7]
        given = {n: batch[n] for n in names}
        for i, table in enumerate(together.push_all(given)):
            shown[i] += [tuple(r.values()) for r in table.to_pylist()]
            lone[i] += [tuple(r.values()) for r in apart[i].push(given).to_pylist()]
            assert sorted(shown[i], key=repr) == sorted(lone[i], key=repr), queries[i]


HINTS = [
    QueryOptions(),
    QueryOptions(skew="split"),
    QueryOptions(memory=1 << 30),
    QueryOptions(strategy="direct"),
    QueryOptions(strategy="upa"),
    QueryOptions(skew="split", strategy="direct", memory=1 << 30),
    QueryOptions(skew="split", strategy="nt"),
    QueryOptions(strategy="nt"),
]


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in range(1, 6))])
def test_hints_of_each_query_do_not_break_sharing(seed: int) -> None:
    rng = Random(seed)
    count = FROM.format(a="a", b="b")
    asked = [*texts(3), f"SELECT a.k, COUNT(*) AS n {count} GROUP BY a.k"]
    asked += [f"SELECT a.k, SUM(b.v) AS s {count} GROUP BY a.k", f"SELECT DISTINCT b.j {count}"]
    asked += ["SELECT DISTINCT j FROM A [RANGE 20 SECONDS]"]
    rng.shuffle(asked)
    hints = [rng.choice(HINTS) for _ in asked]
    plans = plan_queries([bind(t, CATALOG, h) for t, h in zip(asked, hints, strict=True)])
    assert run(LocalPipeline(plans, 3)) == [run(pipeline([t]))[0] for t in asked], hints
    joins = [v for v in Graph.of(plans).vertices if isinstance(v.op, WindowJoin)]
    assert joins and len(joins) == len({v.id for v in joins})


@pytest.mark.parametrize(("first", "note"), [("split", "split for q2 too"), (None, "not split, although q2 asked")])
def test_the_layout_that_came_first_holds_and_explain_says_so(first: str | None, note: str) -> None:
    other = None if first else "split"
    bound = [bind(t, CATALOG, QueryOptions(skew=s or "keep")) for t, s in zip(texts(2), (first, other), strict=True)]
    graph = Graph.of(plan_queries(bound))
    assert sum(isinstance(v.op, WindowJoin) for v in graph.vertices) == 1
    assert note in explain_graph("text", graph, ["q1", "q2"])
    assert "layout:" not in explain_graph("text", Graph.of(plan_queries(bound[:1])), ["q1"])
