"""Relayed joins that differ in windows, selections and columns run as one join where that costs less: every query
answers as it does alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from stored import Stored
from test_history import relation, restarted, undisturbed
from test_shared_window_joins import (
    SCHEMA,
    SECOND,
    Batches,
    answers,
    draw_text,
    in_order,
    one_that_stays,
    shared_joins,
)
from test_sliced_joins import run_waiting

from muntin.cql.binder import bind
from muntin.dataflow.builder import Places
from muntin.dataflow.durable import Asked, take_up
from muntin.dataflow.explain import explain_graph
from muntin.dataflow.graph import Graph, QueryPlan
from muntin.dataflow.planner import plan_queries, plan_query
from muntin.dataflow.routes import Keyed
from muntin.dataflow.sharing import window_joins
from muntin.engine.meter import Meter
from muntin.local.runtime import LocalPipeline
from muntin.operators.compute import Compute
from muntin.operators.joins.join_graph import GraphJoin
from muntin.operators.joins.narrow import Narrow
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.nodes import BoundQuery
from muntin.plan.windows import QueryOptions
from muntin.reference import run
from muntin.verify.arrow import from_table

THREE = ["a.k = b.k AND b.j = c.j", "a.k = b.k AND b.j = c.j AND a.v <= c.v", "a.j = b.k AND b.s = c.s"]
FOUR = ["a.k = b.k AND b.j = c.j AND c.j = d.j", "a.k = b.k AND b.k = c.k AND c.v = d.v"]
KINDS = [((1000, 1, 1000, 1), THREE), ((1000, 1, 3000, 1), THREE), ((1000, 1, 1, 1500), FOUR)]
"""How many rows a second streams are said to bring, hardly any in the middle, and conditions of joins over them."""


def catalog(rates: Sequence[int], slack: int = 0) -> Catalog:
    return Catalog(
        tuple(
            Stream(n, SCHEMA, "ts", ts_unit=SECOND, order=i, rate=rate, slack=slack * SECOND)
            for i, (n, rate) in enumerate(zip("ABCD", rates, strict=True))
        )
    )


def draw_group(rng: Random, strategies: Sequence[str] = ("upa",) * 5 + ("direct", "nt")) -> list[BoundQuery]:
    """Queries over one or two joins."""
    rates, conditions = rng.choice(KINDS)
    own, kinds = catalog(rates, rng.choice((0, 2))), rng.sample(conditions, rng.choice((1, 1, 2)))
    found = []
    for _ in range(rng.randint(2, 6)):
        bounds = rng.choice(("half_open", "half_open", "half_open", "closed", "start"))
        text = draw_text(rng, "ABC" if conditions is THREE else "ABCD", rng.choice(kinds), bounds)
        if rng.random() < 0.5:
            text = text.replace("SELECT a.k,", "SELECT b.k,").replace("GROUP BY a.k", "GROUP BY b.k")
        found.append(bind(text, own, QueryOptions(bounds=bounds, strategy=rng.choice(strategies))))
    return found


def draw_batches(rng: Random, count: int = 7, rows: int = 5) -> Batches:
    """Five seconds of each stream a batch, some of the rows out of order."""
    found = []
    for low in range(0, 5 * count, 5):
        batch = {}
        for name in "ABCD":
            ts = [max(0, rng.randint(low, low + 4) - rng.choice((0, 0, 0, 2))) for _ in range(rng.randint(0, rows))]
            columns = {c: [rng.choice([None, 1, 1, 2, 3]) for _ in ts] for c in ("k", "j", "v")}
            texts = [rng.choice([None, "x", "y", "y"]) for _ in ts]
            batch[name] = pa.table({"ts": ts, **columns, "s": texts}, SCHEMA.to_arrow())
        found.append(batch)
    return found


def relayed(plan: QueryPlan) -> bool:
    return any(isinstance(v.op, GraphJoin) and v.op.relayed for v in plan.vertices)


@pytest.fixture(params=[True, False], ids=["all share", "by cost"])
def choice(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether joins of one signature come together whatever that costs."""
    if request.param:
        monkeypatch.setattr(window_joins, "joining_cost", lambda flow, flows: -1e18 * len(flows))
    return request.param


@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(s, marks=pytest.mark.slow) for s in range(2, 100))])
def test_every_query_of_a_group_answers_as_alone(seed: int, choice: bool) -> None:
    rng = Random(f"relayed {seed}")
    queries, batches = draw_group(rng), draw_batches(rng)
    together = answers(LocalPipeline(plan_queries(queries), rng.choice((1, 2, 3))), batches)
    for query, rows in zip(queries, together, strict=True):
        assert rows == answers(LocalPipeline(plan_query(query), rng.choice((1, 3))), batches)[0], query.text


