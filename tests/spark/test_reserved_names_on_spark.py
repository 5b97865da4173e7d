"""Names that the engine uses inside, as columns on Spark: of streams, of tables, and of Muntin's own results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from conftest_spark import Feed, bag, events, until

from muntin.core.errors import ConfigError
from muntin.session import Session

pytestmark = pytest.mark.spark

NAMES = ["__ts", "__start", "__exp", "__sign", "__w", "__x0", "__at", "__add", "__now", "e0", "row", "slot", "_ts"]


def drain(session: Session, checkpoint: Path) -> Any:
    run = session.start(str(checkpoint), "available_now")
    run.await_termination()
    return run


def before(table: pa.Table, time: str, ts: int) -> pa.Table:
    return table.filter(pc.less(table[time].cast(pa.int64()), ts))


def wide() -> list[pa.Table]:
    """Rows whose event time is in ``ts``; each other column holds k or v."""
    found = []
    for i in range(3):
        rows = events(i, 20 * i, 20, 30)
        found.append(pa.table({"ts": rows["ts"]} | {n: rows["kv"[at % 2]] for at, n in enumerate(NAMES)}))
    return found


def test_a_stream_live_and_replayed(spark: Any, feed: Callable[[str], Feed], tmp_path: Path) -> None:
    source = feed("s").put(*wide())
    texts = [
        "SELECT * FROM s [RANGE 5 SECONDS]",
        "SELECT __ts, SUM(__start) AS __x0, MAX(__sign) AS __w FROM s [RANGE 5 SECONDS SLIDE 2 SECONDS] "
        "WHERE __start > 10 GROUP BY __ts",
        "SELECT x.__at, y.__add AS __exp FROM s x [RANGE 5 SECONDS], s y [RANGE 4 SECONDS] WHERE x.slot = y.__ts "
        "AND x.__start < y.e0",
    ]
    live, replay = Session(spark, shards=4), Session(spark, shards=4)
    live.stream("s", source.live())
    replay.stream("s", source.replay())
    queries = [live.sql(t).write() for t in texts]
    late = live.write_late()
    run = drain(live, tmp_path / "cp")
    for query, text in zip(queries, texts, strict=True):
        whole, time = replay.sql(text).to_df().toArrow(), query.physical.time_column
        assert bag(query.rows()) == bag(before(whole, time, run.metrics().watermark))
        assert len(query.rows()) > 10
    assert late.rows().num_rows == 0


def test_a_table(spark: Any, feed: Callable[[str], Feed], tmp_path: Path) -> None:
    names = ["__at", "__add", "__row", "__at_"]
    rows = events(1, 0, 20, 30)
    updates = {"ts": rows["ts"], "op": ["+"] * 30} | {n: rows["kv"[i % 2]] for i, n in enumerate(names)}
    source, table = feed("s").put(events(2, 0, 25, 40)), feed("t").put(pa.table(updates))
    text = "SELECT s.k, t.* FROM s [RANGE 5 SECONDS], t WHERE s.k = t.__at"
    found = []
    for way in (Feed.live, Feed.replay):
        session = Session(spark, shards=2)
        session.stream("s", way(source))
        session.table("t", way(table), kind="relation", ts="ts", op="op")
        query = session.sql(text)
        if way is Feed.replay:
            found.append(until(query.to_df().toArrow(), found[0]["ts"].cast(pa.int64()).to_pylist()[-1]))
        else:
            query.write()
            session.write_late()
            drain(session, tmp_path / "cp")
            found.append(query.rows())
    assert found[0].column_names == ["k", *names, "ts", "op"]
    end = max(found[0]["ts"].cast(pa.int64()).to_pylist())
    assert bag(until(found[0], end)) == bag(until(found[1], end)) and len(found[1]) > 20


@pytest.mark.slow
def test_results_of_results_of_results(spark: Any, feed: Callable[[str], Feed], tmp_path: Path) -> None:
    """What one pipeline writes is the stream of the next, live, all its columns shown again."""
    source = feed("s").put(*(events(i, 20 * i, 20, 40) for i in range(3)))
    text = "SELECT * FROM s [RANGE 5 SECONDS SLIDE 1 SECOND]"
    df, replayed, time, columns = source.live(), source.replay(), "ts", ["ts", "k", "j", "v", "name"]
    for round in range(3):
        out = tmp_path / f"out{round}"
        session, other = Session(spark, shards=2), Session(spark, shards=2)
        session.stream("s", df, ts=time)
        other.stream("s", replayed, ts=time)
        query = session.sql(text, name="q").write("parquet", str(out))
        run = drain(session, tmp_path / f"cp{round}")
        time, columns = query.physical.time_column, list(query.schema.names)
        assert time == "_" * (round + 1) + "ts"
        replayed = spark.read.parquet(str(out)).select(*columns)
        mark = run.metrics().watermark
        whole = other.sql(text).to_df().toArrow()
        assert bag(replayed.toArrow()) == bag(before(whole, time, mark))
        assert replayed.count() > 100
        df = spark.readStream.schema(spark.read.parquet(str(out)).schema).parquet(str(out)).select(*columns)


def test_names_that_differ_in_case_alone(spark: Any) -> None:
    session = Session(spark, shards=2)
    rows = spark.range(3).selectExpr("timestamp_micros(id) AS ts", "id AS v", "id * 2 AS V")
    with pytest.raises(ConfigError, match="stream 's': the names of columns 'v' and 'V' differ in letter case alone"):
        session.stream("s", rows)
    with pytest.raises(ConfigError, match="table 't': the names of columns 'v' and 'V'"):
        session.table("t", rows)
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        session.stream("s", rows)
        got = session.sql("SELECT V, v AS w FROM s [RANGE 1 SECOND]").to_df().toArrow()
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
    assert sorted(zip(got["V"].to_pylist(), got["w"].to_pylist(), strict=True)) == sorted([(0, 0), (2, 1), (4, 2)] * 2)
