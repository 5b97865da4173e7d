"""Windows as Flink and Spark write them: the answers are those that both define, row by row, as the native ones are."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import muntin
from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.codec import decode, encode
from muntin.dataflow.planner import plan_query
from muntin.plan.catalog import Catalog, Stream
from muntin.reference import run

SPELLINGS = {
    "flink": "SELECT window_start, window_end, k, COUNT(*) AS n FROM TABLE(HOP(TABLE s, DESCRIPTOR(ts), INTERVAL "
    "'2' MINUTES, INTERVAL '5' MINUTES)) GROUP BY window_start, window_end, k",
    "spark": "SELECT window.start AS window_start, window.end AS window_end, k, COUNT(*) AS n FROM s "
    "GROUP BY window(ts, '5 minutes', '2 minutes'), k",
    "positions": "SELECT window_start, window_end, k, COUNT(*) AS n FROM HOP(s, ts, INTERVAL '2' MINUTES, INTERVAL '5' "
    "MINUTES) GROUP BY 1, 2, 3",
    "calls": "SELECT HOP_START(ts, INTERVAL 2 MINUTES, INTERVAL 5 MINUTES) AS window_start, k, HOP_END(ts, INTERVAL 2 "
    "MINUTES, INTERVAL 5 MINUTES) AS window_end, COUNT(*) AS n FROM s GROUP BY HOP(ts, INTERVAL 2 MINUTES, INTERVAL 5 "
    "MINUTES), k",
    "native": "SELECT WINDOW_START() AS window_start, WINDOW_END() AS window_end, k, COUNT(*) AS n "
    "FROM s [RANGE 5 MINUTES SLIDE 2 MINUTES] GROUP BY k",
}


def drawn(seed: int) -> list[dict[str, Any]]:
    rng = Random(seed)
    base = datetime(2024, 1, 1, 12, tzinfo=UTC)
    return [{"ts": base + timedelta(seconds=rng.randrange(0, 1800, 30)), "k": rng.randrange(3)} for _ in range(40)]


def by_definition(rows: list[dict[str, Any]], size: timedelta, slide: timedelta) -> Counter[tuple[Any, ...]]:
    """Every row counts in every window [start, start + size) that holds it; starts are multiples of the slide."""
    zero, found = datetime(1970, 1, 1, tzinfo=UTC), Counter[tuple[Any, ...]]()
    for row in rows:
        start = row["ts"] - (row["ts"] - zero) % slide
        while start + size > row["ts"]:
            found[start, start + size, row["k"]] += 1
            start -= slide
    return found


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("seed", range(2))
def test_a_hopping_window(spelling: str, seed: int) -> None:
    rows = drawn(seed)
    more = {"bounds": "start"} if spelling == "native" else {}
    found = muntin.query(SPELLINGS[spelling], s=rows, **more).to_pylist()
    expected = by_definition(rows, timedelta(minutes=5), timedelta(minutes=2))
    assert Counter({(r["window_start"], r["window_end"], r["k"]): r["n"] for r in found}) == expected
    assert all(r["ts"] == r["window_end"] for r in found)


def test_a_tumbling_window_without_other_keys_has_no_empty_answers() -> None:
    rows = [{"ts": datetime(2024, 1, 1, 12, m, tzinfo=UTC), "k": m} for m in (0, 1, 31)]
    text = "SELECT window_start, COUNT(*) AS n FROM TUMBLE(s, ts, INTERVAL '10' MINUTES) GROUP BY window_start"
    found = muntin.query(text, s=rows).to_pylist()
    assert [(r["window_start"].minute, r["n"]) for r in found] == [(0, 2), (30, 1)]


def test_the_first_rows_of_each_window() -> None:
    rows = drawn(5)
    text = """SELECT window_end, k, n FROM (SELECT k, COUNT(*) AS n FROM TUMBLE(s, ts, INTERVAL 10 MINUTES)
              GROUP BY window_start, k)
              QUALIFY ROW_NUMBER() OVER (PARTITION BY window_start ORDER BY n DESC) = 1"""
    found = muntin.query(text, s=rows).to_pylist()
    counts = by_definition(rows, timedelta(minutes=10), timedelta(minutes=10))
    best = {end: max(n for (_, e, _), n in counts.items() if e == end) for _, end, _ in counts}
    assert {r["window_end"]: r["n"] for r in found} == best and len(found) == len(best)


def test_the_evaluator_and_the_stored_plan_have_the_columns_too() -> None:
    schema = Schema.of(ts=pa.int64(), k=pa.int64())
    bound = bind(SPELLINGS["native"], Catalog((Stream("s", schema, "ts", ts_unit=1_000_000),)))
    (first, *_) = run(bound, {"s": [{"ts": 60, "k": 1}]})
    assert first == (120_000_000, None, (-180_000_000, 120_000_000, 1, 1))
    plan = plan_query(bound)
    assert plan.result_schema.names == ("window_start", "window_end", "k", "n", "ts")
    assert decode(encode(plan)).edges == plan.edges