def test_the_joins_that_are_drawn_are_relayed_alone_and_shared_together() -> None:
    """The test above would show little otherwise."""
    found: Counter[str] = Counter()
    for seed in range(10):
        queries = draw_group(Random(f"relayed {seed}"))
        plans, alone = plan_queries(queries), [relayed(plan_query(q)) for q in queries]
        found["relayed"] += sum(alone)
        found["shared"] += sum(a and not relayed(p) for a, p in zip(alone, plans, strict=True))
        found["sent on"] += sum(sent_on(p) for p in plans)
    assert found["relayed"] > 15 and found["shared"] > 10 and found["sent on"] > 0, found


def sent_on(plan: QueryPlan) -> bool:
    """Whether results of a shared join go on to other shards as they are."""
    ways = [(v.op, e) for v in plan.vertices for e in v.inputs if isinstance(plan.vertices[e.vertex].op, Narrow)]
    return any(op == Compute() and isinstance(e.route, Keyed) for op, e in ways)


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in range(1, 60))])
def test_queries_that_stay_answer_as_alone_while_others_come_and_go(seed: int, choice: bool) -> None:
    """State goes through the stored plan: who was relayed stays so, who comes reads a join that is there or has one."""
    rng = Random(f"relayed, coming and going {seed}")
    queries = {f"q{i}": q for i, q in enumerate(draw_group(rng))}
    batches = draw_batches(rng, 8)
    found, expected, text = one_that_stays(rng, queries, batches, rng.choice((1, 2, 3)), 0.7)
    assert found == expected, text


def asking(query: BoundQuery) -> Asked:
    return Asked(query, lambda places, known: plan_query(query, places, known))


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in range(1, 60))])
def test_queries_that_wait_for_slices_answer_what_they_would_have(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window_joins, "joining_cost", lambda flow, flows: -1e18 * len(flows))
    rng = Random(f"relayed, in slices {seed}")
    queries, batches = draw_group(rng, ("upa",)), draw_batches(rng, 6)
    plans = plan_queries(queries, "swf")
    parts = run_waiting(Stored(plans, rng.choice((1, 2, 3))), batches, rng, tmp_path)
    for query, tables in zip(queries, zip(*parts, strict=True), strict=True):
        alone = LocalPipeline(plan_query(query))
        expected = [alone.push(b) for b in batches] + [alone.finish()]
        assert in_order(pa.concat_tables(tables)) == in_order(pa.concat_tables(expected)), query.text


CHAIN = "FROM A [RANGE {n} SECONDS] a, B [RANGE {n} SECONDS] b, C [RANGE {n} SECONDS] c WHERE a.k = b.k AND b.j = c.j"
SHOWN = f"SELECT a.v, b.v AS w, c.v AS x {CHAIN}"
COUNTED = f"SELECT COUNT(*) AS n, SUM(a.v) AS t {CHAIN}"
GROUPED = f"SELECT b.k, COUNT(*) AS n {CHAIN} GROUP BY b.k"
SPARSE, UNEVEN = catalog((1000, 1, 1000, 1)), catalog((1000, 1, 3000, 1))


def bound(text: str, lengths: Sequence[int], own: Catalog = SPARSE) -> list[BoundQuery]:
    return [bind(text.format(n=n), own) for n in lengths]


def feed(seconds: int, rows: int) -> Batches:
    """A batch a second: ``rows`` of A and of C, one of B."""
    rng, found = Random(f"{rows} rows"), []
    for t in range(seconds):
        batch = {}
        for name, many in (("A", rows), ("B", 1), ("C", rows)):
            columns = {c: [rng.randrange(200) for _ in range(many)] for c in ("k", "j", "v")}
            batch[name] = pa.table({"ts": [t] * many, **columns, "s": ["x"] * many}, SCHEMA.to_arrow())
        found.append(batch)
    return found


def counted_work(plans: list[QueryPlan], batches: Batches) -> tuple[int, list[list[int]]]:
    """(rows taken in, given and looked at by what has state, on eight shards; how many rows each query shows by batch).
    """
    meter = Meter()
    pipe = LocalPipeline(plans, 8, meter)
    shown = [pipe.count_all(b) for b in batches]
    return sum(meter.of(v).work for v in pipe.graph.stateful), shown


