"""Windows of sessions against DuckDB's window functions and the reference, over cuts, disorder, restarts and shards."""

from __future__ import annotations

import random
from typing import Any

import duckdb
import pytest

from muntin.core.errors import MuntinError
from muntin.core.schema import Field, Schema
from muntin.cql.binder import bind
from muntin.cql.types import from_spark
from muntin.engine import substeps
from muntin.plan.catalog import Catalog, Stream
from muntin.reference.answers import run
from muntin.testing import Harness, stream

COLUMNS = {"ts": "timestamp", "k": "string", "j": "bigint", "v": "bigint"}
GAP = 7
SESSIONS = """
WITH fresh AS (SELECT *, CASE WHEN ts - LAG(ts) OVER (PARTITION BY {keys} ORDER BY ts) <= {gap} THEN 0 ELSE 1 END AS f FROM r),
told AS (SELECT *, SUM(f) OVER (PARTITION BY {keys} ORDER BY ts) AS s FROM fresh)
SELECT {shown} FROM told GROUP BY {keys}, s"""  # noqa: E501
TEXTS = [
    (
        "SELECT k, window_start, window_end, COUNT(*) AS n, SUM(v) AS t FROM r [PARTITION BY k SESSION 7 MICROSECONDS] "
        "GROUP BY k, window_start, window_end",
        "k", "MAX(ts) + 7, k, MIN(ts), MAX(ts) + 7, COUNT(*), SUM(v)",
    ),
    (
        "SELECT COUNT(*) AS n, MEDIAN(v) AS m, session_window.start FROM r "
        "GROUP BY session_window(ts, '7 microseconds')",
        "TRUE", "MAX(ts) + 7, COUNT(*), MEDIAN(v), MIN(ts)",
    ),
    (
        "SELECT j, k, MAX(v) AS m, COUNT(DISTINCT v) AS d FROM TABLE(SESSION(TABLE r PARTITION BY (k, j), "
        "DESCRIPTOR(ts), INTERVAL '7' MICROSECONDS)) GROUP BY k, j HAVING COUNT(*) > 0",
        "k, j", "MAX(ts) + 7, j, k, MAX(v), COUNT(DISTINCT v)",
    ),
]  # fmt: skip


def drawn(draw: random.Random, rows: int) -> list[dict[str, Any]]:
    at, found = 0, []
    for _ in range(rows):
        at += draw.choice([0, 0, 1, 1, 2, 3, 6, 7, 8, 20])
        found.append({"ts": at, "k": draw.choice(["a", "b", "c", None]), "j": draw.randrange(3),
                      "v": draw.choice([None, *range(9)])})  # fmt: skip
    return found


def fed(text: str, rows: list[dict[str, Any]], draw: random.Random, slack: int, shards: int) -> Harness:
    """The rows out of order by up to the slack, in batches of any length, with restarts."""
    mixed = sorted(rows, key=lambda r: r["ts"] + draw.randrange(slack + 1))
    harness = Harness(text, shards=shards, r=stream(COLUMNS, slack=slack))
    at = 0
    while at < len(mixed):
        size = draw.choice([1, 1, 2, 5, 20])
        harness.feed("r", mixed[at : at + size])
        at += size
        if draw.random() < 0.25:
            harness.restart()
    return harness


def shown(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return sorted((tuple(map(_plain, (r["ts"], *(v for n, v in r.items() if n != "ts")))) for r in rows), key=repr)


def _plain(value: Any) -> Any:
    return round(value.timestamp() * 1e6) if hasattr(value, "timestamp") else value


def expected(rows: list[dict[str, Any]], keys: str, columns: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as db:
        db.execute("CREATE TABLE r (ts BIGINT, k VARCHAR, j BIGINT, v BIGINT)")
        db.executemany("INSERT INTO r VALUES (?, ?, ?, ?)", [[r["ts"], r["k"], r["j"], r["v"]] for r in rows])
        found = db.execute(SESSIONS.format(keys=keys, gap=GAP, shown=columns)).fetchall()
    return sorted(map(tuple, found), key=repr)


def bound(text: str) -> Any:
    fields = tuple(Field(n, from_spark(t)) for n, t in COLUMNS.items())
    return bind(text, Catalog((Stream("r", Schema(fields), "ts"),)))


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("seed", range(2))
def test_sessions_are_duckdbs(number: int, seed: int) -> None:
    text, keys, columns = TEXTS[number]
    draw = random.Random(f"{number} {seed}")
    rows = drawn(draw, 60)
    wanted = expected(rows, keys, columns)
    harness = fed(text, rows, draw, draw.choice([0, 3, 15]), draw.choice([1, 3]))
    early = shown(harness.answers())
    harness.finish()
    assert shown(harness.answers()) == wanted and len(early) > len(wanted) / 2 and not harness.late
    naive = [(t, *values) for t, _, values in run(bound(text), {"r": rows})]
    assert sorted(naive, key=repr) == wanted


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_sessions_are_duckdbs_at_length(seed: int) -> None:
    text, keys, columns = TEXTS[seed % 3]
    draw = random.Random(seed)
    rows = drawn(draw, 900)
    harness = fed(text, rows, draw, draw.choice([0, 3, 40]), draw.choice([1, 2, 5]))
    harness.finish()
    assert shown(harness.answers()) == expected(rows, keys, columns)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT k, v FROM r [PARTITION BY k SESSION 7 MICROSECONDS] WHERE v > 3",
        "SELECT DISTINCT j FROM r [SESSION 5 MICROSECONDS]",
        "SELECT k, FIRST(j) AS f, LAST(v) AS l, ARG_MAX(v, j) AS a FROM r [PARTITION BY k SESSION 7 MICROSECONDS] "
        "GROUP BY k",
        "SELECT k, COUNT(*) AS n FROM r [PARTITION BY k SESSION 9 MICROSECONDS] GROUP BY k ORDER BY n DESC, k LIMIT 1",
        "SELECT x.k, SUM(n) AS t FROM (SELECT k, COUNT(*) AS n FROM r [PARTITION BY k SESSION 7 MICROSECONDS] "
        "GROUP BY k) x [RANGE 30 MICROSECONDS SLIDE 10 MICROSECONDS] GROUP BY x.k",
        "SELECT COUNT(*) AS n FROM (SELECT v FROM r [SESSION 7 MICROSECONDS]) x [SESSION 20 MICROSECONDS] GROUP BY v",
        "SELECT j, COUNT(*) AS n FROM ISTREAM(SELECT j, COUNT(*) AS c FROM r [RANGE 9 MICROSECONDS] GROUP BY j) x "
        "[PARTITION BY j SESSION 4 MICROSECONDS] GROUP BY j",
    ],
)
def test_other_queries_over_sessions_are_the_references(text: str) -> None:
    draw = random.Random(text)
    rows = drawn(draw, 50)
    harness = fed(text, rows, draw, 4, 3)
    harness.finish()
    naive = [(t, *values) for t, _, values in run(bound(text), {"r": rows})]
    assert shown(harness.answers()) == sorted(naive, key=repr) and naive


