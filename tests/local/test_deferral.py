"""Queries that wait answer what they would have answered, later: whatever they share, and however time is cut."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from generate_further import draw_further_case, draw_repeating_case
from generate_internal import draw_internal_case
from test_local_matches import check as check_plain
from test_local_matches_wide import check as check_wide
from test_sharing import CATALOG, FROM, data

import muntin.engine.substeps as substeps
from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_queries
from muntin.engine.deferral import settled, waiting
from muntin.local.runtime import LocalPipeline

JOINED = FROM.format(a="a", b="b")

QUERIES = [
    "SELECT k, COUNT(*) AS n, MIN(v) AS low FROM A [RANGE 9 SECONDS SLIDE 2 SECONDS] GROUP BY k",
    f"SELECT a.v AS x, b.v AS y {JOINED}",
    f"SELECT a.k, SUM(b.v) AS s {JOINED} GROUP BY a.k",
    f"SELECT a.k, MAX(b.v) AS s {JOINED} AND b.v > 2 GROUP BY a.k",
    "SELECT DISTINCT j FROM A [RANGE 5 SECONDS]",
    "SELECT k, v FROM A [PARTITION BY k ROWS 3]",
    "ISTREAM(SELECT j, v FROM A [RANGE 5 SECONDS] WHERE v > 2)",
    "SELECT a.k FROM A [RANGE 8 SECONDS] a WHERE NOT EXISTS (SELECT 1 FROM C [RANGE 4 SECONDS] c WHERE c.k = a.k)",
    "SELECT COUNT(*) AS n FROM (ISTREAM(SELECT k, SUM(v) AS m FROM B [RANGE 9 SECONDS] GROUP BY k)) [RANGE 6 SECONDS]",
    "SELECT a.v FROM A [RANGE 5 SECONDS] a, B [RANGE 3 SECONDS] b, C [RANGE 2 SECONDS] c WHERE a.k = b.k AND b.j < c.j",
]


def pipeline(shards: int = 3) -> LocalPipeline:
    return LocalPipeline(plan_queries([bind(t, CATALOG) for t in QUERIES]), shards)


def rows(parts: list[pa.Table]) -> list[tuple[Any, ...]]:
    return [r for t in parts for r in zip(*(c.to_pylist() for c in t.columns), strict=True)]


def run(pipe: LocalPipeline, batches: list[dict[str, pa.Table]], waits: Mapping[int, list[int]]) -> list[Any]:
    found = [pipe.push_all(b, deferred=waits.get(i, ())) for i, b in enumerate(batches)] + [pipe.finish_all()]
    return [list(parts) for parts in zip(*found, strict=True)]


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_many_queries_wait_at_random(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, batches = Random(seed), data(seed)
    expected = run(pipeline(), batches, {})
    monkeypatch.setattr(substeps, "MOST", rng.choice((150, 1 << 19)))
    waits = {i: [q for q in range(len(QUERIES)) if rng.random() < 0.7] for i in range(len(batches))}
    found = run(pipeline(rng.choice((1, 2, 5))), batches, waits)
    for text, want, got in zip(QUERIES, expected, found, strict=True):
        assert sorted(map(repr, rows(got))) == sorted(map(repr, rows(want))), text
        times = [t.column(len(t.schema) - ("op" in t.schema.names) - 1).cast(pa.int64()).to_pylist() for t in got]
        assert [x for part in times for x in part] == sorted(x for part in times for x in part), "in order of time"
    assert rows(expected[0]) and sum(map(len, map(rows, expected))) > 2_000


def test_who_waits_gives_nothing_and_then_all_at_once() -> None:
    pipe, batches = pipeline(1), data()
    alone = run(pipeline(1), batches, {})
    pipe.push_all(batches[0])
    shown = 0
    before = pipe.graph.plans[0].signature
    for batch in batches[1:4]:
        found = pipe.push_all(batch, deferred=[0])
        assert len(found[0]) == 0
        shown += len(found[1])
    assert shown
    held = [c for s in pipe.states[0].values() for n, c in s.chunks.items() if n.startswith("put off")]
    assert before in pipe.clocks[0].heads["waited"]
    found = pipe.push_all(batches[4])
    assert sorted(rows([found[0]])) == sorted(rows(alone[0][1:5])) and not pipe.clocks[0].heads["waited"]
    assert held and not any(c for s in pipe.states[0].values() for n, c in s.chunks.items() if n.startswith("put off"))


def test_what_is_shared_with_a_query_that_is_due_runs() -> None:
    graph = pipeline().graph
    join = graph.roots[1]
    assert 1 not in settled(graph, [1, 2, 3]) or graph.used_by[join] <= {1, 2, 3}
    assert settled(graph, [0, 4]) == {0, 4}, "each has its own"
    assert settled(graph, []) == frozenset() == waiting(graph, [])
    twice = LocalPipeline(plan_queries([bind(t, CATALOG) for t in (QUERIES[0], QUERIES[0], "SELECT k FROM A [NOW]")]))
    assert settled(twice.graph, [0]) == frozenset(), "its answer is made for the other"
    assert settled(twice.graph, [0, 1]) == {0, 1}
    assert settled(twice.graph, [2]) <= {2}


def test_a_query_waits_through_state_that_is_stored_and_read_again() -> None:
    batches, alone = data(3), run(pipeline(2), data(3), {})
    pipe = pipeline(2)
    found = [pipe.push_all(b, deferred=[0, 1, 2, 3] if i else ()) for i, b in enumerate(batches[:5])]
    again = pipeline(2)
    again.restore(pipe.cells())
    found += [again.push_all(b) for b in batches[5:]] + [again.finish_all()]
    for want, got in zip(alone, zip(*found, strict=True), strict=True):
        assert sorted(map(repr, rows(list(got)))) == sorted(map(repr, rows(want)))


def waiting_now_and_then(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    rng = Random(seed)

    def push(self: LocalPipeline, batch: Mapping[str, pa.Table], now: int = 0) -> pa.Table:
        return self.push_all(batch, now, deferred=[0] if rng.random() < 0.6 else [])[0]

    monkeypatch.setattr(LocalPipeline, "push", push)


@pytest.mark.parametrize("most", [60, 1 << 19])
def test_random_queries_wait(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting_now_and_then(monkeypatch, most)
    monkeypatch.setattr(substeps, "MOST", most)
    for seed in range(9_000 + most % 7, 9_005 + most % 7):
        check_plain(seed, size=2)
        for draw in (draw_further_case, draw_repeating_case, draw_internal_case):
            check_wide(seed, draw)
        check_wide(seed)
