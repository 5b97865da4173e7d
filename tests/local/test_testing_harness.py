"""What users test their own queries with."""

from __future__ import annotations

import datetime as dt
import gc
from typing import Any

import pyarrow as pa
import pytest

from muntin.core.errors import ConfigError
from muntin.testing import Harness, LateRow, stream

CLICKS = stream({"ts": "timestamp", "user": "string", "n": "bigint"}, slack="10 seconds")
COUNT = "SELECT user, COUNT(*) AS n FROM clicks [RANGE 1 MINUTE SLIDE 1 MINUTE] GROUP BY user"


def click(second: int, user: str = "ann", **more: Any) -> dict[str, Any]:
    return {"ts": f"2024-01-01 00:{second // 60:02}:{second % 60:02}", "user": user, **more}


def shown(rows: list[dict[str, Any]]) -> list[tuple[str, int, int]]:
    return [(r["user"], r["n"], r["ts"].minute) for r in rows]


def test_answers_come_when_time_has_passed_and_survive_restarts() -> None:
    h = Harness(COUNT, clicks=CLICKS)
    assert h.feed("clicks", [click(5), click(50, "bob"), click(30)]) == []
    h.restart()
    assert h.feed("clicks", [click(65), click(59)]) == []  # the slack is not over
    h.restart()
    assert shown(h.feed("clicks", [click(75)])) == [("ann", 3, 1), ("bob", 1, 1)]
    h.restart()
    assert h.late == []
    assert h.feed("clicks", [click(55)]) == []
    at = dt.datetime(2024, 1, 1, 0, 0, 55, tzinfo=dt.UTC)
    assert h.late == [LateRow("clicks", {"ts": at, "user": "ann", "n": None}, dt.timedelta(seconds=10))]
    assert shown(h.advance("2024-01-01 00:02:00")) == []
    assert shown(h.advance(dt.datetime(2024, 1, 1, 0, 2, 1))) == [("ann", 2, 2)]
    assert h.finish() == []
    assert shown(h.answers()) == [("ann", 3, 1), ("bob", 1, 1), ("ann", 2, 2)]
    with pytest.raises(ConfigError, match="the input has ended"):
        h.feed("clicks", [])


def test_changes_add_up_and_tables_and_parameters_are_there() -> None:
    text = "SELECT c.user, t.team FROM clicks c [RANGE 1 MINUTE], teams t WHERE c.user = t.user AND c.n > :low"
    teams = [{"user": "ann", "team": "red"}, {"user": "bob", "team": "blue"}]
    h = Harness(text, tables={"teams": teams}, parameters={"low": 1}, clicks=CLICKS, shards=3)
    h.feed("clicks", [click(1, "ann", n=2), click(2, "bob", n=2), click(3, "ann", n=1)])
    h.restart()
    h.advance("2024-01-01 00:00:30")
    assert sorted(r["team"] for r in h.current()) == ["blue", "red"]
    h.advance("2024-01-01 00:01:02")
    assert h.current() == [{"user": "bob", "team": "blue"}]


def test_restarts_change_nothing() -> None:
    text = "SELECT a.k, MAX(b.v) AS top FROM a [RANGE 20 SECONDS], b [ROWS 7] WHERE a.k = b.k GROUP BY a.k"
    columns = {"ts": pa.int64(), "k": pa.int64(), "v": pa.int64()}
    answers = []
    for restarts in (False, True):
        declared = stream(columns, ts="ts", ts_unit="s")
        h = Harness(text, a=declared, b=declared, bounds="closed")
        for batch in range(6):
            for name in ("a", "b"):
                h.feed(name, [{"ts": batch * 5 + i, "k": i % 3, "v": (batch * 7 + i) % 11} for i in range(5)])
                if restarts:
                    h.restart()
        h.finish()
        answers.append(h.answers())
    assert answers[0] == answers[1] and len(answers[0]) > 20


def test_idle_streams_stop_holding_time_back() -> None:
    columns = {"ts": "timestamp", "k": "int"}
    text = "SELECT COUNT(*) AS n FROM a [RANGE 1 MINUTE SLIDE 1 MINUTE], b [RANGE 1 MINUTE] WHERE a.k = b.k"
    h = Harness(text, a=columns, b=stream(columns, idle_after="5 minutes"))
    h.feed("b", [{"ts": "2024-01-01 00:00:01", "k": 1}], now="2024-01-01 00:00:01")
    h.feed("a", [{"ts": "2024-01-01 00:00:02", "k": 1}], now="2024-01-01 00:00:02")
    assert h.feed("a", [{"ts": "2024-01-01 00:03:00", "k": 1}], now="2024-01-01 00:03:00") == []
    found = h.feed("a", [{"ts": "2024-01-01 00:09:00", "k": 1}], now="2024-01-01 00:09:00")
    assert found[0]["n"] == 1


def test_values_are_checked() -> None:
    h = Harness(COUNT, clicks=CLICKS)
    for rows, message in (
        ([{"usr": "x"}], "stream 'clicks' has no column 'usr'; it has ts, user, n"),
        ([{"n": "x"}], "column 'n' is int64"),
        ([{"ts": "noon"}], "'noon' is not a timestamp"),
        ([{"ts": 1.5}], "1.5 is no point in time"),
    ):
        with pytest.raises(ConfigError, match=message):
            h.feed("clicks", rows)
    with pytest.raises(ConfigError, match="there is no stream 'click'; there are clicks"):
        h.feed("click", [])
    h.feed("clicks", [{"user": "x"}, click(1)])
    h.restart()
    assert h.bad == 1
    for declared, message in (
        ({"ts": "instant"}, "unknown type instant"),
        ({"n": "int"}, "no column is a timestamp"),
        (3, "give its columns"),
    ):
        with pytest.raises(ConfigError, match=message):
            Harness(COUNT, clicks=declared)


def test_what_a_restart_wrote_goes_with_the_harness() -> None:
    h = Harness(COUNT, clicks=CLICKS)
    h.feed("clicks", [click(1)])
    h.restart()
    assert h._store is not None
    files = h._store.files
    assert files.read("query/level-0/manifests/0000000000.task.manifest")
    del h
    gc.collect()
    with pytest.raises(FileNotFoundError):
        files.read("query/level-0/manifests/0000000000.task.manifest")
