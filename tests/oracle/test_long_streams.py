"""Constructs that keep rows in runs, over streams long enough that runs are merged many times: the answers are the
naive evaluator's, with the pane store between any two batches."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from stored import Stored
from user_aggregates import FUNCTIONS, PLAIN, with_code

from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_query
from muntin.plan.catalog import Catalog, Stream
from muntin.reference import run
from muntin.state import runs
from muntin.state.pane_store import PaneStore
from muntin.verify.arrow import from_table, to_table
from muntin.verify.compare import bag_difference

W = "[RANGE 60 MICROSECONDS]"
SCHEMA = Schema.of(
    ts=pa.timestamp("us", "UTC"), k=pa.int64(), v=pa.int64(), x=pa.float64(), s=pa.string(), m=pa.decimal128(30, 2)
)
QUERIES = {
    "median": f"SELECT MEDIAN(v) AS a, MEDIAN(x) AS b, QUANTILE(m, 0.1) AS c FROM A {W}",
    "median by key": f"SELECT k, MEDIAN(v) AS a, QUANTILE(x, 0.9) AS b FROM A {W} GROUP BY k",
    "median at ticks": "SELECT k, MEDIAN(v) AS a FROM A [RANGE 60 MICROSECONDS SLIDE 7 MICROSECONDS] GROUP BY k",
    "snapshots": "Rstream(SELECT k, MEDIAN(x) AS a, MIN(s) AS b FROM A [RANGE 40 us SLIDE 9 us] GROUP BY k)",
    "distinct values": "SELECT k, COUNT(DISTINCT v) AS a, SUM(DISTINCT v % 100) AS b, COUNT(DISTINCT s) AS c "
    f"FROM A {W} GROUP BY k",
    "median of distinct": f"SELECT MEDIAN(DISTINCT v) AS a FROM A {W}",
    "collect": f"SELECT k, COLLECT(s) AS a, COLLECT(x) AS b FROM A {W} GROUP BY k",
    "first and last": f"SELECT k, FIRST(s) AS a, LAST(v) AS b FROM A {W} GROUP BY k",
    "extremes": f"SELECT k, MIN(v) AS a, MAX(x) AS b, MIN(s) AS c, MAX(m) AS d FROM A {W} GROUP BY k",
    "extremes of one": f"SELECT MIN(v) AS a, MAX(s) AS b FROM A {W}",
    "signed extremes": "SELECT MIN(x) AS a, MAX(v) AS b, MIN(s) AS c, MAX(m) AS d FROM A [ROWS 50]",
    "many groups": f"SELECT s, k, v, COUNT(*) AS n, SUM(x) AS a FROM A {W} GROUP BY s, k, v",
    "rows": "SELECT k, v FROM A [ROWS 60]",
    "rows by steps": "SELECT k, v FROM A [ROWS 40 SLIDE 7]",
    "long steps": "SELECT k, v FROM A [ROWS 5 SLIDE 70]",
    "partitions": "SELECT k, s, v FROM A [PARTITION BY k, s ROWS 4]",
    "partitions by steps": "SELECT k, v FROM A [PARTITION BY k ROWS 9 SLIDE 4]",
    "rows that move time": "SELECT k, v FROM A [RANGE 50 MICROSECONDS SLIDE 11]",
    "seldom": "SELECT k, v FROM A [RANGE 50 MICROSECONDS SLIDE 90]",
    "first rows": f"SELECT k, v, s FROM A {W} ORDER BY v DESC, s LIMIT 4",
    "first texts": f"SELECT s, v FROM A {W} ORDER BY s NULLS LAST LIMIT 3",
    "first of rows": "SELECT k, x FROM A [ROWS 50] ORDER BY x NULLS FIRST LIMIT 5",
    "restored": "Rstream-restore(SELECT k, COUNT(*) AS n FROM A [RANGE 30 us SLIDE 8 us] GROUP BY k)",
    "user's, with subtract": f"SELECT k, squares(v % 100) AS a FROM A {W} GROUP BY k",
    "user's, by values": f"SELECT k, joined(s) AS a, runner_up(v) AS b FROM A {W} GROUP BY k",
    "user's, by panes": "SELECT k, joined(s) AS a, runner_up(v) AS b FROM A [RANGE 60 us SLIDE 5 us] GROUP BY k",
    "user's, of one": f"SELECT runner_up(v) AS a FROM A {W}",
    "except": f"SELECT k, v FROM A {W} EXCEPT SELECT k, v FROM A [RANGE 20 MICROSECONDS]",
}

FIRST = ("first rows", "first texts")
"""What takes the definition longest."""


def drawn(rng: Random, count: int) -> list[dict[str, Any]]:
    """Rows in order of time, some at one instant; values that drift, so that old ones are at one end."""
    rows, ts = [], 0
    for i in range(count):
        ts += rng.choice((0, 1, 1, 2))
        v = rng.choice((None, rng.randint(-9, 9), i, -i, rng.randint(-(2**62), 2**62)))
        x = rng.choice((None, -0.0, 0.0, float("inf"), rng.uniform(-1, 1), i / 7))
        s = rng.choice((None, "", f"a common beginning {rng.randint(0, 9)}", f"{rng.randint(0, 99)}"))
        m = rng.choice((None, Decimal(rng.randint(-999, 999)).scaleb(-2), Decimal(rng.randint(-(10**27), 10**27))))
        rows.append({"ts": ts, "k": rng.choice((None, 1, 2, 3, 3, 3)), "v": v, "x": x, "s": s, "m": m})
    return rows


@pytest.mark.parametrize("name", list(QUERIES))
def test_answers_are_those_of_the_definition(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "SMALL", 4)
    monkeypatch.setattr(runs, "TIER", 3)
    check(QUERIES[name], 1 + list(QUERIES).index(name), 130 if name not in FIRST else 80, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 106))
@pytest.mark.parametrize("name", list(QUERIES))
def test_on_many(name: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "SMALL", 1 + seed % 3)
    monkeypatch.setattr(runs, "TIER", 2 + seed % 2)
    check(QUERIES[name], seed, 500, tmp_path)


def check(text: str, seed: int, count: int, path: Path) -> None:
    rng = Random(seed)
    stream = Stream("A", SCHEMA, "ts")
    bound = bind(text, Catalog((stream,), functions=FUNCTIONS))
    query = with_code(plan_query(bound))
    rows = drawn(rng, count)
    pipeline, store = Stored(query, shards=rng.choice((1, 2))), PaneStore.open(str(path), "q", 0)
    got, at, version = [], 0, 0
    while at < count:
        size = rng.choice((1, 5, 12, 40))
        got += from_table(pipeline.push({"A": to_table(stream, rows[at : at + size])}), query.schema, query.shows_op)
        pipeline.restart(store, version, rng)
        at, version = at + size, version + 1
    got += from_table(pipeline.finish(), query.schema, query.shows_op)
    expected = run(bound, {"A": rows}, functions=PLAIN)
    for key in sorted({(t, op or "") for t, op, _ in [*expected, *got]}):
        mine, theirs = ([r for t, op, r in found if (t, op or "") == key] for found in (got, expected))
        assert not bag_difference(theirs, mine), f"at {key}"
