"""Sliding aggregates that read one synopsis: every query has the answer of its isolated run, in any company."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from stored import Stored

from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.durable import Asked, DurablePlan, TakenUp, from_json, take_up, to_json
from muntin.dataflow.explain import explain_graph
from muntin.dataflow.planner import plan_queries, plan_query
from muntin.dataflow.sharing.rules import shared_graph
from muntin.engine import substeps
from muntin.local.history import fill
from muntin.local.runtime import LocalPipeline
from muntin.operators.synopsis import Synopsis
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.windows import QueryOptions
from muntin.state.pane_store import PaneStore

SCHEMA = Schema.of(
    ts=pa.int64(), k=pa.int64(), name=pa.string(), v=pa.int64(), x=pa.float64(), d=pa.decimal128(8, 2), ok=pa.bool_()
)
CATALOG = Catalog((Stream("s", SCHEMA, "ts", slack=2_000_000, ts_unit=1_000_000),))
AGGREGATES = (
    ["COUNT(*)", "COUNT(v)", "SUM(v)", "AVG(v)", "MIN(v)", "MAX(v)", "SUM(x)", "AVG(x)", "MIN(x)", "MAX(x)", "SUM(d)"]
    + ["AVG(d)", "MIN(ok)", "COUNT_IF(v > 3)", "BOOL_OR(ok)", "SUM(v) FILTER (WHERE k = 1)", "MAX(s.ts)", "TRY_SUM(d)"]
    + ["VARIANCE(v)", "STDDEV_POP(x)", "VAR_POP(d) FILTER (WHERE v > 0)", "CORR(v, d)", "REGR_SLOPE(x, v)"]
    + ["COVAR_SAMP(v, k)", "REGR_R2(v, d)", "REGR_INTERCEPT(k, v)", "REGR_SXX(x, d)", "REGR_AVGY(v, x)"]
    + ["REGR_COUNT(x, v)", "TRY_AVG(v)"]
)
CONDITIONS = (
    ["k = {c}", "k < {c}", "k >= {c}", "k <> {c}", "v > {c}", "v <= {c}", "x < {c}.5", "x > {c}", "name = 'n{c}'"]
    + ["name <> 'n{c}'", "k IN (1, {c})", "k BETWEEN 1 AND {c}", "ok", "NOT ok", "v IS NULL", "name LIKE 'n%{c}'"]
    + ["k = {c} OR v = {c}", "(k = {c} OR name = 'n1') AND v > 0", "k * 1.0 > x"]
)
SLIDES = (1, 2, 3, 5, 6, 10)


def text(rng: Random) -> str:
    """A sliding aggregate with windows, slide, predicate and groups of its own."""
    made = rng.sample(AGGREGATES, rng.randint(1, 3))
    groups = rng.choice(["", "", "k", "k, name", "name"])
    columns = ", ".join([*(f"{a} AS a{i}" for i, a in enumerate(made)), *([groups] if groups else [])])
    length, slide = rng.choice([1, 2, 4, 6, 10, 15, 24, 30]), rng.choice(SLIDES)
    where = " AND ".join(c.format(c=rng.randint(0, 4)) for c in rng.sample(CONDITIONS, rng.choice([0, 1, 1, 2])))
    query = f"SELECT {columns} FROM s [RANGE {length} SECONDS SLIDE {slide} SECONDS]"
    query += f" WHERE {where}" if where else ""
    query += f" GROUP BY {groups}" if groups else ""
    return query + (" HAVING COUNT(*) > 1" if rng.random() < 0.1 else "")


def data(rng: Random, batches: int = 8) -> list[dict[str, pa.Table]]:
    found, low = [], rng.randint(-20, 20)
    for _ in range(batches):
        n = rng.choice([0, 1, 5, 40])
        rows = [(rng.randint(low - 2, low + 6), *values(rng)) for _ in range(n)]
        columns = list(zip(*rows, strict=True)) if rows else [()] * 7
        arrays = [pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)]
        found.append({"s": pa.table(arrays, names=SCHEMA.names)})
        low += rng.choice([3, 6, 6, 40])
    return found


def values(rng: Random) -> tuple[object, ...]:
    def maybe(value: object) -> object:
        return None if rng.random() < 0.1 else value

    x = rng.choice([0.1, -0.0, 2.5, 1e17, float("nan"), float("inf"), -3.25])
    return (
        maybe(rng.randint(0, 4)), maybe(f"n{rng.randint(0, 4)}"), maybe(rng.randint(-5, 5)), maybe(x),
        maybe(Decimal(rng.randint(-999, 999)) / 100), maybe(rng.random() < 0.5),
    )  # fmt: skip


def run(plans, batches, shards=1):  # type: ignore[no-untyped-def]
    pipe = LocalPipeline(plans, shards)
    found = [pipe.push_all(b) for b in batches] + [pipe.finish_all()]
    return pipe, [shown(pa.concat_tables(parts)) for parts in zip(*found, strict=True)]


def lost(pipe: LocalPipeline, query: int) -> int:
    """Rows that a query left out for coming too late."""
    return sum(int(part.queries[:, query].sum()) for part in pipe.late_rows)


def shown(table: pa.Table) -> list[str]:
    """The rows as texts, in an order; 0.0 for -0.0, which is the same value."""
    plain = ((v + 0.0 if isinstance(v, float) else v for v in r.values()) for r in table.to_pylist())
    return sorted(repr(tuple(r)) for r in plain)


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in range(1, 60))])
def test_random_groups_have_the_answers_of_isolated_runs(seed: int) -> None:
    rng = Random(seed)
    bounds = rng.choice(["half_open", "half_open", "start"])
    texts = [text(rng) for _ in range(rng.choice([2, 3, 8, 20, 40]))]
    plans = plan_queries(bind(t, CATALOG, QueryOptions(bounds=bounds)) for t in texts)
    batches, shards = data(rng), rng.choice([1, 1, 3])
    pipe, together = run(plans, batches, shards)
    for number, (query, plan, rows) in enumerate(zip(texts, plans, together, strict=True)):
        own, (alone,) = run([plan], batches, shards)
        assert rows == alone, query
        assert lost(pipe, number) == lost(own, 0), query
    if len(texts) > 20:
        assert any(isinstance(v.op, Synopsis) for v in pipe.graph.vertices)


def asked(query: str) -> Asked:
    bound = bind(query, CATALOG)
    return Asked(bound, lambda places, known: plan_query(bound, places, known))


def restarted(
    plan: DurablePlan | None, texts: dict[str, str], number: int, pipe: Stored | None, shards: int = 2
) -> tuple[DurablePlan, TakenUp, Stored]:
    """A run of these queries from a batch on, which goes on with what the one before it kept."""
    taken = take_up(plan, {n: asked(t) for n, t in texts.items()}, number, "test")
    cells = {} if pipe is None else pipe.cells()
    found = Stored(list(taken.plans.values()), shards)
    found.restore({n: c for n, c in cells.items() if taken.since.get(n.partition("/")[0], 0) < number})
    return from_json(json.loads(json.dumps(to_json(taken.durable)))), taken, found


def grouped(rng: Random) -> str:
    return next(t for t in iter(lambda: text(rng), "") if "GROUP BY k" in t and "HAVING" not in t)


@pytest.mark.parametrize("seed", [2, *(pytest.param(s, marks=pytest.mark.slow) for s in (0, 1, 3, 4, 5, 6, 7))])
def test_queries_come_and_go_beside_others_that_go_on(seed: int, tmp_path: Path) -> None:
    """Over restarts from the pane store: who stays answers as alone; who comes begins with the panes that tell what it
    asks, else with what comes from then on."""
    rng = Random(1_000 + seed)
    texts = {f"q{i}": grouped(rng) for i in range(12)}
    batches, shards = data(rng, 12), rng.choice([1, 3])
    running = dict(list(texts.items())[: rng.choice([1, 2, 6])])
    began = dict.fromkeys(running, 0)
    results: dict[str, list[pa.Table]] = {name: [] for name in texts}
    pipe: Stored | None = None
    plan: DurablePlan | None = None
    for number, batch in enumerate(batches):
        if number % 3 == 0:
            if number:
                gone = rng.sample(sorted(running), len(running) // 3)
                new = [n for n in texts if n not in began][: rng.randint(1, 4)]
                running = {n: t for n, t in running.items() if n not in gone} | {n: texts[n] for n in new}
                began |= dict.fromkeys(new, number)
            plan, _, pipe = restarted(plan, running, number, pipe, shards)
        assert pipe is not None
        for name, table in zip(running, pipe.push_all(batch), strict=True):
            results[name].append(table)
        pipe.restart(PaneStore.open(str(tmp_path / "store"), "query", 0), number)
    told = 0
    for name, first in began.items():
        answer, end = shown(pa.concat_tables(results[name])), first + len(results[name])
        at = [n for n in range(first + 1) if answer == since(texts[name], batches[:end], n, first, shards)]
        assert at, (name, texts[name], first)
        told += bool(answer) and at[0] < first
    assert told or seed != 1


def test_a_new_query_is_told_what_it_begins_with() -> None:
    first = {n: f"SELECT k, SUM(v) AS a FROM s [RANGE {n} SECONDS SLIDE 2 SECONDS] GROUP BY k" for n in ("8", "6")}
    new = first | {"4": first["8"].replace("RANGE 8", "RANGE 4")}
    before = take_up(None, {n: asked(t) for n, t in first.items()}, 0, "test").durable
    queries = {n: asked(t) for n, t in new.items()}
    taken = fill(take_up(before, queries, 7, "test"), queries, before, lambda ids: None, 1).taken
    assert taken.notes.keys() == {"4"} and "begins with those that tell what it asks" in taken.notes["4"]
    assert taken.durable.filling("4").batch == 7 and taken.durable.filling("8").batch == 0


def since(query: str, batches: list[dict[str, pa.Table]], known: int, first: int, shards: int) -> list[str]:
    """What a query shows from batch ``first`` on that has the rows from batch ``known`` on that were not late then."""
    plan = plan_queries([bind(query, CATALOG)])
    seen = [t for b in batches[:known] for t in b["s"]["ts"].to_pylist()]
    watermark = max(seen, default=-1000) - 2
    part = [{"s": b["s"].filter(pc.greater_equal(b["s"]["ts"], watermark))} for b in batches[known:]]
    pipe = LocalPipeline(plan, shards)
    found = [pipe.push(b) for b in part]
    return shown(pa.concat_tables(found[first - known :]))


def test_a_query_that_reports_reads_its_own_partials_only() -> None:
    """One that reports often beside one that keeps much and reports seldom."""
    texts = (
        "SELECT k, name, COUNT(*) AS n FROM s [RANGE 60 SECONDS SLIDE 60 SECONDS] GROUP BY k, name",
        "SELECT k, name, SUM(v) AS n FROM s [RANGE 2 SECONDS SLIDE 1 SECONDS] WHERE k = 1 GROUP BY k, name",
    )
    plans, batches = plan_queries(bind(t, CATALOG) for t in texts), data(Random(5), 20)
    pipe, together = run(plans, batches)
    assert len(pipe.graph.shared) == 1 and all(together)
    assert together == [run([p], batches)[1][0] for p in plans]


@pytest.mark.parametrize("most", [3, 40])
def test_answers_that_have_no_room_in_a_step_come_in_several(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(most)
    texts = [text(rng) for _ in range(9)]
    plans, batches = plan_queries(bind(t, CATALOG) for t in texts), data(rng, 6)
    _, whole = run(plans, batches)
    monkeypatch.setattr(substeps, "MOST", most)
    assert run(plans, batches)[1] == whole and any(len(rows) > most for rows in whole)


def test_windows_whose_common_panes_would_be_too_fine_stay_apart() -> None:
    """Panes of a second would be 7,200 of the longest window."""
    windows = ("7200 SECONDS SLIDE 3600 SECONDS", "7 SECONDS SLIDE 1 SECOND", "3600 SECONDS SLIDE 1800 SECONDS")
    plans = plan_queries(bind(f"SELECT k, SUM(v) AS a FROM s [RANGE {w}] GROUP BY k", CATALOG) for w in windows)
    (note,) = shared_graph(plans).shared
    assert note.plans == (0, 2) and "panes of 30 minutes" in note.saved


def test_explain_says_who_shares_what_and_what_that_spares() -> None:
    window = "[RANGE {n} SECONDS SLIDE 2 SECONDS] WHERE k < {n}"
    texts = [f"SELECT k, SUM(v) AS a FROM s {window.format(n=n)} GROUP BY k" for n in (4, 8)]
    graph = shared_graph(plan_queries(bind(t, CATALOG) for t in texts))
    told = explain_graph("text", graph, ["short", "long"])
    assert "shared by rule synopses in #1: short, long" in told and "2 windows and 2 predicates" in told
    (note,) = json.loads(explain_graph("json", graph, ["short", "long"]))["shared"]
    assert note["queries"] == ["short", "long"] and "1 pass over the stream instead of 2" in note["saved"]