def test_late_rows_are_counted_and_leave_sessions_as_they_are() -> None:
    text, keys, columns = TEXTS[0]
    rows = [{"ts": t, "k": "a", "j": 0, "v": 1} for t in (0, 5, 20)]
    harness = Harness(text, r=stream(COLUMNS))
    for row in rows:
        harness.feed("r", [row])
    assert shown(harness.answers()) == [(12, "a", 0, 12, 2, 2)]
    harness.feed("r", [{"ts": 11, "k": "a", "j": 0, "v": 1}])
    harness.finish()
    assert [late.row["ts"].microsecond for late in harness.late] == [11]
    assert shown(harness.answers()) == expected(rows, keys, columns)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT COUNT(*) AS n FROM r [SESSION 5 MINUTES]", "an aggregate over SESSION needs GROUP BY"),
        ("SELECT a.k FROM r a [SESSION 5 MINUTES], r b [RANGE 5 MINUTES]", "a SESSION window stands alone in FROM"),
        ("SELECT k FROM r [SESSION 5 MINUTES] WHERE EXISTS (SELECT 1 FROM r x [NOW])", "stands alone in FROM"),
        ("ISTREAM(SELECT k FROM r [SESSION 5 MINUTES])", "leave out the stream operator"),
        ("SELECT k FROM r [SESSION 5 MINUTES INTERNAL]", "INTERNAL does not go with SESSION"),
        ("SELECT k FROM r [SESSION 1 MONTH]", "write days, as in 30 DAYS"),
        ("SELECT k FROM r [SESSION 0 MINUTES]", "SESSION must be positive"),
        ("SELECT k FROM r [PARTITION BY x SESSION 5 MINUTES]", "there is no column 'x' in r"),
        ("SELECT window_start FROM r [PARTITION BY k SESSION 5 MINUTES]", "GROUP BY window_start, k as well"),
        ("SELECT j, window_end, SUM(v) AS n FROM r [PARTITION BY k SESSION 5 DAYS] GROUP BY j", "GROUP BY k as well"),
        ("SELECT SUM(v) AS n FROM r [NOW] GROUP BY session_window(ts, '5 minutes')", "one stream in FROM that has no"),
        ("SELECT COUNT(*) AS n FROM r GROUP BY session_window(ts)", "a gap: session_window"),
        ("SELECT SUM(v) AS n FROM r GROUP BY v + 1, session_window(ts, '5 minutes')", "sessions are of plain columns"),
        ("SELECT session_window(ts, '5 minutes') AS s FROM r [NOW]", "sessions are a window of their stream"),
    ],
)
def test_what_is_refused_says_what_to_write(text: str, words: str) -> None:
    with pytest.raises(MuntinError, match=words.replace("[", r"\[").replace("(", r"\(").replace("*", r"\*")):
        bound(text)


@pytest.mark.parametrize("number", range(3))
def test_steps_may_be_cut(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(substeps, "MOST", 2)
    text, keys, columns = TEXTS[number]
    draw = random.Random(number)
    rows = drawn(draw, 80)
    harness = fed(text, rows, draw, 5, 2)
    harness.finish()
    assert shown(harness.answers()) == expected(rows, keys, columns)


def test_state_is_that_of_open_sessions() -> None:
    """What has ended is forgotten, in time and not at once; a query's other columns are not kept."""
    text = "SELECT k, COUNT(*) AS n FROM r [PARTITION BY k SESSION 5 MICROSECONDS] GROUP BY k"
    harness = Harness(text, shards=1, r=stream(COLUMNS))
    held = []
    for step in range(150):
        rows = [{"ts": 100 * step + i // 8, "k": f"k{i % 8}", "j": 0, "v": 0} for i in range(24)]
        harness.feed("r", rows)
        cells = harness._pipeline.cells()
        held.append(sum(c.meta["n"] for state in cells.values() for chunks in state.chunks.values() for c in chunks))
    assert max(held[75:]) < 2 * max(held[20:75]) and max(held) < 24 * 60
