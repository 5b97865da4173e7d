"""APPROX_*: the exact answer is within the bounds at every instant, however rows are cut into batches and spread over
shards, and answers depend on neither, nor on a restart."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from stored import Stored

from muntin.core.errors import QueryError
from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.explain import explain_graph
from muntin.dataflow.planner import plan_queries
from muntin.dataflow.sharing.rules import shared_graph
from muntin.local.runtime import LocalPipeline
from muntin.operators.synopsis import Synopsis
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.windows import QueryOptions
from muntin.state.pane_store import PaneStore

SCHEMA = Schema.of(ts=pa.int64(), k=pa.int64(), v=pa.int64(), name=pa.string(), x=pa.float64())
CATALOG = Catalog((Stream("s", SCHEMA, "ts", slack=3_000_000, ts_unit=1_000_000),))
NEAR = (
    ["APPROX_COUNT_DISTINCT_BOUNDS({c}, 0.09)", "APPROX_COUNT_DISTINCT_BOUNDS({c})"]
    + ["APPROX_QUANTILE_BOUNDS({c}, {q}, {a})", "APPROX_MEDIAN_BOUNDS({c}, {a})", "APPROX_TOP_K({c}, 3, {a})"]
)  # fmt: skip


def rows(rng: Random, count: int, seconds: int, kinds: int) -> pa.Table:
    """Rows in an order that is out of time by at most three seconds."""
    draw = np.random.default_rng(rng.randint(0, 1 << 30))
    ts = np.sort(draw.integers(0, seconds, count))
    ts = ts[np.argsort(ts + draw.uniform(0, 2.9, count), kind="stable")]
    v = np.minimum(draw.zipf(1.3, count), kinds) + draw.integers(0, kinds, count) * draw.integers(0, 2, count)
    null = draw.random(count) < 0.05
    columns = {
        "ts": pa.array(ts), "k": pa.array(draw.integers(0, 3, count)), "v": pa.array(v, mask=null),
        "name": pa.array([f"n{n}" for n in v.tolist()]), "x": pa.array(draw.normal(size=count).round(4)),
    }  # fmt: skip
    return pa.table(columns)


def cut(rng: Random, table: pa.Table, parts: int) -> list[dict[str, pa.Table]]:
    ends = sorted(rng.randint(0, len(table)) for _ in range(parts - 1))
    return [{"s": table.slice(a, b - a)} for a, b in zip([0, *ends], [*ends, len(table)], strict=True)]


def text(rng: Random) -> tuple[str, str, str]:
    """(text, the aggregated column, its condition)."""
    column = rng.choice(["v", "v", "name", "x"])
    near = rng.choice(NEAR).format(c=column, q=rng.choice([0, 0.1, 0.5, 0.95, 1]), a=rng.choice([5, 20, 50, 500]))
    where = rng.choice(["", "", " WHERE k < 2", " WHERE v > 3"])
    group = rng.choice(["k, ", ""])
    length, slide = rng.choice([2, 4, 10, 20]), rng.choice([1, 2, 5])
    return (
        f"SELECT {group}{near} AS a FROM s [RANGE {length} SECONDS SLIDE {slide} SECONDS]{where}"
        + (" GROUP BY k" if group else ""),
        column, where,
    )  # fmt: skip


def exact(
    table: pa.Table, column: str, where: str, row: dict[str, Any], length: int, closed: bool = False
) -> Counter[Any]:
    """How often each value is in the window of an answer."""
    end = int(pa.scalar(row["ts"]).cast(pa.timestamp("us", "UTC")).value) // 1_000_000
    k, v, ts = (table.column(c).to_numpy(zero_copy_only=False) for c in ("k", "v", "ts"))
    inside = (ts > end - length - closed) & (ts <= end)
    inside &= {"": True, " WHERE k < 2": k < 2, " WHERE v > 3": v > 3}[where]
    if "k" in row:
        inside &= k == row["k"]
    values = table.column(column).filter(pa.array(inside)).drop_null().to_pylist()
    return Counter(values)


def check(query: str, answer: Any, counts: Counter[Any]) -> bool:
    """Whether an answer holds; raises where it does not."""
    values, total = sorted(counts), sum(counts.values())
    if "COUNT" in query:
        assert answer["low"] <= len(counts) <= answer["high"] and answer["low"] <= answer["estimate"] <= answer["high"]
        return bool(answer["low"] < answer["high"])
    if answer is None:
        assert not counts
        return False
    if "TOP_K" in query:
        assert len(answer) == min(3, len(counts))
        assert all(e["count"] <= counts[e["item"]] <= e["at_most"] for e in answer)
        unseen = [n for v, n in counts.items() if v not in {e["item"] for e in answer}]
        assert max(unseen, default=0) <= max(e["at_most"] for e in answer)
        return any(e["count"] < e["at_most"] for e in answer)
    q, most = (0.5, query.split(", ")[-1]) if "MEDIAN" in query else query.split("BOUNDS(")[1].split(", ")[1:3]
    rank = max(-int(-float(q) * total // 1), 1)
    upto = np.cumsum([counts[v] for v in values])
    truth = values[int(np.searchsorted(upto, rank))]
    assert answer["low"] <= truth <= answer["high"] and answer["low"] <= answer["value"] <= answer["high"]
    place = values.index(answer["value"])
    wrong = total / int(str(most).split(")")[0])
    assert upto[place] - counts[answer["value"]] - wrong <= rank <= upto[place] + wrong + 1
    return bool(answer["low"] < answer["high"])


def run(
    texts: list[str],
    batches: list[dict[str, pa.Table]],
    shards: int,
    store: PaneStore | None = None,
    options: QueryOptions = QueryOptions(),
) -> list[Any]:
    pipe = Stored(plan_queries(bind(t, CATALOG, options) for t in texts), shards)
    assert any(isinstance(v.op, Synopsis) for v in pipe.graph.vertices)
    found = []
    for number, batch in enumerate(batches):
        found.append(pipe.push_all(batch))
        if store is not None:
            pipe.restart(store, number)
    found.append(pipe.finish_all())
    return [
        sorted(pa.concat_tables(parts).to_pylist(), key=lambda r: (r["ts"], r.get("k") or 0))
        for parts in zip(*found, strict=True)
    ]


@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(s, marks=pytest.mark.slow) for s in range(2, 40))])
def test_bounds_hold_and_answers_depend_on_rows_alone(seed: int, tmp_path: Path) -> None:
    rng = Random(seed)
    table = rows(rng, 12_000, 40, rng.choice([300, 100_000, 100_000]))
    asked = [text(rng) for _ in range(rng.choice([1, 5, 8]))]
    texts = [t for t, _, _ in asked]
    kind = rng.choice([{}, {"bounds": "closed"}, {"zone": "+05:30"}, {"bounds": "closed", "zone": "-02:00"}])
    options = QueryOptions(**kind)
    answers = run(texts, cut(rng, table, 7), 1, options=options)
    near = 0
    for (query, column, where), found in zip(asked, answers, strict=True):
        length, closed = int(query.split("RANGE ")[1].split(" ")[0]), "bounds" in kind
        assert found
        near += sum(check(query, r["a"], exact(table, column, where, r, length, closed)) for r in found)
    assert near or len(texts) < 5
    store = PaneStore.open(str(tmp_path / "store"), "query", 0)
    assert run(texts, cut(rng, table, rng.choice([1, 12])), rng.choice([1, 3]), store, options) == answers


@pytest.mark.parametrize("bounds", ["half_open", "closed"])
def test_days_in_a_zone_whose_clock_changes(bounds: Any, tmp_path: Path) -> None:
    """The night of a change between: as the exact aggregates of the same windows say."""
    rng, draw = Random(5), np.random.default_rng(5)
    ts = np.sort(draw.integers(1_774_396_800, 1_774_915_200, 3_000))  # 25 to 31 March 2026; changes on the 29th
    v = draw.integers(0, 900, len(ts))
    table = pa.table({"ts": ts, "k": v % 3, "v": v, "name": pa.nulls(len(ts), pa.string()), "x": v * 1.0})
    window = "FROM s [RANGE {n} DAYS SLIDE 1 DAY] GROUP BY k"
    near, count = "k, APPROX_COUNT_DISTINCT_BOUNDS(v, 0.09)", "k, COUNT(DISTINCT v)"
    texts = [f"SELECT {c} AS a {window.format(n=n)}" for n in (1, 3) for c in (near, count)]
    options = QueryOptions(bounds=bounds, zone="Europe/Berlin")
    answers = run(texts, cut(rng, table, 5), 1, options=options)
    for found, whole in (answers[:2], answers[2:]):
        assert len(found) == len(whole) > 9
        for a, b in zip(found, whole, strict=True):
            assert (a["ts"], a["k"]) == (b["ts"], b["k"]) and a["a"]["low"] <= b["a"] <= a["a"]["high"]
    store = PaneStore.open(str(tmp_path / "store"), "query", 0)
    assert run(texts, cut(rng, table, 9), 3, store, options) == answers


def explained(*texts: str) -> str:
    graph = shared_graph(plan_queries(bind(t, CATALOG) for t in texts))
    return explain_graph("text", graph, [f"q{i}" for i in range(len(texts))])


def test_explain_says_what_is_sketched_and_what_is_exact() -> None:
    window = "FROM s [RANGE 1 HOUR SLIDE {m} MINUTES] GROUP BY k"
    alone = explained(f"SELECT k, APPROX_COUNT_DISTINCT(v) AS a {window.format(m=1)}")
    assert "HyperLogLog sketches of v (4,096 registers)" in alone and "sketches of panes of 1 minute instead" in alone
    both = explained(
        f"SELECT k, APPROX_COUNT_DISTINCT(v) AS a {window.format(m=1)}",
        f"SELECT k, APPROX_MEDIAN(x, 100) AS a, APPROX_TOP_K(name, 5, 50) AS b {window.format(m=5)}",
    )
    assert "q0, q1" in both and "1 / 100 of the values" in both and "the 50 most frequent values of name" in both
    changes = explained("SELECT k, APPROX_COUNT_DISTINCT(v) AS a FROM s [RANGE 1 HOUR] GROUP BY k")
    assert "no sketches: exact" in changes and "HyperLogLog" not in changes


def test_accuracies_are_checked() -> None:
    for call, words in (
        ("APPROX_COUNT_DISTINCT(v, 2)", "relative standard error from 0.002 to 1"),
        ("APPROX_QUANTILE(v, 0.5, 0)", "1 / accuracy"),
        ("APPROX_MEDIAN(v, 1.5)", "as its second argument"),
        ("APPROX_TOP_K(v)", "how many items"),
        ("APPROX_TOP_K(v, 3, 0)", "are kept"),
        ("PERCENTILE_DISC(v, 2)", "a number from 0 to 1"),
    ):
        with pytest.raises(QueryError, match=words):
            bind(f"SELECT {call} AS a FROM s [RANGE 1 HOUR]", CATALOG)


def test_state_of_sketches_does_not_follow_the_values() -> None:
    """Ten times the rows, all of other values: the same state, within what a pane's open rows take."""
    window = "FROM s [RANGE 30 SECONDS SLIDE 5 SECONDS]"
    functions = ("APPROX_COUNT_DISTINCT(v, 0.09)", "APPROX_QUANTILE(v, 0.9, 50)", "APPROX_TOP_K(v, 3, 50)")
    sizes = []
    for rate in (500, 5_000):
        pipe = LocalPipeline(plan_queries(bind(f"SELECT {f} AS a {window}", CATALOG) for f in functions), 1)
        for second in range(0, 60, 5):
            n = rate * 5
            ts, v = second + np.arange(n) // rate, np.arange(n) + second * n
            pipe.push_all({"s": pa.table({"ts": ts, "k": v, "v": v, "name": pa.nulls(n, pa.string()), "x": v * 1.0})})
        chunks = [(name, c) for s in pipe.cells().values() for name, own in s.chunks.items() for c in own]
        assert any(name.startswith("tops") for name, _ in chunks)
        sizes.append(sum(c.meta["bytes"] for name, c in chunks if not name.startswith("waiting")))
    assert sizes[1] < 1.5 * sizes[0]


def test_counts_that_wait_for_their_pane_are_merged() -> None:
    """A pane that is long beside a batch: few chunks of it, and the answers of one batch."""
    text = "SELECT APPROX_MEDIAN(v, 5) AS a, APPROX_TOP_K(v, 2, 3) AS b FROM s [RANGE 1 HOUR SLIDE 30 MINUTES]"
    table = rows(Random(2), 4_000, 2_000, 300)
    pipe, waiting, found = LocalPipeline(plan_queries([bind(text, CATALOG)]), 1), 0, []
    for batch in (table.slice(at, 40) for at in range(0, len(table), 40)):
        found += pipe.push_all({"s": batch})
        names = (own for s in pipe.cells().values() for name, own in s.chunks.items() if name.startswith("waiting."))
        waiting = max(waiting, max(map(len, names), default=0))
    assert 8 <= waiting < 30
    assert pa.concat_tables([*found, *pipe.finish_all()]).to_pylist() == run([text], [{"s": table}], 1)[0]
