"""Live pipelines: micro-batches, restarts with other queries, failures of a sink, late rows and bad times."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest_spark import NAMED, SECOND, Feed, bag, events, until

from muntin.core.errors import ConfigError, DataError
from muntin.session import Session
from muntin.spark.durable_file import read_plans
from muntin.state.pane_store import PaneStore

pytestmark = pytest.mark.spark

SLIDE = "SELECT k, COUNT(*) AS n, SUM(v) AS total FROM a [RANGE 20 SECONDS SLIDE 3 SECONDS] WHERE v > 20 GROUP BY k"
JOIN = (
    "SELECT x.k, COUNT(*) AS n, AVG(y.v) AS mean FROM a x [RANGE 10 SECONDS SLIDE 1 SECOND], b y [RANGE 6 SECONDS] "
    "WHERE x.j = y.j GROUP BY x.k"
)
CHANGES = "SELECT name, MAX(v) AS top FROM b [RANGE 5 SECONDS] GROUP BY name"
END = 100 * SECOND


@pytest.fixture
def inputs(feed: Callable[[str], Feed]) -> dict[str, Feed]:
    return {
        "a": feed("a").put(*(events(i, 30 * i, 30, 150, disorder_s=2) for i in range(3))),
        "b": feed("b").put(*(events(10 + i, 30 * i, 30, 150, disorder_s=2) for i in range(3))),
    }


def session_over(spark: Any, inputs: dict[str, Feed], live: bool, slack: str = "2 seconds", **options: Any) -> Session:
    session = Session(spark, shards=4, **options)
    for name, source in inputs.items():
        session.stream(name, source.live() if live else source.replay(), slack=slack)
    return session


def replayed(spark: Any, inputs: dict[str, Feed], texts: Sequence[str]) -> list[pa.Table]:
    session = session_over(spark, inputs, live=False)
    return [until(session.sql(t).to_df().toArrow(), END) for t in texts]


def drain(session: Session, checkpoint: Path, beat: int | None = None) -> Any:
    """Run until everything there is processed; then a heartbeat, if given."""
    run = session.start(str(checkpoint), "available_now")
    run.await_termination()
    if beat is not None:
        run.heartbeat(beat)
        run = session.start(str(checkpoint), "available_now")
        run.await_termination()
    return run


@pytest.mark.any_spark
def test_two_live_queries_give_the_replayed_answers(spark: Any, inputs: dict[str, Feed], tmp_path: Path) -> None:
    session = session_over(spark, inputs, live=True)
    one = session.sql(SLIDE, name="one").write("parquet", str(tmp_path / "out"))
    two = session.sql(JOIN, name="two").write()
    run = drain(session, tmp_path / "cp", END)
    wanted = replayed(spark, inputs, [SLIDE, JOIN])
    assert bag(spark.read.parquet(str(tmp_path / "out")).toArrow()) == bag(wanted[0])
    assert bag(two.rows()) == bag(wanted[1])
    found = two.metrics()
    assert found is not None and found.batch == 3 and found.watermark == END and found.late == 0
    assert run.metrics().batches == 1 and run.metrics().results == found.results + run.metrics("one").results
    assert one.metrics() == run.metrics("one")


def test_a_standalone_frame_gives_the_replayed_answer(spark: Any, inputs: dict[str, Feed], tmp_path: Path) -> None:
    session = session_over(spark, inputs, live=True, store=str(tmp_path / "store"))
    query = session.sql(JOIN)
    writer = query.to_df().writeStream.format("parquet").option("path", str(tmp_path / "out"))
    running = writer.option("checkpointLocation", str(tmp_path / "cp")).trigger(availableNow=True).start()
    running.awaitTermination()
    metrics = query.metrics()
    assert metrics is not None and metrics.batch == 2 and metrics.rows == 300
    got = spark.read.parquet(str(tmp_path / "out")).toArrow()
    assert bag(got) == bag(until(replayed(spark, inputs, [JOIN])[0], metrics.watermark or 0))
    assert len(got) > 100


def test_queries_come_and_go_at_a_restart(spark: Any, inputs: dict[str, Feed], tmp_path: Path) -> None:
    first = session_over(spark, inputs, live=True)
    kept = first.sql(SLIDE, name="kept").write("parquet", str(tmp_path / "kept"))
    first.sql(CHANGES, name="gone").write()
    drain(first, tmp_path / "cp")
    kept.drop()
    more = {"a": events(3, 90, 30, 150), "b": events(13, 90, 30, 150)}
    for name, table in more.items():
        inputs[name].put(table)
    second = session_over(spark, inputs, live=True)
    second.sql(SLIDE, name="kept").write("parquet", str(tmp_path / "kept"))
    new = second.sql(JOIN, name="new").write()
    drain(second, tmp_path / "cp", 130 * SECOND)
    whole = session_over(spark, inputs, live=False).sql(SLIDE).to_df().toArrow()
    assert bag(spark.read.parquet(str(tmp_path / "kept")).toArrow()) == bag(until(whole, 130 * SECOND))
    last_only = Session(spark, shards=4)
    for name, table in more.items():
        last_only.stream(name, Feed(spark, tmp_path / "late" / name).put(table).replay())
    assert bag(new.rows()) == bag(until(last_only.sql(JOIN).to_df().toArrow(), 130 * SECOND))


def test_a_sink_that_fails_once_costs_no_row(spark: Any, inputs: dict[str, Feed], tmp_path: Path) -> None:
    written: dict[int, pa.Table] = {}
    broken = [True]

    def sink(df: Any, batch: int) -> None:
        written[batch] = df.toArrow()
        if batch == 1 and broken.pop():
            broken.append(False)
            raise RuntimeError("the sink is full")

    session = session_over(spark, inputs, live=True)
    session.sql(SLIDE).write(foreach_batch=sink)
    files = session.sql(JOIN).write("parquet", str(tmp_path / "out"))
    with pytest.raises(Exception, match="the sink is full"):
        drain(session, tmp_path / "cp")
    broken[:] = [False]
    drain(session, tmp_path / "cp", END)
    wanted = replayed(spark, inputs, [SLIDE, JOIN])
    assert bag(pa.concat_tables(written[b] for b in sorted(written))) == bag(wanted[0])
    assert bag(spark.read.parquet(str(tmp_path / "out")).toArrow()) == bag(wanted[1])
    assert files.run is not None and files.run.exception is None


def test_late_rows_are_counted_and_handed_out(spark: Any, feed: Callable[[str], Feed], tmp_path: Path) -> None:
    late = events(7, 0, 10, 20)
    source = {"a": feed("a").put(events(1, 0, 60, 100), late, events(2, 60, 10, 10))}
    session = session_over(spark, source, live=True, slack="0 seconds")
    query = session.sql("SELECT k, COUNT(*) AS n FROM a [RANGE 5 SECONDS SLIDE 1 SECOND] GROUP BY k").write()
    sink = session.write_late()
    run = drain(session, tmp_path / "cp")
    assert run.metrics().late == 20 and run.metrics().rows == 130 and query.metrics().late == 0
    rows = sink.rows()
    assert rows is not None and rows.column_names == ["stream", "ts", "late_us", "queries", "row"]
    assert sorted(rows["ts"].to_pylist()) == sorted(late["ts"].to_pylist())
    assert set(rows["stream"].to_pylist()) == {"a"} and set(rows["queries"].to_pylist()) == {'["query1"]'}


def test_bad_times_are_dropped_and_counted_or_fail(spark: Any, feed: Callable[[str], Feed], tmp_path: Path) -> None:
    good = events(1, 0, 60, 100)
    column = pa.array([None if i in (7, 9) else v for i, v in enumerate(good["ts"].to_pylist())], good["ts"].type)
    source = feed("a").put(good.set_column(0, "ts", column))
    session = session_over(spark, {"a": source}, live=True)
    session.sql(SLIDE).write()
    assert drain(session, tmp_path / "drop").metrics().bad == 2
    strict = Session(spark, shards=4)
    strict.stream("a", source.live(), on_bad_time="fail")
    strict.sql(SLIDE).write()
    with pytest.raises(DataError, match="'a': row 7 of partition 0 has no usable event time"):
        drain(strict, tmp_path / "fail")
    replay = Session(spark, shards=4)
    replay.stream("a", source.replay(), on_bad_time="fail")
    with pytest.raises(Exception, match=r"DataError.*no usable event time"):
        replay.sql(SLIDE).to_df().count()


def test_event_times_of_other_types(spark: Any, feed: Callable[[str], Feed]) -> None:
    rows = events(1, 0, 60, 100)
    wanted = bag(replayed(spark, {"a": feed("a").put(rows)}, [SLIDE])[0])
    df = feed("a").replay()
    forms = {
        "text that was read": ("to_timestamp(CAST(ts AS STRING))", {}),
        "ntz": ("CAST(ts AS TIMESTAMP_NTZ)", {}),
        "us": ("unix_micros(ts)", {"ts_unit": "us"}),
    }
    for name, (form, options) in forms.items():
        session = Session(spark, shards=4)
        session.stream("a", df.selectExpr(f"{form} AS ts", "k", "v"), **options)
        assert bag(until(session.sql(SLIDE).to_df().toArrow(), END)) == wanted, name


def test_stop_lets_the_batch_finish(spark: Any, inputs: dict[str, Feed], tmp_path: Path) -> None:
    import time

    seen: list[int] = []

    def slow(df: Any, batch: int) -> None:
        df.toArrow()
        time.sleep(0.5)
        seen.append(batch)

    session = session_over(spark, inputs, live=True)
    session.sql(SLIDE).write(foreach_batch=slow)
    run = session.start(str(tmp_path / "cp"))
    while not run.query.lastProgress and run.active:
        time.sleep(0.05)
    run.stop()
    assert not run.active and run.exception is None
    commits = [int(p.name) for p in (tmp_path / "cp" / "commits").iterdir() if p.name.isdigit()]
    assert sorted(seen) == sorted(commits)


def test_stop_is_quiet_where_the_source_has_more(spark: Any, tmp_path: Path) -> None:
    """What ends the batch under way must be short: Spark searches its text with a pattern that recurs."""
    jvm = spark._jvm
    said, err = jvm.java.io.ByteArrayOutputStream(), jvm.java.lang.System.err
    jvm.java.lang.System.setErr(jvm.java.io.PrintStream(said))
    try:
        session = Session(spark, shards=2)
        rate = spark.readStream.format("rate").option("rowsPerSecond", 50).load()
        session.stream("a", rate.selectExpr("timestamp AS ts", "value AS v"))
        session.sql("SELECT COUNT(*) AS n FROM a [RANGE 5 SECONDS SLIDE 1 SECOND]").write("blackhole")
        run = session.start(str(tmp_path / "cp"))
        while run.metrics() is None:
            run.await_termination(0.1)
        run.stop()
        run.await_termination()
    finally:
        jvm.java.lang.System.setErr(err)
    assert not run.active and run.exception is None
    assert "StackOverflowError" not in said.toString() and "Exception in thread" not in said.toString()


def test_a_sink_that_fails_in_the_last_batch_is_no_clean_stop(
    spark: Any, inputs: dict[str, Feed], tmp_path: Path
) -> None:
    started, go = threading.Event(), threading.Event()

    def sink(df: Any, batch: int) -> None:
        started.set()
        go.wait(60)
        raise LookupError("the shelf is gone")

    session = session_over(spark, inputs, live=True)
    session.sql(SLIDE).write(foreach_batch=sink)
    run = session.start(str(tmp_path / "cp"))
    assert started.wait(120)
    threading.Timer(0.5, go.set).start()
    run.stop()
    assert isinstance(run.exception, LookupError)


@NAMED
def test_a_named_source_joins_at_a_restart(spark: Any, inputs: dict[str, Feed], tmp_path: Path) -> None:
    evolution = "spark.sql.streaming.queryEvolution.enableSourceEvolution"
    spark.conf.set(evolution, "true")
    try:
        first = Session(spark, shards=4)
        first.stream("a", inputs["a"].live("a"), slack="2 seconds")
        first.sql(SLIDE, name="slide").write("parquet", str(tmp_path / "out"))
        drain(first, tmp_path / "cp")
        second = Session(spark, shards=4)
        for name, source in inputs.items():
            second.stream(name, source.live(name), slack="2 seconds")
        second.sql(SLIDE, name="slide").write("parquet", str(tmp_path / "out"))
        new = second.sql(CHANGES, name="new").write()
        drain(second, tmp_path / "cp", END)
    finally:
        spark.conf.set(evolution, "false")
    wanted = replayed(spark, inputs, [SLIDE, CHANGES])
    assert bag(spark.read.parquet(str(tmp_path / "out")).toArrow()) == bag(wanted[0])
    assert bag(new.rows()) == bag(wanted[1])


def test_hot_keys_may_be_split_and_small_sides_sent_everywhere(
    spark: Any, feed: Callable[[str], Feed], tmp_path: Path
) -> None:
    """Rows that go to every shard (hot keys, the other side of a join without an equality) give the replayed answer."""
    inputs = {
        "a": feed("a").put(*(events(i, 30 * i, 30, 400, disorder_s=2) for i in range(3))),
        "b": feed("b").put(*(events(10 + i, 30 * i, 30, 400, disorder_s=2) for i in range(3))),
    }
    hot = "SELECT x.k, x.v, y.v AS w FROM a [RANGE 3 SECONDS] x, b [RANGE 4 SECONDS] y WHERE x.k % 2 = y.k % 2"
    band = "SELECT x.v, y.v AS w FROM a [RANGE 2 SECONDS] x, b [RANGE 2 SECONDS] y WHERE x.v BETWEEN y.v - 3 AND y.v"
    session = session_over(spark, inputs, live=True)
    split = session.sql(hot, name="split", skew="split").write()
    near = session.sql(band, name="near").write()
    drain(session, tmp_path / "cp")
    assert spread_chunks(tmp_path / "cp" / "panes"), "no key was hot: this test would show nothing"
    drain(session, tmp_path / "cp", END)
    wanted = replayed(spark, inputs, [hot, band])
    assert bag(split.rows()) == bag(wanted[0]) and bag(near.rows()) == bag(wanted[1])
    assert len(wanted[0]) > 1000 < len(wanted[1])


def spread_chunks(root: Path) -> int:
    """Chunks of spread rows in the newest version of the pane store."""
    (query_id,) = (p.name for p in root.iterdir() if (p / "level-0").is_dir())
    store = PaneStore.open(str(root), query_id, 0)
    newest = store.manifest_names()[store.latest_version() or 0]
    cells = [c for name in newest for c in store.read_manifest(name).head.cells]
    states = store.load(store.latest_version(), cells)
    return sum(len(chunks) for s in states.values() for n, chunks in s.chunks.items() if n.endswith(".spread"))


def test_the_present_answer_is_told_from_all_changes_or_not_at_all(
    spark: Any, inputs: dict[str, Feed], tmp_path: Path
) -> None:
    """The materialised view of a change stream; and what a restart measured is what a new query is planned with."""
    session = session_over(spark, inputs, live=True)
    top = session.sql(CHANGES, name="top").write()
    session.sql(SLIDE, name="slide").write()
    drain(session, tmp_path / "cp")
    again = session_over(spark, inputs, live=True)  # another process: its sink has not what came before
    late = again.sql(CHANGES, name="top").write()
    again.sql("SELECT DISTINCT k FROM a [RANGE 5 SECONDS]", name="new", strategy="auto").write()
    more = {"a": events(3, 90, 30, 150), "b": events(13, 90, 30, 150)}
    for name, table in more.items():
        inputs[name].put(table)
    with pytest.raises(ConfigError, match="change"):
        session.queries["slide"].current()
    before = top.current()
    drain(again, tmp_path / "cp")
    with pytest.raises(ConfigError, match="since batch 0"):
        late.current()
    counted = Counter((r["name"], r["top"]) for r in top.rows().to_pylist() if r["op"] == "+")
    counted.subtract((r["name"], r["top"]) for r in top.rows().to_pylist() if r["op"] == "-")
    assert Counter((r["name"], r["top"]) for r in before.to_pylist()) == +counted and before.num_rows
    plan = read_plans(str(tmp_path / "cp"))[-1]
    assert plan.queries["top"].known == {} and plan.queries["top"].since == 0
    known = plan.queries["new"]
    assert known.since > 0 and 2 < known.known["rates"]["a"] < 10  # 150 rows in 30 seconds
    assert ["b", "name", pytest.approx(before.num_rows, abs=5)] in known.known["distinct"]
