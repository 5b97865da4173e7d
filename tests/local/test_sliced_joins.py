"""Shared joins that are done slice by slice: queries that wait answer later what they would have answered."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from stored import Stored
from test_history import relation, restarted, undisturbed
from test_shared_window_joins import CATALOG, SCHEMA, Batches, asking, draw_batches, in_order

import muntin.dataflow.sharing.window_joins as window_joins
import muntin.engine.substeps as substeps
from muntin.cql.binder import bind
from muntin.dataflow.graph import Graph, QueryPlan
from muntin.dataflow.planner import plan_queries, plan_query
from muntin.dataflow.sharing.slices import last_slices
from muntin.engine.meter import Meter
from muntin.engine.valve import Valve
from muntin.local.runtime import LocalPipeline
from muntin.operators.joins.harvest import PARTS
from muntin.operators.joins.slices import DONE, Slices, slices_of
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.nodes import BoundQuery
from muntin.reference import run
from muntin.scheduling.policies import POLICIES
from muntin.scheduling.slice_budget import share_done, within_budget
from muntin.scheduling.slices import sizes_of
from muntin.state.pane_store import PaneStore
from muntin.verify.arrow import from_table

SECOND = 1_000_000
STREAMS = Catalog(
    tuple(Stream(n, SCHEMA, "ts", ts_unit=SECOND, slack=2 * SECOND, order=i) for i, n in enumerate("ABCD"))
)
CONDITIONS = {
    "AB": [
        "a.k = b.k", "a.k = b.k AND a.s = b.s", "a.j BETWEEN b.j - 1 AND b.j + 1", "a.v < b.v", "a.v + b.v > 4",
        "ABS(a.v - b.v) <= 1 AND a.j <> b.j", "a.s = b.s AND a.v < b.v", "1 = 1",
    ],
    "AA": ["a.k = b.k", "a.v < b.v"],
    "ABC": [
        "a.k = b.k AND b.k = c.k", "a.k = b.k AND b.j = c.j", "a.v < b.v AND b.v < c.v", "a.k = b.k AND a.v < c.v",
    ],
    "ABCD": [
        "a.k = b.k AND b.k = c.k AND c.k = d.k", "a.k = b.k AND b.j = c.j AND c.v = d.v",
        "a.k = b.k AND b.k = c.k AND c.k = d.k AND a.v < d.v",
    ],
}  # fmt: skip
FORMS = [
    "SELECT a.k, b.v {f}", "Istream(SELECT a.ts AS t, b.ts AS u, a.k {f})", "SELECT COUNT(*) AS n, SUM(a.v) AS t {f}",
    "SELECT a.k, MAX(b.v) AS m {f} GROUP BY a.k", "SELECT DISTINCT b.v {f}", "SELECT a.v, b.j {f} AND a.v < b.v",
]  # fmt: skip
LONGEST = {"AB": 20, "AA": 20, "ABC": 12, "ABCD": 10}
ROWS = {"AB": 6, "AA": 6, "ABC": 3, "ABCD": 3}


def draw_group(rng: Random, streams: str) -> list[BoundQuery]:
    """Queries over one join with windows of their own: mostly one on all inputs."""
    on, found = rng.choice(CONDITIONS[streams]), []
    slide = rng.choice(("", "", " SLIDE 3 SECONDS"))
    for w in rng.sample(range(1, LONGEST[streams]), rng.randint(2, 8)):
        apart = rng.random() < 0.15
        windows = [f"[RANGE {rng.randint(1, w) if apart else w} SECONDS{slide}]" for _ in streams]
        parts = ", ".join(f"{n} {x} {a}" for n, x, a in zip(streams, windows, "abcd", strict=False))
        more = rng.choice(("", "", " AND a.v > 1"))
        found.append(bind(rng.choice(FORMS).format(f=f"FROM {parts} WHERE {on}{more}"), STREAMS))
    return found


def draw_rows(rng: Random, streams: str, count: int = 6) -> Batches:
    """A few rows of each stream a batch, in some order, none of them late."""
    found = []
    for low in range(2, 5 * count, 5):
        batch = {}
        for name in sorted(set(streams)):
            ts = [rng.randint(low, low + 4) - rng.choice((0, 0, 2)) for _ in range(rng.randint(0, ROWS[streams]))]
            columns = {c: [rng.choice([None, 1, 1, 2, 3, 5]) for _ in ts] for c in ("k", "j", "v")}
            texts = [rng.choice([None, "x", "y", "y"]) for _ in ts]
            batch[name] = pa.table({"ts": ts, **columns, "s": texts}, SCHEMA.to_arrow())
        found.append(batch)
    return found


def sliced(plans: list[QueryPlan]) -> list[Slices]:
    return [s for p in plans for v in p.vertices if (s := slices_of(v.op)) is not None]


def sliced_joins(graph: Graph) -> list[tuple[int, Slices]]:
    return [(i, s) for i, v in enumerate(graph.vertices) if (s := slices_of(v.op)) is not None]


def draw_waiting(rng: Random, graph: Graph) -> list[int]:
    """Who waits in a batch: whom a budget leaves no time by the policy, or anybody."""
    queries = range(len(graph.plans))
    if rng.random() < 0.3:
        share = rng.choice((0.0, 0.5, 0.9))
        return [q for q in queries if rng.random() < share]
    budget, waits = rng.choice((0.01, 0.2, 0.5, 1.0)), set()
    for join, slices in sliced_joins(graph):
        last = last_slices(graph, join)
        users, ends = sorted(last), [last[u] for u in sorted(last)]
        cost = partial(share_done, sizes_of(slices.ends), ends, waited=[0] * len(ends))
        served = within_budget(slices.order(), ends, lambda due, cost=cost: cost(due), budget)  # type: ignore[misc]
        waits |= {u for i, u in enumerate(users) if i not in served}
    return sorted(waits)


def run_waiting(pipeline: Stored, batches: Batches, rng: Random, path: Path) -> list[list[pa.Table]]:
    """The results by step while queries wait at random: state goes through a store after every batch, and some steps
    are killed and done again."""
    store, parts = PaneStore.open(str(path), "q", 0), []
    for number, batch in enumerate(batches):
        wait = draw_waiting(rng, pipeline.graph)
        if number and rng.random() < 0.3:
            pipeline.push_all(batch, deferred=wait)
            pipeline.restore(store.load(number - 1, list(pipeline.cells())))
        parts.append(pipeline.push_all(batch, deferred=wait))
        pipeline.restart(store, number, rng)
    return [*parts, pipeline.finish_all()]


@pytest.fixture
def all_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """Joins of one signature come together whatever that costs."""
    monkeypatch.setattr(window_joins, "joining_cost", lambda flow, flows: -1e18 * len(flows))


@pytest.mark.usefixtures("all_share")
@pytest.mark.parametrize("streams", CONDITIONS)
@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(s, marks=pytest.mark.slow) for s in range(2, 60))])
def test_queries_that_wait_answer_what_they_would_have(
    streams: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """State goes through the store after every batch, and some steps are killed and done again; what each query answers
    in the end is what it answers alone, in order of time, and what the reference says."""
    rng = Random(f"slices {streams} {seed}")
    queries, batches = draw_group(rng, streams), draw_rows(rng, streams)
    plans = plan_queries(queries, rng.choice([*POLICIES]))
    monkeypatch.setattr(substeps, "MOST", rng.choice((5, 60, 1 << 19)))
    together = Stored(plans, rng.choice((1, 2, 3)))
    parts = run_waiting(together, batches, rng, tmp_path)
    monkeypatch.setattr(substeps, "MOST", 1 << 19)
    streams_in = {n: [r for b in batches for r in b[n].to_pylist()] for n in sorted(set(streams))}
    for query, plan, tables in zip(queries, plans, zip(*parts, strict=True), strict=True):
        alone, found = LocalPipeline(plan_query(query)), pa.concat_tables(tables)
        expected = [alone.push(b) for b in batches] + [alone.finish()]
        assert in_order(found) == in_order(pa.concat_tables(expected)), query.text
        times = found["ts"].cast(pa.int64()).to_pylist()
        assert times == sorted(times)
        rows = from_table(found, plan.schema, plan.shows_op)
        assert Counter(map(repr, rows)) == Counter(map(repr, run(query, streams_in))), query.text


COUNTED = "SELECT COUNT(*) AS n FROM {parts} WHERE {on}"
DENSE = Catalog(tuple(Stream(n, SCHEMA, "ts", ts_unit=SECOND, order=i) for i, n in enumerate("ABCD")))


def counting(streams: str, on: str, window: str) -> BoundQuery:
    parts = ", ".join(f"{n} {window} {a}" for n, a in zip(streams, "abcd", strict=False))
    return bind(COUNTED.format(parts=parts, on=on), DENSE)


def sparse(count: int, streams: str, rows: int) -> Batches:
    """Ten seconds of each stream a batch, in order of time."""
    rng, found = Random(f"{streams} {rows}"), []
    for low in range(0, 10 * count, 10):
        batch = {}
        for name in sorted(set(streams)):
            ts = sorted(rng.randint(low, low + 9) for _ in range(rows))
            columns = {c: [rng.randint(1, 4) for _ in ts] for c in ("k", "j", "v")}
            batch[name] = pa.table({"ts": ts, **columns, "s": ["x"] * len(ts)}, SCHEMA.to_arrow())
        found.append(batch)
    return found


KINDS = [(s, on) for s, many in CONDITIONS.items() for on in many]


@pytest.mark.usefixtures("all_share")
@pytest.mark.parametrize(("streams", "on"), KINDS)
def test_slices_that_nobody_needs_are_left_for_later(streams: str, on: str) -> None:
    """While the wide query waits only the narrow one's slice is done, for less than the whole join takes; rows stay
    that the other slice still needs. In the end nothing has been looked at twice, but for what leads to the last window
    of three or more, and values that a sorted column has side by side in a pane of both slices."""
    queries = [counting(streams, on, f"[RANGE {w} SECONDS]") for w in (7, 28)]
    plans, batches = plan_queries(queries, "swf"), sparse(8, streams, ROWS[streams])
    meters = [Meter(), Meter()]
    whole, pipeline = (LocalPipeline(plans, 1, m) for m in meters)
    ((join, _),) = sliced_joins(pipeline.graph)
    results: list[list[list[pa.Table]]] = [[], []]
    for number, batch in enumerate(batches):
        results[0].append(whole.push_all(batch))
        results[1].append(pipeline.push_all(batch, deferred=[1] if 0 < number < 7 else []))
        looked = [m.of(join).looked for m in meters]
        if 1 < number < 7:
            assert in_order(results[1][-1][0]) == in_order(results[0][-1][0])
            assert len(results[1][-1][1]) == 0 and looked[1] < looked[0]
            state = pipeline.states[0][join]
            done = state.heads[DONE]
            assert done[0] > done[1]
            assert number < 6 or any(c.meta["max_exp"] < done[0] for c in state.list("in0"))
    assert len(set(pipeline.states[0][join].heads[DONE])) == 1
    for query in (0, 1):
        found = [pa.concat_tables([r[query] for r in part]) for part in results]
        assert in_order(found[1]) == in_order(found[0]) and len(found[0]) > 3
    scanned, banded = on in ("1 = 1", "a.v + b.v > 4"), "<" in on or "BETWEEN" in on
    most = 1.5 if len(streams) > 2 else 1.3 if banded else 1.0 if scanned else 1.05  # a bucket is walked
    assert looked[1] <= looked[0] * most, looked


@pytest.mark.usefixtures("all_share")
@pytest.mark.parametrize(
    ("streams", "on"),
    [("AB", "a.k = b.k"), ("AB", "a.v < b.v"), ("ABC", "a.k = b.k AND b.k = c.k"), ("ABC", "a.k = b.k AND b.j = c.j")],
)
def test_slices_of_a_join_that_harvests_its_windows_give_a_part_of_its_answer(streams: str, on: str) -> None:
    """Whoever waits: all parts of the windows give all of it, the youngest ones less, none of them nothing."""
    names = ", ".join(f"{a}.ts AS {a}ts, {a}.v AS {a}v" for a in "abc"[: len(streams)])
    texts = []
    for length in (7, 28):
        windows = ", ".join(f"{n} [RANGE {length} SECONDS] {a}" for n, a in zip(streams, "abc", strict=False))
        texts.append(f"Istream(SELECT {names} FROM {windows} WHERE {on})")
    plans = plan_queries([bind(t, DENSE) for t in texts], "swf")
    ways = [(i, j) for i in range(len(streams)) for j in range(len(streams)) if i != j]

    def answers(parts: int | None, waits: bool) -> list[Counter[str]]:
        pipeline = LocalPipeline(plans, 2)
        ((join, _),) = sliced_joins(pipeline.graph)
        if parts is not None:
            pipeline.valve = Valve(harvested={join: dict.fromkeys(ways, frozenset(range(parts)))})
        found: list[Counter[str]] = [Counter(), Counter()]
        deferred = [[], [1], [0, 1], [1], []] if waits else [[]]
        for number, batch in enumerate(sparse(10, streams, 8)):
            tables = pipeline.push_all(batch, deferred=deferred[number % len(deferred)])
            for own, table in zip(found, tables, strict=True):
                own.update(map(repr, table.to_pylist()))
        return found

    exact = answers(None, waits=False)
    assert answers(None, waits=True) == answers(PARTS, waits=True) == exact
    for own, whole in zip(answers(3, waits=True), exact, strict=True):
        assert own <= whole and 0 < own.total() < whole.total()
    assert answers(0, waits=True) == [Counter(), Counter()]


def test_windows_may_slide_and_differ_from_stream_to_stream() -> None:
    """The longest window of a query says which slices it needs; one whose windows are moved apart needs all."""
    texts = ["[RANGE 4 SECONDS SLIDE 2 SECONDS]", "[RANGE 9 SECONDS SLIDE 2 SECONDS]", "[RANGE 6 SECONDS]"]
    queries = [counting("AB", "a.k = b.k", t) for t in texts]
    text = "SELECT COUNT(*) AS n FROM A [RANGE {a} SECONDS] a, B [RANGE {b} SECONDS{s}] b WHERE a.k = b.k"
    for a, b, s in ((2, 5, ""), (8, 3, ""), (2, 2, " SLIDE 3 SECONDS")):
        queries.append(bind(text.format(a=a, b=b, s=s), DENSE))
    plans = plan_queries(queries, "greedy")
    graph = Graph.of(plans)
    ((join, slices),) = sliced_joins(graph)
    assert slices.ends == tuple(s * SECOND for s in (4, 5, 6, 8, 9)) and slices.schedule == "greedy"
    assert last_slices(graph, join) == {0: 0, 1: 4, 2: 2, 3: 1, 4: 3, 5: 4}


def test_where_all_windows_are_alike_a_join_is_done_whole() -> None:
    text = "SELECT COUNT(*) AS n FROM A [RANGE {a} SECONDS] a, B [RANGE {b} SECONDS] b WHERE a.k = b.k"
    plans = plan_queries([bind(text.format(a=a, b=b), CATALOG) for a, b in ((2, 9), (9, 2))], "greedy")
    assert len(sliced_joins(Graph.of(plans))) == 0 and len(plans[0].vertices) > 4


@pytest.mark.usefixtures("all_share")
@pytest.mark.parametrize("on", ["a.k = b.j", "a.v < b.v", "a.k = b.k AND b.j = c.j"])
def test_rows_that_were_taken_up_later_than_they_came_are_in_slices(on: str) -> None:
    """A new join finds rows that others hold: they start when it does, whichever slice their event times are of."""
    names = "ABC" if "c." in on else "AB"
    columns = ", ".join(f"{a}.{c} AS {a}{c}" for a in names.lower() for c in ("ts", "k", "j", "v"))
    parts = ", ".join(f"{n} [RANGE 20 SECONDS] {n.lower()}" for n in names)
    first = asking({"all": f"SELECT {columns} FROM {parts} WHERE {' + '.join(f'{a}.v' for a in names.lower())} > -9"})
    new = {}
    for w in (3, 7, 12):
        parts = ", ".join(f"{n} [RANGE {w} SECONDS] {a}" for n, a in zip(names, "abc", strict=False))
        new[f"new{w}"] = f"SELECT a.k, a.v, b.v AS w FROM {parts} WHERE {on}"
    batches, waits = draw_batches(Random(on), SCHEMA, 10, 8), {5: [3], 6: [2, 3]}
    found, results, at = restarted(first, asking(new), batches, 5, 2, "swf", waits)
    plans = list(found.taken.plans.values())
    assert {s.ends for s in sliced(plans)} == {(3 * SECOND, 7 * SECOND, 12 * SECOND)}
    for (name, query), tables in zip(asking(new).items(), results, strict=True):
        assert "its windows are full" in found.taken.notes[name], found.taken.notes
        expected = relation(undisturbed(query, {}, batches), at)
        assert {at: {}, **relation(tables, at)} == {at: {}, **expected} and len(expected) > 3
