"""Aggregates under a drop box: estimates of the full answer whose errors are what they say, exact where nothing is left
out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from muntin.core.errors import UnsupportedError
from muntin.core.schema import Schema
from muntin.core.time import SECOND
from muntin.cql.binder import bind
from muntin.cql.options import query_options
from muntin.dataflow.durable import question_of
from muntin.dataflow.explain import explain_as
from muntin.dataflow.planner import plan_query
from muntin.engine.valve import Valve
from muntin.local.runtime import LocalPipeline
from muntin.optimizer.scaling import TWO_SIDED
from muntin.plan.catalog import Catalog, Stream, Table
from muntin.plan.nodes import BoundQuery

COLUMNS = Schema.of(ts=pa.int64(), k=pa.int64(), v=pa.int64(), x=pa.float64())
KEYED = Table("t", Schema.of(k=pa.int64(), name=pa.int64(), w=pa.int64()), "relation", key=("k",))
CHAINED = Table("u", Schema.of(name=pa.int64(), y=pa.int64()), key=("name",))
LOOSE = Table("loose", Schema.of(k=pa.int64(), w=pa.int64()))
STREAMS = Catalog(
    tuple(Stream(n, COLUMNS, "ts", ts_unit=SECOND, order=i) for i, n in enumerate("ab")), (KEYED, CHAINED, LOOSE)
)
TEXT = (
    "SELECT k, COUNT(*) AS n, COUNT(x) AS c, SUM(v) AS s, AVG(v) AS m, SUM(x) AS f, "
    "COUNT(*) FILTER (WHERE v > 50) AS big FROM a [RANGE 40 SECONDS SLIDE 20 SECONDS] GROUP BY k"
)
NAMES = ("n", "c", "s", "m", "f", "big")
LOOKED_UP = (
    "SELECT t.name AS k, COUNT(*) AS n, SUM(a.v + t.w) AS s, AVG(a.v * u.y) AS m FROM a [RANGE 40 SECONDS SLIDE 20 "
    "SECONDS], t, u WHERE a.k = t.k AND t.name = u.name AND a.v > 10 GROUP BY t.name"
)


def bound(text: str, shed: str = "drop", **options: Any) -> BoundQuery:
    return bind(text, STREAMS, query_options({"shed": shed, **options}))


def batch(rng: np.random.Generator, number: int, rows: int, groups: int) -> pa.Table:
    ts = np.sort(rng.integers(number * 10, (number + 1) * 10, rows))
    x = np.where(rng.random(rows) < 0.1, None, rng.exponential(5, rows))
    v = rng.integers(0, 100, rows)
    return pa.table({"ts": ts, "k": rng.integers(0, groups, rows), "v": v, "x": pa.array(x, pa.float64())})


def tables(number: int, groups: int) -> dict[str, pa.Table]:
    """Updates of the tables: each key of ``t`` has another row from the fourth batch on."""
    keys, at = list(range(groups)), [number * 10 * 1_000_000] * groups
    names = [(k // 2 + (number > 3)) % groups for k in keys]
    t = {"k": keys, "name": names, "w": keys, "__at": at, "__add": [True] * groups}
    u = {"name": keys, "y": [k % 7 for k in keys], "__at": at, "__add": [True] * groups}
    return {"t": pa.table(t)} | ({"u": pa.table(u)} if number == 0 else {})


def answer(
    query: BoundQuery, share: Callable[[int], float], seed: int = 1, rows: int = 3000, groups: int = 3, shards: int = 3
) -> list[dict[str, Any]]:
    pipeline, rng, found = LocalPipeline(plan_query(query), shards), np.random.default_rng(seed), []
    for number in range(9):
        pipeline.valve = Valve({}, [{"a": share(number)}])
        came = {"a": batch(rng, number, rows, groups), **tables(number, groups)}
        read = {s.name for s in pipeline.graph.streams}
        found += pipeline.push({n: t for n, t in came.items() if n in read}).to_pylist()
    return sorted(found, key=lambda r: [str(r.get(n)) for n in ("ts", "k")])


@pytest.mark.parametrize("text", [TEXT, TEXT.replace(" SLIDE 20 SECONDS", ""), TEXT.replace("FROM a", "FROM a z")])
def test_where_all_rows_are_admitted_the_answer_is_the_exact_one(text: str) -> None:
    exact = answer(bound(text, "never"), lambda _: 1.0, rows=60)
    scaled = answer(bound(text), lambda _: 1.0, rows=60)
    assert [{n: v for n, v in r.items() if not n.endswith("_error")} for r in scaled] == exact != []
    assert {r[f"{n}_error"] for r in scaled for n in NAMES} == {0.0}
    one, other = (plan_query(bound(text, shed)).result_schema for shed in ("drop", "never"))
    assert one.names[: len(NAMES) + 1] == other.names[: len(NAMES) + 1]


def test_errors_hold_as_often_as_they_say_whatever_shares_batches_had() -> None:
    held = dict.fromkeys(NAMES, 0)
    many = 0
    off: dict[str, list[float]] = {n: [] for n in NAMES}
    for seed in range(3):
        exact = answer(bound(TEXT, "never"), lambda _: 1.0, seed, 9000, 60)
        scaled = answer(bound(TEXT), lambda number: (0.9, 0.3, 0.6, 1.0)[number % 4], seed, 9000, 60)
        for e, s in zip(exact, scaled, strict=True):
            if any(s[f"{n}_error"] in (None, 0.0) for n in NAMES):
                continue  # the first instants
            many += 1
            for n in NAMES:
                held[n] += abs(e[n] - s[n]) <= s[f"{n}_error"] + (0.5 if isinstance(e[n], int) else 0)
                off[n].append((s[n] - e[n]) / s[f"{n}_error"] * TWO_SIDED)
    assert many > 400
    for n in NAMES:
        assert 0.92 < held[n] / many < 0.98, n
        assert abs(np.mean(off[n])) < 0.2 and np.std(off[n]) == pytest.approx(1, abs=0.12), n


def test_a_row_that_meets_one_row_of_each_table_is_as_good_as_one_that_meets_none() -> None:
    held, many = dict.fromkeys("nsm", 0), 0
    full = answer(bound(LOOKED_UP), lambda _: 1.0, rows=300)
    assert [{n: v for n, v in r.items() if not n.endswith("_error")} for r in full] == answer(
        bound(LOOKED_UP, "never"), lambda _: 1.0, rows=300
    )
    assert {r[f"{n}_error"] for r in full for n in "nsm"} == {0.0} and len(full) > 5
    for seed in range(2):
        exact = answer(bound(LOOKED_UP, "never"), lambda _: 1.0, seed, 6000, 60)
        scaled = answer(bound(LOOKED_UP), lambda number: (0.9, 0.3, 0.6, 1.0)[number % 4], seed, 6000, 60)
        for e, s in zip(exact, scaled, strict=True):
            if s["n_error"]:
                many += 1
                for n in "nsm":
                    held[n] += abs(e[n] - s[n]) <= s[f"{n}_error"] + 0.5
    assert many > 100
    for n in "nsm":
        assert 0.91 < held[n] / many < 0.99, n


def test_rows_that_are_equal_are_admitted_independently() -> None:
    text = "SELECT COUNT(*) AS n FROM a [RANGE 10 SECONDS SLIDE 10 SECONDS]"
    off = []
    for seed in range(60):
        pipeline = LocalPipeline(plan_query(bound(text)), 4)
        pipeline.valve = Valve({}, [{"a": 0.5}])
        ts = [10 * seed + 5] * 400  # one value, one time
        rows = {"ts": [*ts, 10 * seed + 11], "k": [0] * 401, "v": [0] * 401, "x": [0.0] * 401}
        table = pipeline.push({"a": pa.table(rows)})
        (found,) = [r for r in table.to_pylist() if r["n"] > 1]
        off.append((found["n"] - 400) / found["n_error"] * TWO_SIDED)
    assert np.std(off) == pytest.approx(1, abs=0.3) and abs(np.mean(off)) < 0.5


def test_a_batch_admits_the_same_rows_again() -> None:
    shares = lambda number: (0.9, 0.3, 0.6)[number % 3]  # noqa: E731
    assert answer(bound(TEXT), shares, rows=300) == answer(bound(TEXT), shares, rows=300)


def test_of_few_rows_the_error_is_not_known() -> None:
    rows = answer(bound(TEXT), lambda _: 0.3, rows=30, groups=6)
    assert any(r["n_error"] is None for r in rows) and all(r["n"] > 0 for r in rows)
    few = [r for r in rows if r["n_error"] is None]
    assert all(r["s_error"] is None and r["m_error"] is None for r in few)


def test_under_its_other_strategies_too() -> None:
    shares = lambda number: 0.5 if number % 2 else 1.0  # noqa: E731
    first = answer(bound(TEXT), shares, rows=100)
    assert answer(bound(TEXT, strategy="nt"), shares, rows=100) == first
    assert answer(bound(TEXT, strategy="direct"), shares, rows=100) == first


def test_names_and_places_of_errors() -> None:
    text = "SELECT SUM(v) AS s, k, COUNT(*) AS s_error FROM a [RANGE 5 SECONDS SLIDE 5 SECONDS] GROUP BY k"
    names = plan_query(bound(text)).result_schema.names
    assert names[:5] == ("s", "k", "s_error", "_s_error", "s_error_error")
    assert "values are scaled" in explain_as("text", bound(text), plan_query(bound(text)))


def test_it_is_another_question() -> None:
    assert question_of(bound(TEXT)) != question_of(bound(TEXT, "never"))
    join = "SELECT a.v FROM a [RANGE 5 SECONDS], b [RANGE 5 SECONDS] WHERE a.k = b.k"
    assert question_of(bound(join)) == question_of(bound(join, "never"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT MAX(v) FROM a [RANGE 5 SECONDS]", "MAX is no sum"),
        ("SELECT COUNT(DISTINCT v) FROM a [RANGE 5 SECONDS]", "of distinct values"),
        ("SELECT SUM(v) / COUNT(*) AS r FROM a [RANGE 5 SECONDS]", "column r computes with an aggregate"),
        ("SELECT k, COUNT(*) AS n FROM a [RANGE 5 SECONDS] GROUP BY k HAVING COUNT(*) > 3", "HAVING"),
        ("SELECT COUNT(*) FROM a [ROWS 5]", "window on a is none of time"),
        ("SELECT COUNT(*) FROM a [RANGE 5 SECONDS], b [RANGE 5 SECONDS] WHERE a.k = b.k", "Shed the join alone"),
        ("SELECT COUNT(*) FROM a [RANGE 5 SECONDS], loose WHERE a.k = loose.k", "several of table loose; register it"),
        ("SELECT COUNT(*) FROM a [RANGE 5 SECONDS], t WHERE a.k > t.k", "several of table t"),
        ("SELECT COUNT(*) FROM a [RANGE 5 SECONDS], t, u WHERE t.name = u.name AND t.k = u.y", "several of table"),
        ("SELECT COUNT(*) FROM a [RANGE 5 SECONDS], (SELECT DISTINCT k FROM t) d WHERE a.k = d.k", "query over tables"),
        ("SELECT v FROM a [RANGE 5 SECONDS] WHERE v > (SELECT AVG(v) FROM b [RANGE 5 SECONDS])", "of a sub-query"),
        ("SELECT DISTINCT n FROM (SELECT COUNT(*) AS n FROM a [RANGE 5 SECONDS] GROUP BY k)", "larger query"),
    ],
)
def test_what_cannot_be_scaled_is_refused(text: str, words: str) -> None:
    with pytest.raises(UnsupportedError, match=words):
        plan_query(bound(text))
