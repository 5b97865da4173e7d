"""What a pipeline leaves out under overload: how much, whose, and always the same rows."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from muntin.core.errors import UnsupportedError
from muntin.core.schema import Schema
from muntin.core.time import SECOND
from muntin.cql.binder import bind
from muntin.cql.options import query_options
from muntin.dataflow.explain import explain_as
from muntin.dataflow.harvestable import harvestable
from muntin.dataflow.planner import plan_query
from muntin.engine.harvesting import Given, Learned, of_json, to_json
from muntin.engine.meter import Meter
from muntin.engine.pace import LEAST, Load, shares
from muntin.engine.valve import Valve
from muntin.local.runtime import LocalPipeline
from muntin.operators.joins.harvest import PARTS, Harvest, added, part_of
from muntin.optimizer.shedding import scans
from muntin.plan.catalog import Catalog, Stream

STREAMS = Catalog(
    tuple(
        Stream(n, Schema.of(ts=pa.int64(), k=pa.int64(), v=pa.int64(), n=pa.int64()), "ts", ts_unit=SECOND, order=i)
        for i, n in enumerate("ab")
    )
)
JOIN = "SELECT a.k, a.n, b.n AS w FROM a [RANGE 20 SECONDS], b [RANGE 10 SECONDS] WHERE a.k = b.k"


def batches(seed: int, n: int = 6, rows: int = 60, seconds: int = 10) -> list[dict[str, pa.Table]]:
    rng = random.Random(seed)
    found = []
    for b in range(n):
        each = {}
        for name in "ab":
            ts = sorted(rng.randrange(b * seconds, (b + 1) * seconds) for _ in range(rows))
            k, v = ([rng.randrange(most) for _ in ts] for most in (8, 1000))
            each[name] = pa.table({"ts": ts, "k": k, "v": v, "n": range(b * rows, (b + 1) * rows)})
        found.append(each)
    return found


def rows_of(text: str, valve: Valve | None, seed: int, shards: int = 2) -> Counter[tuple[object, ...]]:
    pipeline = LocalPipeline(plan_query(bind(text, STREAMS, query_options({"shed": "drop"}))), shards)
    pipeline.valve = valve
    found: Counter[tuple[object, ...]] = Counter()
    for batch in batches(seed):
        found.update(tuple(r.values()) for r in pipeline.push(batch).to_pylist())
    found.update(tuple(r.values()) for r in pipeline.finish().to_pylist())
    return found


@pytest.mark.parametrize("text", [JOIN, f"Istream({JOIN})", "SELECT k, n FROM a [RANGE 5 SECONDS] WHERE v > 300"])
def test_what_is_left_is_a_part_of_the_exact_answer(text: str) -> None:
    exact = rows_of(text, None, 1)
    less = rows_of(text, Valve({}, [{"a": 0.5, "b": 0.5}]), 1)
    least = rows_of(text, Valve({}, [{"a": 0.2, "b": 0.5}]), 1)
    assert 0 < least.total() < less.total() < exact.total()
    assert least <= less <= exact
    assert rows_of(text, Valve({}, [{"a": 0.2, "b": 0.5}]), 1, shards=5) == least


def test_the_share_of_a_join_is_the_product() -> None:
    exact, kept = (
        sum(rows_of(JOIN, v, s).total() for s in range(4)) for v in (None, Valve({}, [{"a": 0.5, "b": 0.4}]))
    )
    assert kept / exact == pytest.approx(0.2, abs=0.05)
    assert scans(bind(JOIN, STREAMS)) == ("a", "b")


def test_who_shares_an_operator_gets_as_much_as_the_strictest() -> None:
    valve = Valve({"a": 0.5}, [{"a": 0.5}, {"a": 0.2, "b": 0.1}, {}])
    assert valve.share("a", (0, 1)) == 0.25 and valve.share("a", (1, 2)) == 0.5 and valve.share("b", (1,)) == 0.1
    assert valve.share("b", (0, 1)) == 1 and Valve().share("a", (0,)) == 1
    assert valve.sampled == {"a": 0.1, "b": 0.1} and Valve().sampled == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT MAX(v) FROM a [RANGE 5 SECONDS]", "no sum of numbers"),
        ("SELECT k FROM a [ROWS 5]", "window of rows on a"),
        ("SELECT DISTINCT k FROM a [RANGE 5 SECONDS]", "DISTINCT"),
        (
            "SELECT k FROM a [RANGE 5 SECONDS] WHERE NOT EXISTS (SELECT 1 FROM b [RANGE 5 SECONDS] WHERE b.k = a.k)",
            "EXISTS",
        ),
    ],
)
def test_what_would_be_wrong_is_refused(text: str, words: str) -> None:
    with pytest.raises(UnsupportedError, match=words):
        plan_query(bind(text, STREAMS, query_options({"shed": "drop"})))


def test_rows_are_shared_out_by_floors_and_priorities() -> None:
    never, low, high = Load(100, False), Load(100, True, 0.1), Load(100, True, 0.1, priority=1)
    assert shares(1.0, (never, low, high)) == pytest.approx((1, 1, 1))
    assert shares(0.7, (never, low, high)) == pytest.approx((1, 0.1, 1))
    assert shares(0.5, (never, low, high)) == pytest.approx((1, 0.1, 0.4))
    assert shares(0.1, (never, low, high)) == pytest.approx((1, 0.1, 0.1))
    assert shares(0.5, (Load(100, True), Load(100, True))) == pytest.approx((0.5, 0.5))
    assert shares(0.5, (Load(100, True, 0.9), Load(100, True))) == pytest.approx((0.9, 0.1))
    assert shares(0.0, (Load(100, True),)) == (LEAST,)


JOIN3 = (
    "SELECT a.n, b.n AS w, c.n AS x FROM a [RANGE 20 SECONDS], b [RANGE 20 SECONDS], a c [RANGE 20 SECONDS] "
    "WHERE a.k = b.k AND b.k = c.k AND a.v < 500 AND c.v >= 900"
)
NEAR = "SELECT a.n, b.n AS w FROM a [RANGE 20 SECONDS], b [RANGE 20 SECONDS] WHERE ABS(a.v - b.v) <= 20"


Chosen = dict[tuple[int, int], frozenset[int]]


def harvested(text: str, chosen: Chosen | None, shards: int = 2) -> LocalPipeline:
    pipeline = LocalPipeline(plan_query(bind(text, STREAMS, query_options({"shed": "harvest"}))), shards)
    joins = [v for v in range(len(pipeline.graph.vertices)) if harvestable(pipeline.graph, v)]
    assert len(joins) == 1
    if chosen is not None:
        pipeline.valve = Valve(harvested={joins[0]: chosen})
    return pipeline


@pytest.mark.parametrize("text", [JOIN, JOIN3, NEAR])
def test_a_harvested_join_gives_a_part_and_reads_less(text: str) -> None:
    def answer(chosen: Chosen | None) -> tuple[Counter[tuple[object, ...]], int]:
        pipeline = harvested(text, chosen)
        pipeline.meter = meter = Meter()
        found: Counter[tuple[object, ...]] = Counter()
        for batch in batches(1, n=40, rows=20, seconds=2):
            found.update(tuple(r.values()) for r in pipeline.push(batch).to_pylist())
        return found, sum(c.looked for c in meter.counters.values())

    m = 3 if text == JOIN3 else 2
    ways = [(i, j) for i in range(m) for j in range(m) if i != j]
    exact, all_looked = answer(None)
    young, looked = answer(dict.fromkeys(ways, frozenset(range(4))))
    assert 0 < young.total() < exact.total() and young <= exact
    assert looked < all_looked
    assert answer(dict.fromkeys(ways, frozenset(range(PARTS))))[0] == exact
    assert answer(dict.fromkeys(ways, frozenset()))[0] == Counter()


@pytest.mark.parametrize("condition", ["a.k = b.k", "(a.k - b.k) * (a.k - b.k) < 1"])
def test_the_driver_learns_where_partners_are_and_reads_those_parts(condition: str) -> None:
    text = f"SELECT a.v, b.v AS w FROM a [RANGE 40 SECONDS], b [RANGE 40 SECONDS] WHERE {condition}"
    pipeline, learned, exact, found = harvested(text, {}, 1), Learned(2), 0, 0
    watched = LocalPipeline(pipeline.query, 1)
    (join,) = (v for v in range(len(pipeline.graph.vertices)) if harvestable(pipeline.graph, v))
    for b in range(90):
        ts = [b] * 20
        batch = {  # partners of a row of a are 20 s older in b
            "a": pa.table({"ts": ts, "k": [b * 20 + n for n in range(20)], "v": ts, "n": ts}),
            "b": pa.table({"ts": ts, "k": [(b + 20) * 20 + n for n in range(20)], "v": ts, "n": ts}),
        }
        setting = learned.setting(0.25 if b > 50 else 1.0)
        pipeline.valve = Valve(harvested={join: setting.parts}, explored=b % PARTS)
        if b > 50:
            exact += watched.push(batch).num_rows
            found += pipeline.push(batch).num_rows
            assert setting.share > 0.9 and len(setting.parts[0, 1]) < PARTS and setting.work < 0.5
        else:
            watched.push(batch)
            pipeline.push(batch)
        learned.add(added(counts for _, counts in pipeline.harvested))
        pipeline.harvested.clear()
    assert exact > 500 and found > 0.8 * exact


def test_what_a_driver_knows_is_plain_data() -> None:
    parts = {(0, 1): frozenset((3, 1)), (1, 0): frozenset[int]()}
    assert to_json(parts) == {"0,1": [1, 3], "1,0": []} and of_json(to_json(parts)) == parts
    meta = {"min_start": 0, "max_start": 10, "min_exp": 160, "max_exp": 170}
    assert [part_of(meta, t) for t in (0, 5, 15, 85, 165, 999)] == [0, 0, 1, 8, 15, 15]
    assert part_of({**meta, "max_exp": 2**63 - 1}, 99) == 0
    unknown = Learned(2)
    turns = [unknown.setting(0.2) for _ in range(6)]
    assert [sorted(s.parts[0, 1]) for s in turns[:2]] == [[0, 1, 2], [3, 4, 5]] and turns[0].parts[1, 0] == {0, 1, 2}
    assert {k for s in turns for k in s.parts[0, 1]} == set(range(PARTS)) and turns[0].work == 3 / PARTS


def test_parts_that_were_not_read_for_long_are_looked_into_next() -> None:
    learned = Learned(2)
    every = {(i, 1 - i, k): (10, 10, 0, 0) for i in (0, 1) for k in range(PARTS)}
    learned.add({key: n for key, n in every.items() if key[2] < 10})
    assert learned.longest_unseen == 10 and not learned.knows
    learned.add({key: n for key, n in every.items() if key[2] >= 10 or key[2] == 0})
    assert learned.longest_unseen == 1 and learned.knows
    learned.add({key: n for key, n in every.items() if key[2] in (1, 2) and key[0] == 0})
    assert learned.longest_unseen == 1
    setting = learned.setting(0.25)  # nothing has given anything yet: as many as there is time for
    assert 4 <= sum(map(len, setting.parts.values())) <= 8 and setting.work > 0


def test_explain_says_what_may_be_left_out() -> None:
    bound = bind(JOIN, STREAMS, query_options({"shed": "harvest", "quality": 0.1}))
    text = explain_as("text", bound, plan_query(bound))
    assert "under overload: parts of the windows of joins, then rows of a, b are left out" in text
    assert "at least 10% is kept" in text and "under overload" not in explain_as(
        "text", bind(JOIN, STREAMS), plan_query(bound)
    )
    with pytest.raises(UnsupportedError, match="none of windows of time"):
        plan_query(bind("SELECT k FROM a [RANGE 5 SECONDS]", STREAMS, query_options({"shed": "harvest"})))


def test_what_was_left_out_is_estimated_by_what_it_gave_before() -> None:
    def counts(read: range, found: int) -> dict[tuple[int, int, int], tuple[int, int, int, int]]:
        return {
            (i, 1 - i, k): (10, 50, found, 0) if k in read else (0, 0, 0, 10) for i in (0, 1) for k in range(PARTS)
        }

    learned = Learned(2)
    assert learned.given(counts(range(PARTS), 7)) == Given(2 * PARTS * 7, 2 * PARTS * 7, 0.0), "all was read"
    learned.add(counts(range(4), 6))
    unknown = learned.given(counts(range(4), 6))  # of 12 parts nothing is known but what others gave
    assert (unknown.found, unknown.there) == (48, 2 * PARTS * 6) and unknown.error == 2 * 12 * 6
    learned.add(counts(range(4, PARTS), 2))
    known = learned.given(counts(range(4), 6))
    assert (known.found, known.there) == (48, 48 + 2 * 12 * 2) and 0 < known.error < unknown.error
    assert known.share == 0.5 and known.share_error == pytest.approx(0.5 * known.error / 96)
    twice = known + known
    assert (twice.share, twice.share_error) == (known.share, known.share_error)
    assert Given().share == 1 and Given(0, 10.0, 5.0).share == 0


def test_a_part_without_a_chunk_beside_others_was_looked_into() -> None:
    def chunk(start: int) -> dict[str, int]:
        return {"min_start": start, "max_start": start, "min_exp": start + 16, "max_exp": start + 16}

    harvest = Harvest({(0, 1): frozenset((0, 1, 2, 3, 9))}, explored=4)
    reading = harvest.reading(0, 1, np.array([99, 101]))
    for start in (100, 97, 96, 95, 90):  # parts 0, 3, 4, 5, 10
        if reading.wants(chunk(start)):
            reading.gave(5, 1)
    assert harvest.counts == {
        (0, 1, 0): (2, 5, 1, 0), (0, 1, 1): (2, 0, 0, 0), (0, 1, 2): (2, 0, 0, 0), (0, 1, 3): (2, 5, 1, 0),
        (0, 1, 4): (2, 5, 1, 0), (0, 1, 5): (0, 0, 0, 2), (0, 1, 6): (0, 0, 0, 2), (0, 1, 9): (2, 0, 0, 0),
        (0, 1, 10): (0, 0, 0, 2),
    }  # fmt: skip
    assert added([harvest.counts, harvest.counts])[0, 1, 3] == (4, 10, 2, 0)


def test_a_harvested_join_keeps_the_rows_of_panes_apart() -> None:
    pipeline, plain = harvested(NEAR, {}, 1), harvested(NEAR, None, 1)
    (batch,) = batches(1, n=1, rows=200, seconds=16)
    for p in (pipeline, plain):
        p.push(batch)
    (join,) = (v for v in range(len(pipeline.graph.vertices)) if harvestable(pipeline.graph, v))
    pane = pipeline.graph.hints[join].pane
    assert pane == 20 * SECOND // PARTS
    for window in ("in0", "in1"):
        cut, whole = ([c for s in p.states for c in s[join].list(window)] for p in (pipeline, plain))
        assert all(c.meta["min_start"] // pane == c.meta["max_start"] // pane for c in cut)
        assert sum(c.meta["n"] for c in cut) == sum(c.meta["n"] for c in whole) == 200
        assert len(cut) > 5 * len(whole)
