"""Windows as Flink and Spark write them: the answers are those that both define, row by row, as the native ones are."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from test_local_matches import difference

import muntin
from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.codec import decode, encode
from muntin.dataflow.planner import plan_query
from muntin.local.runtime import LocalPipeline
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.windows import QueryOptions
from muntin.reference import run
from muntin.verify.arrow import from_table, to_table

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


TUMBLED = "FROM TABLE(TUMBLE(TABLE {}, DESCRIPTOR(ts), INTERVAL '10' MINUTES))"


def test_flink_s_first_rows_of_each_window() -> None:
    text = f"""SELECT * FROM (
        SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY n DESC, k) AS rownum FROM (
          SELECT window_start, window_end, k, COUNT(*) AS n {TUMBLED.format("s")} GROUP BY window_start, window_end, k)
        ) WHERE rownum <= 2"""
    rows = drawn(3)
    found = [(r["window_start"], r["window_end"], r["k"], r["n"]) for r in muntin.query(text, s=rows).to_pylist()]
    counts = by_definition(rows, timedelta(minutes=10), timedelta(minutes=10))
    wanted = []
    for window in sorted({key[:2] for key in counts}):
        inside = sorted((-n, key[2]) for key, n in counts.items() if key[:2] == window)
        wanted += [(*window, k, -n) for n, k in inside[:2]]
    assert found == wanted and len(found) > 4


def test_flink_s_window_joins() -> None:
    a, b = drawn(1), drawn(2)
    sides = f"(SELECT * {TUMBLED.format('a')}) l {{}} JOIN (SELECT * {TUMBLED.format('b')}) r"
    same = "l.k = r.k AND l.window_start = r.window_start AND l.window_end = r.window_end"
    text = f"SELECT l.k AS k, l.window_start, COALESCE(l.window_end, r.window_end) AS till FROM {sides} ON {same}"
    found = Counter(tuple(r.values())[:3] for r in muntin.query(text.format(""), a=a, b=b).to_pylist())
    ten = timedelta(minutes=10)
    left, right = (by_definition(rows, ten, ten) for rows in (a, b))
    assert found == Counter({(k, s, e): n * right[s, e, k] for (s, e, k), n in left.items() if right[s, e, k]})
    outer = muntin.query(text.format("FULL"), a=a, b=b).to_pylist()
    assert sum(r["k"] is None for r in outer) == sum(n for key, n in right.items() if key not in left)


def test_an_edge_that_a_stream_has_as_a_column_is_that_column() -> None:
    rows = [{"ts": datetime(2024, 1, 1, 12, m, tzinfo=UTC), "window_start": m} for m in (0, 1, 1)]
    sides = f"(SELECT * {TUMBLED.format('s')}) l JOIN (SELECT * {TUMBLED.format('s')}) r"
    found = muntin.query(f"SELECT l.ts AS t FROM {sides} ON l.window_start = r.window_start", s=rows)
    assert len(found) == 1 + 2 * 2


def test_the_evaluator_and_the_stored_plan_have_the_columns_too() -> None:
    schema = Schema.of(ts=pa.int64(), k=pa.int64())
    bound = bind(SPELLINGS["native"], Catalog((Stream("s", schema, "ts", ts_unit=1_000_000),)))
    (first, *_) = run(bound, {"s": [{"ts": 60, "k": 1}]})
    assert first == (120_000_000, None, (-180_000_000, 120_000_000, 1, 1))
    plan = plan_query(bound)
    assert plan.result_schema.names == ("window_start", "window_end", "k", "n", "ts")
    assert decode(encode(plan)).edges == plan.edges


def test_a_window_that_cumulates() -> None:
    """CUMULATE: each step of the hour with all that came since the hour began."""
    rows = drawn(7)
    source = "TABLE(CUMULATE(TABLE s, DESCRIPTOR(ts), INTERVAL '5' MINUTES, INTERVAL '15' MINUTES))"
    text = f"SELECT window_start, window_end, k, COUNT(*) AS n FROM {source} GROUP BY window_start, window_end, k"
    found = muntin.query(text, s=rows).to_pylist()
    expected = Counter[tuple[Any, ...]]()
    zero, size, step = datetime(1970, 1, 1, tzinfo=UTC), timedelta(minutes=15), timedelta(minutes=5)
    for row in rows:
        start = row["ts"] - (row["ts"] - zero) % size
        ends = (start + step * i for i in range(1, 4))
        expected.update((start, end, row["k"]) for end in ends if end > row["ts"])
    assert Counter({(r["window_start"], r["window_end"], r["k"]): r["n"] for r in found}) == expected


@pytest.mark.parametrize("bounds", ["half_open", "start"])
@pytest.mark.parametrize("window", [
    "[RANGE 6 SECONDS SLIDE 2 SECONDS CUMULATE]", "[RANGE 6 SECONDS SLIDE 3 SECONDS CUMULATE DELAY 5 SECONDS]",
    "[RANGE 1 MONTH SLIDE 1 DAY CUMULATE]",
])  # fmt: skip
def test_cumulating_windows_by_the_evaluator(window: str, bounds: Any) -> None:
    schema = Schema.of(ts=pa.int64(), k=pa.int64())
    catalog = Catalog((Stream("s", schema, "ts", ts_unit=1_000_000),))
    if "MONTH" in window and bounds == "start":
        pytest.skip("months slide by months there")
    for seed in range(4):
        rng = Random(seed)
        unit = 86_400 if "MONTH" in window else 1
        times = sorted(rng.randrange(40) * unit for _ in range(15))
        rows = [{"ts": t, "k": rng.randrange(3)} for t in times]
        text = f"Rstream(SELECT k, COUNT(*) AS n FROM s {window} GROUP BY k)"
        expected = run(bind(text, catalog, QueryOptions(bounds=bounds)), {"s": rows})
        found = muntin.query(text, s=rows, ts="ts", ts_unit="s", bounds=bounds)
        got = [(int(t), None, (k, n)) for t, k, n in zip(found["ts"].cast(pa.int64()).to_pylist(),
               found["k"].to_pylist(), found["n"].to_pylist(), strict=True)]  # fmt: skip
        assert Counter(got) == Counter(expected) and got


def test_windows_that_lag_or_cumulate_share_nothing_with_others() -> None:
    """Beside queries over plain windows of the same stream each answers as it does alone."""
    schema = Schema.of(ts=pa.int64(), k=pa.int64())
    catalog = Catalog(tuple(Stream(n, schema, "ts", ts_unit=1_000_000, order=i) for i, n in enumerate("st")))
    windows = ("RANGE 6 SECONDS SLIDE 2 SECONDS", "RANGE 6 SECONDS SLIDE 2 SECONDS CUMULATE",
               "RANGE 6 SECONDS SLIDE 2 SECONDS DELAY 3 SECONDS")  # fmt: skip
    texts = [f"Rstream(SELECT k, COUNT(*) AS n FROM s [{w}] GROUP BY k)" for w in windows]
    delays = ("", " DELAY 3 SECONDS")
    texts += [f"SELECT s.k FROM s [RANGE 4 SECONDS{d}], t [RANGE 5 SECONDS] WHERE s.k = t.k" for d in delays]
    bound = [bind(t, catalog) for t in texts]
    rng = Random(3)
    rows = {n: [{"ts": t, "k": rng.randrange(2)} for t in sorted(rng.randrange(30) for _ in range(12))] for n in "st"}
    pipeline = LocalPipeline([plan_query(b) for b in bound], shards=2)
    batch = {s.name: to_table(s, rows[s.name]) for s in pipeline.graph.streams}
    parts = [pipeline.push_all(batch), pipeline.finish_all()]
    for number, b in enumerate(bound):
        plan = pipeline.graph.plans[number]
        found = [r for part in parts for r in from_table(part[number], plan.schema, plan.shows_op)]
        assert not (problem := difference(run(b, rows), found)), f"{texts[number]}: {problem}"