@pytest.mark.parametrize(("lengths", "shared", "share"), [((2, 1), False, 0.9), (range(1, 11), True, 0.3)])
def test_the_cheaper_way_is_taken(
    lengths: Sequence[int], shared: bool, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two relayed joins take fewer rows in than one that has a stream on every shard, ten of them more: the rule's
    choice beside the work of both ways."""
    queries, batches = bound(COUNTED, lengths), feed(4, 400)
    assert shared_joins(plan_queries(queries)) == shared
    places = Places()
    alone, shown = counted_work([plan_query(q, places) for q in queries], batches)
    monkeypatch.setattr(window_joins, "joining_cost", lambda shared, own: -1e12)
    plans = plan_queries(queries)
    assert shared_joins(plans) == 1
    at_once, same = counted_work(plans, batches)
    assert same == shown and all(shown[-1])
    assert (at_once < share * alone) == shared, (at_once, alone)


def test_one_join_answers_as_the_reference_and_explain_says_what_is_spared() -> None:
    lengths = (1, 4, 9)
    queries, batches = bound(SHOWN, lengths, catalog((1000, 1, 1000, 1), 2)), draw_batches(Random(3), 6, 16)
    plans = plan_queries(queries)
    assert [relayed(plan_query(q)) for q in queries] == [True] * 3 and not any(map(relayed, plans))
    pipeline = LocalPipeline(plans, 3)
    found = [pa.concat_tables(t) for t in zip(*[*map(pipeline.push_all, batches), pipeline.finish_all()], strict=True)]
    rows = {n: [r for b in batches for r in b[n].to_pylist()] for n in "ABC"}
    for query, plan, table in zip(queries, plans, found, strict=True):
        shown = from_table(table, plan.schema, plan.shows_op)
        assert Counter(map(repr, shown)) == Counter(map(repr, run(query, rows))) and len(shown) > 3
    text = explain_graph("text", Graph.of(plans), [f"q{n}" for n in lengths])
    assert "one join in place of 3, for q1, q4, q9: it keeps 9 seconds of rows instead of 14 seconds" in text


def test_a_single_query_stays_relayed_and_so_does_one_that_runs() -> None:
    """Who comes later has a shared join with others that come, and leaves what runs as it is."""
    first, *others = map(asking, bound(SHOWN, (9, 1, 2, 4, 7)))
    alone = take_up(None, {"first": first}, 0, "1")
    assert relayed(alone.plans["first"])
    more = take_up(alone.durable, {"first": first} | {f"q{i}": q for i, q in enumerate(others)}, 3, "1")
    assert more.plans["first"] == alone.plans["first"] and shared_joins(list(more.plans.values())) == 1
    assert [relayed(p) for p in more.plans.values()] == [True, False, False, False, False]


def test_a_query_that_is_added_reads_the_join_that_runs() -> None:
    queries = {f"q{n}": asking(q) for n, q in zip((2, 4, 9), bound(SHOWN, (2, 4, 9)), strict=True)}
    new = {"new": asking(*bound("SELECT c.v, COUNT(*) AS n " + CHAIN + " GROUP BY c.v", (7,)))}
    found, (tables,), at = restarted(queries, new, draw_batches(Random(5), 9, 12), 5)
    plans = list(found.taken.plans.values())
    assert shared_joins(plans) == 1 and not any(map(relayed, plans))
    assert "its windows are full" in found.taken.notes["new"]
    expected = relation(undisturbed(new["new"], {}, draw_batches(Random(5), 9, 12)), at)
    assert relation(tables, at) == expected and len(expected) > 3


def test_results_go_on_to_the_shards_where_groups_are_kept() -> None:
    """The shared join is spread by the key of the faster streams, the relayed ones by the other: groups by that key are
    kept where they would be."""
    queries, batches = bound(GROUPED, (1, 2, 4, 7), UNEVEN), draw_batches(Random(7), 6, 20)
    plans = plan_queries(queries)
    assert shared_joins(plans) == 1 and all(map(sent_on, plans))
    assert not any(map(sent_on, plan_queries(bound(SHOWN, (1, 2, 4, 7), UNEVEN))))
    assert not any(map(sent_on, plan_queries(bound(GROUPED, (1, 2, 4, 7)))))
    together = answers(LocalPipeline(plans, 3), batches)
    assert together == [answers(LocalPipeline(plan_query(q), 3), batches)[0] for q in queries]
    assert min(map(len, together)) > 3
