"""On Spark: feeds of tables that repeat themselves, event times that are none, idleness over a restart, rows()."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest_spark import SECOND, Feed, bag, events

from muntin.core.errors import ConfigError, DataError
from muntin.local.runtime import LocalPipeline
from muntin.session import Query, Session

pytestmark = pytest.mark.spark

SUM = "SELECT k, COUNT(*) AS n FROM a [RANGE 5 SECONDS SLIDE 1 SECOND] GROUP BY k"
QUERIES = {
    "relation": "SELECT a.v AS v, r.rate AS rate FROM a [RANGE 8 SECONDS], rates r WHERE a.k = r.k",
    "nrr": "SELECT p.name AS name, COUNT(*) AS n FROM a [RANGE 8 SECONDS], prices p WHERE a.k = p.k GROUP BY p.name",
    "count": "SELECT name, COUNT(*) AS n FROM rates GROUP BY name",
}
END = 100 * SECOND


def updates(*rows: tuple[int, str, int, str, int]) -> pa.Table:
    ts, op, k, name, rate = map(list, zip(*rows, strict=True))
    at = pa.array([t * SECOND for t in ts], pa.timestamp("us", "UTC"))
    return pa.table({"ts": at, "op": op, "k": k, "name": name, "rate": rate})


UNCLEAN = [
    updates((1, "+", 1, "x", 5), (1, "+", 2, "y", 6), (2, "-", 3, "z", 7), (5, "-", 1, "x", 5), (5, "-", 1, "x", 5)),
    updates((20, "-", 1, "x", 5), (21, "+", 1, "x", 5), (22, "+", 1, "x", 8), (22, "+", 2, "y", 6)),
    updates((30, "-", 2, "q", 0), (35, "+", 3, "z", 1), (38, "-", 3, "z", 1)),
    updates((40, "+", 2, "y", 9), (41, "-", 9, "w", 1), (60, "+", 4, "v", 2)),
]


@pytest.fixture
def feeds(feed: Callable[[str], Feed]) -> dict[str, Feed]:
    found = {"a": feed("a").put(*(events(s, 20 * s, 20, 60) for s in range(3)))}
    return found | {name: feed(name).put(*UNCLEAN) for name in ("rates", "prices")}


def session_over(spark: Any, feeds: dict[str, Feed], live: bool, key: str | tuple[str, ...], **more: Any) -> Session:
    session = Session(spark, shards=3)
    for name, source in feeds.items():
        df = source.live() if live else source.replay()
        if name == "a":
            session.stream(name, df)
        else:
            kind = "relation" if name == "rates" else "nrr"
            session.table(name, df, kind=kind, ts="ts", op="op", key=key, **more)  # type: ignore[arg-type]
    return session


def local_answer(query: Query, feeds: dict[str, Feed], end: int | None) -> tuple[pa.Table, dict[str, int]]:
    tables = {n: f.table() for n, f in feeds.items()}
    for name in ("rates", "prices"):
        added = [op == "+" for op in tables[name]["op"].to_pylist()]
        at = tables[name]["ts"].cast(pa.int64())
        rows = tables[name].select(["k", "name", "rate"])
        tables[name] = rows.append_column("__at", at).append_column("__add", pa.array(added))
    pipeline = LocalPipeline(query.physical, 2)
    rows = pipeline.push({s.name: tables[s.name] for s in query.physical.streams})
    rest = pipeline.finish() if end is None else pipeline.heartbeat(end)
    return pa.concat_tables([rows, rest]), pipeline.bad_updates


@pytest.mark.parametrize("key", [pytest.param((), marks=pytest.mark.slow), "k"])
def test_feeds_that_repeat_themselves_live_and_replayed(
    spark: Any, feeds: dict[str, Feed], tmp_path: Path, key: str | tuple[str, ...]
) -> None:
    session = session_over(spark, feeds, True, key)
    queries = {name: session.sql(text, name=name).write() for name, text in QUERIES.items()}
    run = session.start(str(tmp_path / "cp"))
    run.process_all_available()
    run.heartbeat(END)
    run.process_all_available()
    run.stop()
    bad = {"rates": 4 if key else 5, "prices": 4 if key else 5}
    for name, query in queries.items():
        wanted, counted = local_answer(query, feeds, END)
        assert bag(query.rows()) == bag(wanted) and len(wanted) > 3, name
        assert counted == {t: n for t, n in bad.items() if t in counted}, name
    assert run.metrics().bad_updates == bad
    replay = session_over(spark, feeds, False, key)
    for name in ("relation", "nrr"):
        query = replay.sql(QUERIES[name])
        wanted, counted = local_answer(query, feeds, None)
        assert bag(query.to_df().toArrow()) == bag(wanted), name
        found = query.metrics()
        assert found is not None and found.bad_updates == counted and found.results == len(wanted)


def test_a_bad_update_can_stop_the_run(spark: Any, feeds: dict[str, Feed], tmp_path: Path) -> None:
    session = session_over(spark, feeds, True, (), on_bad_update="fail")
    session.sql(QUERIES["count"]).write()
    with pytest.raises(DataError, match=r"'rates': an update at 1970-01-01T00:00:02\+00:00 .* \(k = 3, name = 'z'"):
        session.start(str(tmp_path / "cp"), "available_now").await_termination()
    for wrong, message in (({"key": "id"}, "no column 'id'"), ({"on_bad_update": "skip"}, "on_bad_update is")):
        with pytest.raises(ConfigError, match=message):
            session.table("t", feeds["rates"].live(), kind="nrr", ts="ts", op="op", **wrong)


def test_columns_that_cannot_be_event_time_are_refused_with_the_remedy(spark: Any) -> None:
    session = Session(spark, shards=2)
    df = spark.createDataFrame([("2020-01-01", True, 1.5, 7)], "text STRING, flag BOOLEAN, x DOUBLE, n BIGINT")
    for column, message in {
        "text": r"'text' is text, which is no time yet; read it as one: to_timestamp\(text, pattern\)",
        "flag": "has type boolean, which cannot be event time: that is a timestamp, a date, or an integer",
        "x": "has type double, which cannot be event time",
        "n": "is an integer; say its unit with ts_unit",
    }.items():
        with pytest.raises(ConfigError, match=f"stream 's': column .*{message}"):
            session.stream("s", df, ts=column)
        with pytest.raises(ConfigError, match=f"table 't': column .*{message}"):
            session.table("t", df, kind="nrr", ts=column, op="flag")


def test_a_batch_of_which_nothing_can_be_used_is_said_loudly(
    spark: Any, feed: Callable[[str], Feed], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    good, none = events(1, 0, 60, 100), events(2, 60, 10, 10)
    none = none.set_column(0, "ts", pa.nulls(10, none["ts"].type))
    source = feed("a").put(good, none, events(3, 0, 10, 20))
    session = Session(spark, shards=2)
    session.stream("a", source.live())
    query = session.sql(SUM + " HAVING COUNT(*) > 1000").write()
    with caplog.at_level(logging.WARNING, "muntin"):
        run = session.start(str(tmp_path / "cp"), "available_now")
        run.await_termination()
    warned = [r.getMessage() for r in caplog.records if "every row of a was dropped" in r.getMessage()]
    assert len(warned) == 2 and "10 without a usable event time" in warned[0] and "20 too late" in warned[1]
    assert run.metrics().lost == {"a": (10, 20)} and query.metrics().lost == {"a": (0, 20)}
    replay = Session(spark, shards=2)
    replay.stream("a", source.replay())
    replayed = replay.sql(SUM)
    assert replayed.metrics() is None
    for _ in range(2):  # a DataFrame that is read again counts once
        replayed.to_df().count()
        found = replayed.metrics()
        assert found is not None and (found.rows, found.bad, found.late, found.lost) == (120, 10, 0, {})
    replay.stream("b", source.replay().where("ts IS NULL"))
    empty = replay.sql(SUM.replace("FROM a", "FROM b"))
    assert empty.to_df().count() == 0 and empty.metrics().lost == {"b": (10, 0)}


def test_rows_without_a_memory_sink_say_what_to_do(spark: Any, feeds: dict[str, Feed], tmp_path: Path) -> None:
    session = session_over(spark, feeds, True, ())
    query = session.sql(SUM, name="q")
    with pytest.raises(ConfigError, match=r"'q' has no sink that keeps rows: call write\(\).*to_df\(\)"):
        query.rows()
    query.write("parquet", str(tmp_path / "out"))
    with pytest.raises(ConfigError, match=r"'q' writes to parquet .*out, rows\(\) reads the memory sink alone"):
        query.rows()
    query.write(foreach_batch=lambda df, batch: None)
    with pytest.raises(ConfigError, match="'q' writes to a function"):
        query.rows()
    query.write()
    with pytest.raises(ConfigError, match="'q' has not run: call session"):
        query.rows()


@pytest.mark.slow
def test_a_stream_is_not_idle_for_the_time_that_the_pipeline_was_down(
    spark: Any, feed: Callable[[str], Feed], tmp_path: Path
) -> None:
    a, b = feed("a").put(events(1, 0, 10, 20)), feed("b").put(events(2, 0, 10, 20))
    text = "SELECT a.v AS v, b.v AS w FROM a [RANGE 9 SECONDS], b [RANGE 9 SECONDS] WHERE a.k = b.k"

    def started() -> Any:
        session = Session(spark, shards=2)
        session.stream("a", a.live())
        session.stream("b", b.live(), idle_after="12 seconds")
        session.sql(text, name="q").write()
        run = session.start(str(tmp_path / "cp"))
        run.process_all_available()
        return run

    started().stop()
    time.sleep(13)
    a.put(events(3, 200, 10, 20))
    run = started()
    b.put(events(4, 10, 10, 20))
    run.process_all_available()
    run.stop()
    assert run.metrics().late == 0 and run.metrics().rows == 40
