"""Joins over windows of rows that differ in size, selections and columns run as one: every query answers as alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from stored import Stored
from test_local_matches import difference
from test_shared_window_joins import SCHEMA, SECOND, answers, draw_batches, in_order

from muntin.cql.binder import bind
from muntin.dataflow.durable import Asked, from_json, take_up, to_json
from muntin.dataflow.explain import explain_graph
from muntin.dataflow.graph import Graph, QueryPlan
from muntin.dataflow.joining_in import never_exact
from muntin.dataflow.planner import plan_queries, plan_query
from muntin.engine import substeps
from muntin.engine.meter import Meter
from muntin.local.runtime import LocalPipeline
from muntin.operators.joins.counted_join import CountedJoin
from muntin.operators.joins.join_graph import GraphJoin
from muntin.operators.joins.window_join import WindowJoin
from muntin.operators.rows_window import RowsWindow
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.nodes import BoundQuery
from muntin.reference import run as reference
from muntin.state.pane_store import PaneStore
from muntin.verify.arrow import from_table

CONDITIONS = ["a.k = b.k", "a.k = b.k", "a.k = b.k AND a.s = b.s", "a.s = b.s", "a.k = b.j"]
OWN = ["a.v > 2", "b.v < 4", "a.j IN (1, 2)", "a.v > 2 AND b.v < 4", "b.s = 'y'", "a.s IS NULL", "b.j <> 3"]
BEYOND = ["a.v < b.v", "a.v + b.v > 4", "a.s <> b.s"]
FORMS = [
    "SELECT a.k, b.v {f}", "SELECT a.k, b.v {f}", "SELECT b.j AS x, a.s AS y, b.s AS z {f}",
    "Rstream(SELECT a.j, b.v {f})", "Istream(SELECT a.k, b.j {f})", "Dstream(SELECT a.k, b.j {f})",
    "SELECT COUNT(*) AS n, SUM(a.v) AS t {f}", "SELECT a.k, MAX(b.v) AS m, COUNT(*) AS n {f} GROUP BY a.k",
    "SELECT DISTINCT b.v {f}", "SELECT a.v, b.j {f} ORDER BY a.v, b.j LIMIT 3",
]  # fmt: skip


BY = "PARTITION BY k "

LOOPS = [
    "a.v < b.v", "a.v <> b.v", "a.v < b.v AND a.k <> b.k", "a.v BETWEEN b.v - 1 AND b.v + 1", "a.v + b.j > 5",
    "ABS(a.v - b.v) <= 1", "a.ts < b.ts", "a.v = 1 OR b.v = 1", "",
]  # fmt: skip


def catalog(slack: int = 0, order: str | None = None) -> Catalog:
    streams = (Stream(n, SCHEMA, "ts", ts_unit=SECOND, slack=slack, order_by=order) for n in "ABC")
    return Catalog(tuple(replace(s, order=i) for i, s in enumerate(streams)))


def draw_group(rng: Random, most: int = 8, loops: bool = False) -> list[BoundQuery]:
    """Queries of few signatures; windows of one row to more than there are. ``loops``: rows are joined on other shards
    than they are numbered, mostly since nothing must be equal."""
    streams = rng.choice(("AB", "AB", "AA"))
    on, parts = (_loop if loops else _equal)(rng)
    slides = rng.choice([("", "")] * 3 + [(" SLIDE 2", " SLIDE 2"), (" SLIDE 3", "")])
    given, found = catalog(rng.choice((0, 2)) * SECOND, rng.choice((None, None, "v"))), []
    for _ in range(rng.randint(2, most)):
        sizes = [rng.choice((1, 2, 3, 5, 9, *((12,) if loops else (20, 60)))) for _ in streams]
        sizes = sizes if rng.random() < 0.4 else sizes[:1] * 2
        both = zip(streams, parts, sizes, slides, "ab", strict=True)
        windows = ", ".join(f"{n} [{by}ROWS {size}{slide}] {x}" for n, by, size, slide, x in both)
        conditions = [on, *rng.sample(OWN, rng.choice((0, 0, 0, 1))), *rng.sample(BEYOND, rng.choice((0, 0, 0, 1)))]
        where = " AND ".join(c for c in conditions if c)
        text = rng.choice(FORMS).format(f=f"FROM {windows} {'WHERE ' if where else ''}{where}")
        found.append(bind(text, given))
    return found


def _equal(rng: Random) -> tuple[str, list[str]]:
    """Equal columns, and partitions by these."""
    on = rng.choice(CONDITIONS)
    keys = [c.split(" = ") for c in on.split(" AND ")]
    parts = [
        rng.choice(["", f"PARTITION BY {', '.join(k[i].partition('.')[2] for k in keys)} ", ""]) for i in (0, 1)
    ]
    if rng.random() < 0.7:
        parts[1] = "" if not parts[0] else f"PARTITION BY {', '.join(k[1].partition('.')[2] for k in keys)} "
    return on, parts


def _loop(rng: Random) -> tuple[str, list[str]]:
    """Conditions without equal columns, or partitions by others."""
    on = rng.choice([*LOOPS, "a.k = b.k"])
    other = ["PARTITION BY j ", "PARTITION BY s, j "] if "=" in on else ["", "", "", BY, "PARTITION BY s "]
    return on, [rng.choice(other), rng.choice(other)]


def shared_joins(plans: Sequence[QueryPlan]) -> list[CountedJoin]:
    return [v.op for v in Graph.of(plans).vertices if isinstance(v.op, CountedJoin)]


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in range(1, 150))])
def test_every_query_of_a_group_answers_as_alone(seed: int) -> None:
    rng = Random(f"joins of rows {seed}")
    queries = draw_group(rng)
    batches, shards = draw_batches(rng, SCHEMA, 8, rng.choice((3, 7, 40))), rng.choice((1, 2, 3))
    plans = plan_queries(queries)
    together = answers(LocalPipeline(plans, shards), batches)
    for query, rows in zip(queries, together, strict=True):
        assert rows == answers(LocalPipeline(plan_query(query), rng.choice((1, 3))), batches)[0], query.text


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in range(1, 60))])
def test_answers_outlive_restarts_and_steps_cut_anywhere(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = Random(f"joins of rows over restarts {seed}")
    queries, batches = draw_group(rng, 4, seed % 2 == 1), draw_batches(rng, SCHEMA, 6, rng.choice((7, 20)))
    alone = [answers(LocalPipeline(plan_query(q)), batches)[0] for q in queries]
    monkeypatch.setattr(substeps, "MOST", rng.choice((1, 4, 50)))
    pipeline, store = Stored(plan_queries(queries), rng.choice((1, 3))), PaneStore.open(str(tmp_path), "q", 0)
    found: list[list[tuple[object, ...]]] = [[] for _ in queries]
    for version, batch in enumerate(batches):
        for rows, table in zip(found, pipeline.push_all(batch), strict=True):
            rows += in_order(table)
        pipeline.restart(store, version, rng)
    for rows, table in zip(found, pipeline.finish_all(), strict=True):
        rows += in_order(table)
    for query, rows, expected in zip(queries, found, alone, strict=True):
        assert rows == expected, query.text


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in range(1, 150))])
def test_loops_answer_as_alone(seed: int) -> None:
    rng = Random(f"loops of rows {seed}")
    queries = draw_group(rng, 6, loops=True)
    batches, shards = draw_batches(rng, SCHEMA, 6, rng.choice((3, 7, 15))), rng.choice((1, 2, 3))
    plans = plan_queries(queries)
    together = answers(LocalPipeline(plans, shards), batches)
    for query, rows in zip(queries, together, strict=True):
        assert rows == answers(LocalPipeline(plan_query(query), rng.choice((1, 3))), batches)[0], query.text


PAIRS = "SELECT a.k, a.v, b.v AS w FROM A [{by}ROWS {a}] a, B [{by}ROWS {b}] b WHERE a.k = b.k"
COUNTS = "SELECT COUNT(*) AS n FROM A [{by}ROWS {a}] a, B [{by}ROWS {a}] b WHERE a.k = b.k"


def bound(*texts: str) -> list[BoundQuery]:
    return [bind(t, catalog()) for t in texts]


def in_order_of_time(rng: Random, last: int) -> list[dict[str, pa.Table]]:
    """Batches in which no row is late, several of one instant among them."""
    found = []
    for low in range(0, last, 5):
        batch = {}
        for name in "AB":
            ts = sorted(rng.randint(low, low + 4) for _ in range(rng.randint(0, 9)))
            columns = {c: [rng.choice([None, 1, 1, 2, 3]) for _ in ts] for c in ("k", "j", "v")}
            batch[name] = pa.table({"ts": ts, **columns, "s": [None for _ in ts]}, SCHEMA.to_arrow())
        found.append(batch)
    return found


LATEST = "(SELECT * FROM {s} WHERE ts <= {t} QUALIFY row_number() OVER ({by}ORDER BY ts DESC, n DESC) <= {n})"


@pytest.mark.parametrize(
    ("by", "on"),
    [("", "a.k = b.k"), (BY, "a.k = b.k"), ("", "a.v < b.v"), (BY, "a.v BETWEEN b.v - 1 AND b.v"),
     ("PARTITION BY j ", "a.k = b.k")],
)  # fmt: skip
def test_answers_are_those_of_the_naive_evaluator_and_of_duckdb(by: str, on: str) -> None:
    """At every instant; DuckDB numbers the rows that there are by then, from the last one back."""
    sizes, batches = [(1, 1), (3, 3), (4, 2), (9, 9)], in_order_of_time(Random(by), 30)
    sizes = [(n + 15, m + 15) for n, m in sizes] if by not in ("", BY) else sizes  # smaller ones would stay apart
    queries = bound(*(PAIRS.format(by=by, a=a, b=b).replace("a.k = b.k", on) for a, b in sizes))
    pipeline = LocalPipeline(plan_queries(queries), 2)
    results = zip(*[*(pipeline.push_all(b) for b in batches), pipeline.finish_all()], strict=True)
    assert shared_joins(pipeline.graph.plans)
    streams, connection = {n: pa.concat_tables([b[n] for b in batches]) for n in "AB"}, duckdb.connect()
    for n, rows in streams.items():
        connection.register(n, rows.append_column("n", pa.array(range(len(rows)))))
    for query, (a, b), tables in zip(queries, sizes, results, strict=True):
        plan = plan_query(query)
        got = [r for t in tables for r in from_table(t, plan.schema, plan.shows_op)]
        assert not difference(reference(query, {n: t.to_pylist() for n, t in streams.items()}), got), query.text
        for at in range(30):
            held: Counter[Any] = Counter()
            for ts, op, row in got:
                held[row] += (1 if op == "+" else -1) if ts <= at * SECOND else 0
            left, right = (LATEST.format(s=s, t=at, by=by, n=n) for s, n in (("A", a), ("B", b)))
            text = f"SELECT a.k, a.v, b.v FROM {left} a, {right} b WHERE {on}"
            assert +held == Counter(connection.execute(text).fetchall()), (query.text, at)


def test_the_join_keeps_rows_once_and_explain_says_what_is_spared() -> None:
    sizes, batches = (200, 110, 70, 30, 20), draw_batches(Random(1), SCHEMA, 8, 60)
    plans = plan_queries(bound(*(COUNTS.format(by="", a=n) for n in sizes)))
    together, longest = LocalPipeline(plans), LocalPipeline(plan_query(*bound(COUNTS.format(by="", a=200))))
    held = []
    for pipeline in (together, longest):
        for b in batches:
            pipeline.push_all(b)
        joining = (v for v, x in enumerate(pipeline.graph.vertices) if isinstance(x.op, (CountedJoin, *APART)))
        held.append(sum(pipeline.states[0][v].size() for v in joining if v in pipeline.states[0]))
    assert 0 < held[0] <= held[1]
    text = explain_graph("text", Graph.of(plans), [f"q{n}" for n in sizes])
    assert "one join in place of 5, for q200, q110, q70, q30, q20: it keeps 200 rows instead of 430 and 200" in text
    assert "answers of [ROWS 110] and [ROWS 110]" in text


APART = (RowsWindow, WindowJoin, GraphJoin)


def work(plans: Sequence[QueryPlan], batches: list[dict[str, pa.Table]]) -> int:
    """What windows of rows and their joins take in, give and look at."""
    pipeline = LocalPipeline(plans, 1, Meter())
    for b in batches:
        pipeline.push_all(b)
    own = (v for v, x in enumerate(pipeline.graph.vertices) if isinstance(x.op, (CountedJoin, *APART)))
    assert pipeline.meter is not None
    return sum(pipeline.meter.of(v).work for v in own)


@pytest.mark.parametrize(
    ("by", "on"), [("", "a.k = b.k"), (BY, "a.k = b.k"), ("", "a.v <> b.v"), ("", "a.v < b.v"), (BY, "a.v < b.v")]
)
def test_ten_joins_take_clearly_less_work_than_ten_joins_apart(by: str, on: str) -> None:
    queries = bound(*(PAIRS.format(by=by, a=n, b=n).replace("a.k = b.k", on) for n in range(2, 21, 2)))
    batches = in_order_of_time(Random(7), 50)
    apart, together = [plan_query(q) for q in queries], plan_queries(queries)
    assert len(shared_joins(together)) == 1
    assert 1.5 * work(together, batches) < sum(work([p], batches) for p in apart)


def test_joins_whose_selections_leave_little_stay_apart() -> None:
    """Rows that only one query wants are joined for all: that pays while pairs are few beside the rows."""
    low, high = f"{COUNTS} AND a.v < 2 AND b.v < 2", f"{COUNTS} AND a.v > 4 AND b.v > 4"
    assert len(shared_joins(plan_queries(bound(*(t.format(by="", a=20) for t in (low, high)))))) == 1
    assert not shared_joins(plan_queries(bound(*(t.format(by="", a=900_000) for t in (low, high)))))
    assert len(shared_joins(plan_queries(bound(*(COUNTS.format(by="", a=n) for n in (900_000, 1)))))) == 1


def test_joins_that_number_or_join_otherwise_stay_apart() -> None:
    for other in (
        PAIRS.format(by=BY, a=5, b=5), COUNTS.format(by="", a=5).replace("b.k", "b.j"),
        COUNTS.format(by="", a=5).replace("[ROWS 5] a", "[ROWS 6 SLIDE 2] a"),
        "SELECT COUNT(*) AS n FROM A [ROWS 5] a, B [RANGE 5 SECONDS] b WHERE a.k = b.k",
    ):  # fmt: skip
        assert not shared_joins(plan_queries(bound(COUNTS.format(by="", a=9), other))), other
    own = "SELECT a.v, b.s FROM A [PARTITION BY j ROWS {n}] a, B [PARTITION BY j ROWS {n}] b WHERE a.k = b.k"
    both = own.replace("a.k = b.k", "a.k = b.k AND a.j = b.j")
    assert len(shared_joins(plan_queries(bound(*(both.format(n=n) for n in (3, 5)))))) == 1
    assert not shared_joins(plan_queries(bound(*(COUNTS.format(by=BY, a=n) for n in (3, 5)))))  # nothing ever changes


def test_who_stays_answers_as_alone_while_others_come_and_go() -> None:
    """A shared join that runs stays as it is; new queries that cannot begin with its pairs (no instant is known to be
    answered) have their own, whose windows fill from empty."""
    texts = {"wide": PAIRS.format(by="", a=9, b=9), "narrow": PAIRS.format(by="", a=2, b=2)}
    texts |= {f"new{n}": PAIRS.format(by="", a=n, b=n) for n in (3, 5)}
    asked = {n: Asked(q, lambda places, known, q=q: plan_query(q, places, known))  # type: ignore[misc]
             for n, q in zip(texts, bound(*texts.values()), strict=True)}  # fmt: skip
    batches, stored, pipeline = in_order_of_time(Random(4), 60), None, None
    found: list[tuple[object, ...]] = []
    for number, names in ((0, ("wide", "narrow")), (4, tuple(texts)), (8, ("narrow",))):
        taken = take_up(stored, {n: asked[n] for n in names}, number, "1", "refill")
        plans = list(taken.plans.values())
        joins, fresh = shared_joins(plans), LocalPipeline(plans, 2)
        running = ((2, 2), (9, 9)) if "wide" in names else ((2, 2),)
        assert sorted(j.windows for j in joins) == [running, *([((3, 3), (5, 5))] if len(names) == 4 else [])]
        if pipeline is not None:
            old = {n: c for n, c in pipeline.cells().items() if taken.since.get(n.partition("/")[0], 0) < number}
            fresh.restore(old)
        for name in texts.keys() & names:
            if name.startswith("new"):
                assert never_exact(taken.plans[name], taken.since, number) is None
        pipeline, stored = fresh, from_json(to_json(taken.durable))
        for b in batches[number : number + 4]:
            found += in_order(pipeline.push_all(b)[names.index("narrow")])
    text = explain_graph("text", Graph.of(plans), ["narrow"])
    assert "one join for narrow, as wide as it was for queries that are gone" in text
    alone = LocalPipeline(plan_query(asked["narrow"].bound))
    assert found == [r for b in batches for r in in_order(alone.push(b))] and len(found) > 50
