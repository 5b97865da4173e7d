"""FREQUENT and its two cheaper forms against brute force, however rows are cut and spread."""

from __future__ import annotations

import math
from collections import Counter
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from muntin.core.errors import QueryError, UnsupportedError
from muntin.core.schema import Schema
from muntin.cql import bind, to_cql
from muntin.dataflow.planner import plan_query
from muntin.local.runtime import LocalPipeline
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.windows import QueryOptions
from muntin.reference.aggregates import aggregate

SECOND = 1_000_000
WINDOW, SLIDE = 12, 3
TEXTS = ["a", "b", "", "\u00e9", "\U0001f40d", None, "c", "d", "e"]
FLOATS = [1.5, -0.0, 0.0, float("nan"), None, 7.0, -2.0, float("inf")]


def streams(item: pa.DataType) -> Catalog:
    schema = Schema.of(ts=pa.timestamp("us", "UTC"), g=pa.int64(), x=item)
    return Catalog((Stream("S", schema, "ts"), Stream("T", schema, "ts", order=1)))


def draw(rng: Random, items: list[Any], rows: int, item: pa.DataType) -> pa.Table:
    ts = sorted(rng.randrange(0, 40 * SECOND) for _ in range(rows))
    skewed = [items[min(int(rng.expovariate(0.5)), len(items) - 1)] for _ in ts]
    groups = [rng.randrange(2) for _ in ts]
    return pa.table([pa.array(ts, pa.timestamp("us", "UTC")), groups, pa.array(skewed, item)], names=["ts", "g", "x"])


def answers(text: str, rows: pa.Table, rng: Random) -> dict[tuple[int, Any], Any]:
    """By instant (seconds) and group, over random cuts and shards."""
    plan = plan_query(bind(text, streams(rows.schema.field("x").type), QueryOptions()))
    pipeline, found, at = LocalPipeline(plan, rng.choice([1, 3])), [], 0
    while at < len(rows):
        size = rng.choice([1, 5, 40])
        found.append(pipeline.push({"S": rows.slice(at, size)}))
        at += size
    found.append(pipeline.finish())
    return {
        (r["ts"].timestamp(), r.get("g")): r["f"] for table in found for r in table.to_pylist()
    }  # fmt: skip


def same(value: Any) -> Any:
    return (
        "NaN" if isinstance(value, float) and math.isnan(value) else value + 0.0 if isinstance(value, float) else value
    )


def order(value: Any) -> Any:
    return (1, 0) if value == "NaN" else (0, value)


