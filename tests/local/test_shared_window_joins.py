"""Joins that differ in windows, selections and columns run as one join: every query answers as it does alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

import pyarrow as pa
import pytest
from test_history import continued, relation, restarted, snapshot, undisturbed

from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.durable import Asked, TakenUp, from_json, take_up, to_json
from muntin.dataflow.explain import explain_graph
from muntin.dataflow.graph import Graph, QueryPlan
from muntin.dataflow.planner import plan_queries, plan_query
from muntin.local.history import Filled, fill
from muntin.local.runtime import LocalPipeline
from muntin.operators.joins import narrow
from muntin.operators.joins.join_graph import GraphJoin
from muntin.operators.joins.narrow import Narrow
from muntin.operators.joins.window_join import WindowJoin
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.nodes import BoundQuery
from muntin.plan.windows import QueryOptions

SECOND = 1_000_000
SCHEMA = Schema.of(ts=pa.int64(), k=pa.int64(), j=pa.int64(), v=pa.int64(), s=pa.string())
Batches = list[dict[str, pa.Table]]
CLOCKED = Schema.of(ts=pa.timestamp("us", "UTC"), k=pa.int64(), j=pa.int64(), v=pa.int64(), s=pa.string())

CONDITIONS = {  # joins that could be one, and some that could not
    "AB": ["a.k = b.k", "a.k = b.k AND a.j = b.j", "a.j BETWEEN b.j - 1 AND b.j + 1", "a.k + 1 = b.k", "a.s = b.s",
           "a.j < b.j", "ABS(a.j - b.j) <= 1", "a.j + b.k > 3"],
    "AA": ["a.k = b.k", "a.k = b.j"],
    "ABC": ["a.k = b.k AND b.k = c.k", "a.k = b.k AND b.j = c.j", "a.k = b.k AND ABS(b.v - c.v) <= 1"],
}
OWN = ["a.v > 2", "b.v < 4", "a.j = 1", "a.j IN (1, 2)", "a.v > 2 AND b.v < 4", "b.s = 'y'", "a.s IS NULL", "b.j <> 3"]
BEYOND = ["a.v < b.v", "a.v + b.v > 4", "a.s <> b.s"]
FORMS = [
    "SELECT a.k, b.v {f}", "SELECT b.j AS x, a.s AS y, b.s AS z {f}", "SELECT a.v, b.v AS w, a.j, b.j AS u {f}",
    "Rstream(SELECT a.j, b.v {f})", "Istream(SELECT a.k, b.j {f})", "Dstream(SELECT a.k, b.j {f})",
    "SELECT COUNT(*) AS n, SUM(a.v) AS t {f}", "SELECT a.k, MAX(b.v) AS m, COUNT(*) AS n {f} GROUP BY a.k",
    "SELECT b.j, AVG(a.v) AS m {f} GROUP BY b.j", "SELECT DISTINCT b.v {f}",
    "SELECT a.v, b.j {f} ORDER BY a.v, b.j LIMIT 3", "SELECT a.k {f} EXCEPT SELECT k FROM C [RANGE 4 SECONDS{s}]",
]  # fmt: skip


def draw_text(rng: Random, streams: str, on: str, bounds: str) -> str:
    """A query over the streams with windows, selections and an answer of its own."""
    slide = rng.choice(("", "", "", f" SLIDE {rng.choice((1, 2, 3, 5))} SECONDS"))
    slide = slide or (" SLIDE 2 SECONDS" if bounds == "start" else "")
    windows = []
    for _ in streams:
        own = "" if slide and bounds != "start" and rng.random() < 0.2 else slide
        windows.append("[NOW]" if not own and rng.random() < 0.1 else f"[RANGE {rng.randint(1, 20)} SECONDS{own}]")
    if rng.random() < 0.5:
        windows = windows[:1] * len(streams)
    parts = ", ".join(f"{n} {w} {x}" for n, w, x in zip(streams, windows, "abcd", strict=False))
    conditions = [on, *rng.sample(OWN, rng.choice((0, 0, 0, 1, 1, 2))), *rng.sample(BEYOND, rng.choice((0, 0, 0, 1)))]
    return rng.choice(FORMS).format(f=f"FROM {parts} WHERE {' AND '.join(conditions)}", s=slide)


def draw_group(rng: Random, most: int) -> list[BoundQuery]:
    """Queries over one catalog, mostly of few signatures."""
    schema = rng.choice((SCHEMA, CLOCKED))
    names = "ABC"
    slack = rng.choice((0, 2)) * SECOND
    unit = 1 if schema is CLOCKED else SECOND
    catalog = Catalog(tuple(Stream(n, schema, "ts", ts_unit=unit, slack=slack, order=i) for i, n in enumerate(names)))
    kinds = [(s, rng.choice(CONDITIONS[s])) for s in rng.choices(("AB", "AB", "AA", "ABC"), k=rng.randint(1, 3))]
    found = []
    for _ in range(rng.randint(2, most)):
        bounds = rng.choice(("half_open", "half_open", "half_open", "closed", "start"))
        options = QueryOptions(bounds=bounds, strategy=rng.choice(("upa",) * 5 + ("direct", "nt")))
        found.append(bind(draw_text(rng, *rng.choice(kinds), bounds), catalog, options))
    return found


def draw_batches(rng: Random, schema: Schema, count: int = 8, rows: int = 7) -> Batches:
    found = []
    for low in range(0, 5 * count, 5):
        batch = {}
        for name in "ABC":
            ts = [max(0, rng.randint(low, low + 4) - rng.choice((0, 0, 0, 2))) for _ in range(rng.randint(0, rows))]
            columns = {c: [rng.choice([None, 1, 1, 2, 3, 5]) for _ in ts] for c in ("k", "j", "v")}
            texts = [rng.choice([None, "x", "y", "y"]) for _ in ts]
            at = [t * SECOND for t in ts] if schema is CLOCKED else ts
            batch[name] = pa.table({"ts": at, **columns, "s": texts}, schema.to_arrow())
        found.append(batch)
    return found


def answers(pipeline: LocalPipeline, batches: Batches) -> list[list[tuple[object, ...]]]:
    """The rows of each query: those of a batch after those of the batches before, in order of values inside."""
    found: list[list[tuple[object, ...]]] = [[] for _ in pipeline.graph.plans]
    for tables in [*(pipeline.push_all(b) for b in batches), pipeline.finish_all()]:
        for rows, table in zip(found, tables, strict=True):
            rows += in_order(table)
    return found


def shared_joins(plans: Sequence[QueryPlan]) -> int:
    graph = Graph.of(plans)
    return len({v.inputs[0].vertex for v in graph.vertices if isinstance(v.op, Narrow)})


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in range(1, 150))])
def test_every_query_of_a_group_answers_as_alone(seed: int) -> None:
    rng = Random(f"shared joins {seed}")
    queries = draw_group(rng, 40 if seed % 9 == 7 else 5)
    batches, shards = draw_batches(rng, queries[0].scans[0].stream.schema), rng.choice((1, 2, 3))
    plans = plan_queries(queries)
    together = answers(LocalPipeline(plans, shards), batches)
    for query, rows in zip(queries, together, strict=True):
        assert rows == answers(LocalPipeline(plan_query(query), rng.choice((1, 3))), batches)[0], query.text


def restart(pipeline: LocalPipeline, taken: TakenUp, filled: Filled, batch: int) -> LocalPipeline:
    """The pipeline of other queries that goes on from the state of one."""
    assert filled.taken.plans.keys() == taken.plans.keys()
    return continued(pipeline, filled, batch)


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in range(1, 60))])
def test_queries_that_stay_answer_as_alone_while_others_come_and_go(seed: int) -> None:
    """Also where the one with the longest windows goes; who comes reads a join that is there, or has its own."""
    rng = Random(f"coming and going {seed}")
    queries = {f"q{i}": q for i, q in enumerate(draw_group(rng, 7))}
    batches = draw_batches(rng, queries["q0"].scans[0].stream.schema, 9)
    found, expected, text = one_that_stays(rng, queries, batches, rng.choice((1, 2)), 0.6)
    assert found == expected, text


def one_that_stays(
    rng: Random, queries: Mapping[str, BoundQuery], batches: Batches, shards: int, share: float
) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]], str]:
    """The rows of a query beside which a ``share`` of the others is there, anew at two times; those that it has alone;
    its text. State goes through the stored plan."""
    asked = {n: Asked(q, lambda places, known, q=q: plan_query(q, places, known)) for n, q in queries.items()}  # type: ignore[misc]
    stays, cuts = rng.choice(list(queries)), sorted(rng.sample(range(1, len(batches)), 2))
    alone = LocalPipeline(plan_query(queries[stays]), 1)
    pipeline, stored = None, None
    found, expected = [], []
    for low, high in zip([0, *cuts], [*cuts, len(batches)], strict=True):
        names = [n for n in queries if n == stays or rng.random() < share]
        present = {n: asked[n] for n in names}
        taken = take_up(stored, present, low, "1", "refill")
        if pipeline is None:
            pipeline = LocalPipeline(list(taken.plans.values()), shards)
        else:
            old = pipeline
            filled = fill(taken, present, stored, lambda ids, p=old, at=low: snapshot(p, at - 1), shards)  # type: ignore[misc]
            taken, pipeline = filled.taken, restart(old, taken, filled, low)
        stored = from_json(to_json(taken.durable))
        for b in batches[low:high]:
            found += in_order(pipeline.push_all(b)[names.index(stays)])
            expected += in_order(alone.push(b))
    assert pipeline is not None
    found += in_order(pipeline.finish_all()[names.index(stays)])
    return found, expected + in_order(alone.finish()), queries[stays].text


def in_order(table: pa.Table) -> list[tuple[object, ...]]:
    return sorted((tuple(r.values()) for r in table.to_pylist()), key=repr)


CATALOG = Catalog(tuple(Stream(n, SCHEMA, "ts", ts_unit=SECOND, order=i) for i, n in enumerate("ABC")))
PAIRS = "SELECT a.k, a.v, b.v AS w FROM A [RANGE {a} SECONDS] a, B [RANGE {b} SECONDS] b WHERE a.k = b.k"
COUNTS = "SELECT COUNT(*) AS n FROM A [RANGE {a} SECONDS] a, B [RANGE {a} SECONDS] b WHERE a.k = b.k"


def bound(*texts: str) -> list[BoundQuery]:
    return [bind(t, CATALOG) for t in texts]


def asking(texts: Mapping[str, str]) -> dict[str, Asked]:
    queries = {n: bind(t, CATALOG) for n, t in texts.items()}
    return {n: Asked(q, lambda places, known, q=q: plan_query(q, places, known)) for n, q in queries.items()}  # type: ignore[misc]


def test_the_join_has_the_state_of_the_longest_and_explain_says_what_is_spared() -> None:
    lengths = (20, 11, 7, 3, 2)
    batches = draw_batches(Random(1), SCHEMA, 8, 60)
    plans = plan_queries(bound(*(COUNTS.format(a=n) for n in lengths)))
    together, longest = LocalPipeline(plans, 1), LocalPipeline(plan_query(*bound(COUNTS.format(a=20))), 1)
    sizes = []
    for pipeline in (together, longest):
        for b in batches:
            pipeline.push_all(b)
        joins = [i for i, v in enumerate(pipeline.graph.vertices) if isinstance(v.op, WindowJoin)]
        assert len(joins) == 1
        sizes.append(sum(states[joins[0]].size() for states in pipeline.states))
    assert sizes[0] <= 1.5 * sizes[1]  # it keeps event times beside
    text = explain_graph("text", Graph.of(plans), [f"q{n}" for n in lengths])
    assert "one join in place of 5, for q20, q11, q7, q3, q2: it keeps 20 seconds of rows instead of 43 seconds" in text


def test_a_new_query_reads_the_join_that_runs_with_full_windows() -> None:
    first = asking({"long": PAIRS.format(a=20, b=9), "short": PAIRS.format(a=4, b=12)})
    third = asking({"new": "SELECT b.v, COUNT(*) AS n FROM A [RANGE 15 SECONDS] a, B [RANGE 12 SECONDS] b "
                           "WHERE a.k = b.k GROUP BY b.v"})  # fmt: skip
    batches = draw_batches(Random(5), SCHEMA, 9, 12)
    found, (tables,), at = restarted(first, third, batches, 5)
    plans = found.taken.plans
    assert shared_joins(list(plans.values())) == 1 and len(plans) == 3
    assert "its windows are full" in found.taken.notes["new"]
    expected = relation(undisturbed(third["new"], {}, batches), at)
    assert relation(tables, at) == expected and len(expected) > 3


def test_who_asks_for_more_than_the_running_join_keeps_has_a_join_of_its_own() -> None:
    first = asking({"long": PAIRS.format(a=20, b=9), "short": PAIRS.format(a=4, b=12)})
    stored = take_up(None, first, 0, "1").durable
    before = take_up(stored, first, 3, "1")
    for text in (PAIRS.format(a=21, b=9), PAIRS.replace("a.v,", "a.j,").format(a=4, b=4)):
        taken = take_up(stored, first | asking({"new": text}), 3, "1")
        assert {n: taken.plans[n] for n in first} == before.plans
        assert not any(isinstance(v.op, Narrow) for v in taken.plans["new"].vertices)
    gone = take_up(stored, {"short": first["short"]}, 3, "1")
    text = explain_graph("text", Graph.of(list(gone.plans.values())), ["short"])
    assert "one join for short, as wide as it was for queries that are gone" in text


def joins_of_group(*texts: str) -> int:
    vertices = Graph.of(plan_queries(bound(*texts))).vertices
    return sum(isinstance(v.op, WindowJoin | GraphJoin) for v in vertices)


def test_many_queries_take_theirs_from_results_in_order_of_their_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """As each narrows them by itself: windows of one length on both sides, beside others and with selections."""
    texts = [COUNTS.format(a=n) for n in (1, 2, 5, 9, 14, 20)] + [PAIRS.format(a=7, b=7), PAIRS.format(a=3, b=12)]
    texts += [f"{PAIRS.format(a=6, b=6)} AND a.v < b.v", f"{COUNTS.format(a=11)} AND a.j = 1"]
    batches, queries = draw_batches(Random(9), SCHEMA, 8, 20), bound(*texts)
    ordered = answers(LocalPipeline(plan_queries(queries), 2), batches)
    monkeypatch.setattr(narrow, "MANY", 1_000)
    assert answers(LocalPipeline(plan_queries(queries), 2), batches) == ordered
    assert [len(a) > 10 for a in ordered] == [True] * len(texts)
    assert ordered == [answers(LocalPipeline(plan_query(q), 1), batches)[0] for q in queries]


@pytest.mark.parametrize("on", ["a.k = b.k", "a.s = b.s", "a.k = b.k AND a.j = b.j"])
def test_pairs_are_put_in_order_before_columns_are_written(on: str) -> None:
    """Texts and several keys, whose hashes have to be confirmed, with expiries and without, columns of all kinds; more
    results than a step may give at once."""
    text = "SELECT a.s, a.v, b.j, b.s AS t {f} WHERE " + on
    source = "FROM A [RANGE {a} SECONDS] a, B [RANGE {a} SECONDS] b"
    texts = [text.format(f=source.format(a=n)) for n in (1, 4, 9)]
    texts += [f"Istream({t})" for t in texts] + [f"{texts[0]} AND a.v <= b.v"]
    batches, plans = draw_batches(Random(on), SCHEMA, 3, 300), plan_queries(bound(*texts))
    pipeline = LocalPipeline(plans, 2)
    (narrowed,) = [n for n in pipeline.graph.narrowed if n is not None]
    assert narrowed.windows.lengths.tolist() == [SECOND, 4 * SECOND, 9 * SECOND]
    together = answers(pipeline, batches)
    assert together == [answers(LocalPipeline(p, 1), batches)[0] for p in plans] and min(map(len, together)) > 100


def test_rows_that_were_taken_up_later_than_they_came_are_narrowed_by_their_event_times() -> None:
    """A new join finds the rows of one that runs: they start when it does."""
    text = PAIRS.replace("a.k, a.v", "a.ts AS x, a.v, b.ts AS y").replace("{b}", "{a}")
    new = {f"new{n}": text.format(a=n) for n in (3, 7, 12)}
    batches = draw_batches(Random(6), SCHEMA, 9, 12)
    found, results, at = restarted(asking({"long": text.format(a=20)}), asking(new), batches, 5)
    assert shared_joins(list(found.taken.plans.values())) == 1
    for (name, query), tables in zip(asking(new).items(), results, strict=True):
        assert "its windows are full" in found.taken.notes[name]
        expected = relation(undisturbed(query, {}, batches), at)
        assert relation(tables, at) == expected and len(expected) > 3


def test_results_can_be_counted_and_dropped() -> None:
    texts, batches = [PAIRS.format(a=n, b=n) for n in (1, 4, 9, 20)], draw_batches(Random(2), SCHEMA, 6, 20)
    counting, showing = (LocalPipeline(plan_queries(bound(*texts)), 2) for _ in range(2))
    for b in batches:
        assert counting.count_all(b) == [t.num_rows for t in showing.push_all(b)]
    assert [t.num_rows for t in counting.finish_all()] == [t.num_rows for t in showing.finish_all()]


def test_selections_are_pulled_above_a_join_where_that_costs_less() -> None:
    """Rows that only one query wants are joined for all: that pays while results are few beside the rows that are taken
    in once."""
    low, high = f"{COUNTS} AND a.v < 2 AND b.v < 2", f"{COUNTS} AND a.v > 4 AND b.v > 4"
    assert joins_of_group(low.format(a=9), high.format(a=9)) == 1
    assert joins_of_group(low.format(a=90), high.format(a=90)) == 2
    assert joins_of_group(low.format(a=90), high.format(a=90), low.format(a=70), high.format(a=50)) == 2
    assert joins_of_group(COUNTS.format(a=9), COUNTS.replace("a.k = b.k", "a.k = b.j").format(a=9)) == 2


def test_joins_of_sampled_streams_stay_apart() -> None:
    """Which rows are admitted goes by the columns that a query reads: others would come in if more are read."""
    sampled = Catalog(tuple(replace(s, sample=0.5) for s in CATALOG.streams))
    plans = plan_queries([bind(COUNTS.format(a=n), sampled) for n in (5, 9)])
    assert shared_joins(plans) == 0


def test_queries_that_take_results_as_they_lie_pay_for_their_order_once() -> None:
    """Windows of one length on both sides come together where those that look at every result stay apart."""
    lengths = range(10, 301, 10)
    assert joins_of_group(*(PAIRS.format(a=n, b=n) for n in lengths)) == 1
    assert joins_of_group(*(PAIRS.format(a=n, b=n + 1) for n in lengths)) > 1


def test_small_windows_stay_apart_from_a_flood_of_results() -> None:
    assert joins_of_group(COUNTS.format(a=100_000), COUNTS.format(a=1)) == 2
    assert joins_of_group(COUNTS.format(a=100), COUNTS.format(a=1)) == 1


@pytest.mark.parametrize("shards", [1, 3])
def test_without_equal_columns_queries_share_whatever_columns_they_read(shards: int) -> None:
    """Alone each spreads one input by all columns that it reads, and an aggregate goes by that: results of the shared
    join are sent on to it."""
    join = "FROM A [RANGE {n} SECONDS] a, B [RANGE 9 SECONDS] b WHERE a.v < b.v"
    texts = [f"SELECT {c} {join.format(n=n)}" for n, c in ((12, "a.v, b.v AS w"), (15, "a.k, a.j, b.v AS w"))]
    texts += [f"SELECT a.v, COUNT(*) AS n {join.format(n=5)} GROUP BY a.v", f"SELECT DISTINCT a.v {join.format(n=7)}"]
    catalog = Catalog(tuple(Stream(n, SCHEMA, "ts", ts_unit=SECOND, order=i) for i, n in enumerate("AB")))
    queries = [bind(t, catalog) for t in texts]
    plans, batches = plan_queries(queries), draw_batches(Random(6), SCHEMA, 6, 12)
    assert shared_joins(plans) == 1 and len({v.id for p in plans for v in p.vertices if not v.inputs}) == 2
    for query, rows in zip(queries, answers(LocalPipeline(plans, shards), batches), strict=True):
        assert rows == answers(LocalPipeline(plan_query(query)), batches)[0] and len(rows) > 5, query.text