def window(rows: pa.Table, now: int, group: Any) -> list[tuple[int, Any]]:
    """(number of the sub-window, item) of what is in the window."""
    found = []
    for r in rows.to_pylist():
        entered = -(-r["ts"].timestamp() // SLIDE) * SLIDE
        if entered <= now < entered + WINDOW and (group is None or r["g"] == group) and r["x"] is not None:
            found.append((int(entered), same(r["x"])))
    return found


def top(counts: Counter[Any], k: int) -> list[tuple[Any, int]]:
    return sorted(counts.items(), key=lambda c: (-c[1], order(c[0])))[:k]


def algorithm_6(rows: list[tuple[int, Any]], k: int) -> tuple[int, dict[Any, int]]:
    delta, totals = 0, Counter[Any]()
    for number in {n for n, _ in rows}:
        listed = top(Counter(x for n, x in rows if n == number), k)
        delta += listed[k - 1][1] if len(listed) == k else 0
        totals.update(dict(listed))
    return delta, {x: n for x, n in totals.items() if n > delta}


def shown(answer: Any) -> list[tuple[Any, int]]:
    return [(same(i["item"]), i["count"]) for i in answer["items"]]


@pytest.mark.parametrize("fn", ["FREQUENT", "FREQUENT_LISTS", "FREQUENT_SKETCH"])
@pytest.mark.parametrize("items", [TEXTS, FLOATS], ids=["texts", "doubles"])
@pytest.mark.parametrize("by", ["", "g"])
def test_random_streams(fn: str, items: list[Any], by: str) -> None:
    for seed in range(3):
        rng = Random(f"{fn} {by} {seed}")
        rows = draw(rng, items, rng.choice([10, 150]), pa.string() if items is TEXTS else pa.float64())
        k, share = rng.choice([1, 2, 3, 20]), rng.choice([None, 0.2])
        call = f"{fn}(x, {k})" if share is None else f"{fn}(x, {k}, {share})"
        select = f"SELECT {'g, ' if by else ''}{call} AS f FROM S [RANGE {WINDOW} SECONDS SLIDE {SLIDE} SECONDS]"
        found = answers(f"{select} GROUP BY g" if by else select, rows, rng)
        assert len(found) > 5
        for (now, group), answer in found.items():
            judge(fn, answer, window(rows, int(now), group), k, share)


def judge(fn: str, answer: Any, there: list[tuple[int, Any]], k: int, share: float | None) -> None:
    true = Counter(x for _, x in there)
    if not there:
        assert answer is None
        return
    least = 0 if share is None else math.floor(share * len(there))
    assert answer["rows"] == len(there)
    for item in answer["items"]:  # whatever the form: no false positive, and bounds that hold
        assert item["count"] <= true[same(item["item"])] <= item["at_most"]
        assert true[same(item["item"])] > answer["threshold"] >= least
    if fn == "FREQUENT_LISTS":
        delta, expected = algorithm_6(there, k)
        assert answer["threshold"] == max(delta, least)
        assert dict(shown(answer)) == {x: n for x, n in expected.items() if n > least}
    else:  # the sketch's map holds all these values, so it is exact too
        assert shown(answer) == [c for c in top(true, k) if c[1] > least]
        assert answer["threshold"] == least


def test_changes_without_slide_and_other_windows() -> None:
    for text in (
        "SELECT FREQUENT(x, 2) AS f FROM S [ROWS 5]",
        "SELECT g, FREQUENT(x, 2) AS f FROM S [RANGE 4 SECONDS] GROUP BY g",
        "SELECT FREQUENT(x, 3) FILTER (WHERE g = 1) AS f, COUNT(*) AS n FROM S [RANGE 9 SECONDS]",
    ):
        rng = Random(text)
        rows = draw(rng, TEXTS, 60, pa.string())
        bound = bind(text, streams(pa.string()), QueryOptions())
        plan = plan_query(bound)
        pipeline = LocalPipeline(plan, 2)
        parts = [pipeline.push({"S": rows.slice(at, 7)}) for at in range(0, 60, 7)]
        found = pa.concat_tables([*parts, pipeline.finish()]).to_pylist()
        live: Counter[str] = Counter()
        for r in found:
            live[repr((r.get("g"), r["f"]))] += 1 if r["op"] == "+" else -1
        assert min(live.values()) == 0 and len(found) > 20


def test_the_evaluator_counts_from_scratch() -> None:
    bound = bind("SELECT FREQUENT(x, 2, 0.2) AS f FROM S [NOW]", streams(pa.string()), QueryOptions())
    agg = next(a for node in [bound.root.input.input] for _, a in node.aggs)  # type: ignore[attr-defined]
    assert aggregate(agg, ["b", None, "a", "b", "c"], {}) == ((("b", 2, 2), ("a", 1, 1)), 0, 4, "exact")
    assert aggregate(agg, [None], {}) is None
    assert bind(to_cql(bound), streams(pa.string())).root == bound.root


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("FREQUENT(x)", "FREQUENT takes how many items as its second argument"),
        ("FREQUENT(x, 2.5)", "FREQUENT takes how many items as its second argument"),
        ("FREQUENT(x, 0)", "FREQUENT takes how many items as its second argument"),
        ("FREQUENT(x, 2, 3)", "a share of the rows from 0 to 1 as its third argument"),
        ("FREQUENT(x, 2, 0.1, 4)", "at most three arguments"),
        ("FREQUENT(DISTINCT x, 2)", "DISTINCT goes with one argument"),
    ],
)
def test_a_wrong_call_is_told(call: str, message: str) -> None:
    with pytest.raises((QueryError, UnsupportedError)) as raised:
        bind(f"SELECT {call} AS f FROM S [NOW]", streams(pa.string()))
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT FREQUENT_LISTS(x, 2) AS f, COUNT(*) AS n FROM S [RANGE 9 SECONDS]", "stands alone"),
        ("SELECT FREQUENT_LISTS(x, 2) AS f FROM S [ROWS 5]", "FREQUENT counts them exactly"),
        ("SELECT FREQUENT_SKETCH(x, 2) AS f FROM S [ROWS 5]", "FREQUENT counts them exactly"),
    ],
)
def test_what_summaries_cannot_do(text: str, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        plan_query(bind(text, streams(pa.string())))


def test_a_sketch_that_is_too_small_keeps_its_bounds() -> None:
    rng = Random(3)
    rows = draw(rng, list(range(100)), 3000, pa.int64())
    wide = rows.set_column(2, "x", pa.array([rng.randrange(3000) if rng.random() < 0.9 else 7 for _ in range(3000)]))
    found = answers("SELECT FREQUENT_SKETCH(x, 1) AS f FROM S [RANGE 12 SECONDS SLIDE 3 SECONDS]", wide, rng)
    for (now, _), answer in found.items():
        true = Counter(x for _, x in window(wide, int(now), None))
        for item in (answer or {"items": ()})["items"]:
            assert item["item"] == 7 and item["count"] <= true[7] <= item["at_most"]
            assert true[7] > answer["threshold"]
    assert any(a and a["items"] and a["threshold"] > 0 for a in found.values())
