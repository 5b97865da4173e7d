"""Sinks that the workers write: the same rows as Spark's writer, each once, whatever an earlier attempt left behind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from conftest_spark import SECOND, Feed, bag, events

from muntin.core.errors import ConfigError, StoreError
from muntin.session import Session
from muntin.spark.outlets import Outlet, Part, discard, publish, same_in_parquet
from muntin.spark.sinks import Sink

ROWS = pa.table({"ts": pa.array([1, 2, 3], pa.timestamp("us", "UTC")), "v": [1.5, None, 2.5]})
SUMS = "SELECT k, name, SUM(v) AS total FROM a [RANGE 20 SECONDS SLIDE 3 SECONDS] GROUP BY k, name"


def written(path: Path) -> pa.Table:
    """What a reader sees."""
    return ds.dataset(path, format="parquet", ignore_prefixes=["_", "."]).to_table()


def put(outlet: Outlet, batch: int, name: str, table: pa.Table, close: bool = True) -> None:
    part = Part(outlet, table.schema, batch, name)
    for rows in table.to_batches():
        part.write(rows)
    if close:
        part.close(even_if_empty=True)


def test_a_batch_is_seen_when_it_is_published(tmp_path: Path) -> None:
    outlet = Outlet("parquet", str(tmp_path))
    put(outlet, 7, "part-0", ROWS)
    put(outlet, 7, "part-1", ROWS.slice(0, 0))
    assert not (tmp_path / "batch=7").exists()
    publish(outlet, 7)
    assert sorted(p.name for p in (tmp_path / "batch=7").iterdir()) == [
        "_SUCCESS", "part-0.parquet", "part-1.parquet",
    ]  # fmt: skip
    assert written(tmp_path).equals(ROWS) and not (tmp_path / "_batch=7").exists()


def test_a_repeated_batch_takes_the_place_of_every_attempt(tmp_path: Path) -> None:
    outlet = Outlet("parquet", str(tmp_path))
    put(outlet, 0, "part-0", ROWS)
    put(outlet, 0, "part-5", ROWS)  # a slot that the repetition does not have
    publish(outlet, 0)
    put(outlet, 0, "part-5", ROWS)  # an attempt that got no further
    discard(outlet, 0)
    put(outlet, 0, "part-0", ROWS)
    put(outlet, 0, "part-0", ROWS)  # a task that ran twice
    publish(outlet, 0)
    assert written(tmp_path).equals(ROWS)


def test_a_part_that_is_cut_off_is_never_seen(tmp_path: Path) -> None:
    outlet = Outlet("parquet", str(tmp_path))
    part = Part(outlet, ROWS.schema, 0, "part-0")
    part.write(ROWS.to_batches()[0])
    part._flush()  # a task that dies with its file half written
    put(outlet, 0, "part-0", ROWS)
    publish(outlet, 0)
    assert written(tmp_path).equals(ROWS)
    assert [p.name for p in (tmp_path / "batch=0").iterdir() if p.name.startswith(".")] == []


def test_files_that_went_before_they_were_published_are_an_error(tmp_path: Path) -> None:
    outlet = Outlet("parquet", str(tmp_path))
    put(outlet, 3, "part-0", ROWS)
    publish(outlet, 3)
    with pytest.raises(StoreError, match="_batch=3, which the workers wrote a moment ago, is gone"):
        publish(outlet, 3)
    assert written(tmp_path).equals(ROWS)


def test_a_black_hole_counts(tmp_path: Path) -> None:
    part = Part(Outlet("blackhole"), ROWS.schema, 0, "part-0")
    part.write(ROWS.to_batches()[0])
    part.close(even_if_empty=True)
    assert part.rows == 3 and list(tmp_path.iterdir()) == []


@pytest.mark.spark
@pytest.mark.parametrize("form", ["json", "csv"])
def test_formats_of_text_keep_microseconds(spark: Any, tmp_path: Path, form: str) -> None:
    """Also where the zone of the session is at an odd offset; a format that the user gives is theirs."""
    rows = (
        "SELECT TIMESTAMP'2020-01-01 00:00:00.000001 UTC' AS ts, TIMESTAMP_NTZ'2020-01-01 00:00:00.999999' AS n, 1 v "
        "UNION ALL SELECT TIMESTAMP'1801-01-01 00:00:00.5 UTC', TIMESTAMP_NTZ'1801-01-01 00:00:00', 2"
    )
    schema = "ts TIMESTAMP, n TIMESTAMP_NTZ, v INT"
    zone = spark.conf.get("spark.sql.session.timeZone")
    try:
        for number, other in enumerate(("UTC", "Asia/Kathmandu", "America/New_York")):
            spark.conf.set("spark.sql.session.timeZone", other)
            df = spark.sql(rows)
            Sink(form, str(tmp_path / "out")).write(df, number)
            back = spark.read.format(form).schema(schema).load(str(tmp_path / "out" / f"batch={number}"))
            assert sorted(back.collect()) == sorted(df.collect())
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    Sink(form, str(tmp_path / "own"), options={"TimestampFormat": "yyyy"}).write(spark.sql("SELECT now() AS ts"), 0)
    (part,) = (tmp_path / "own" / "batch=0").glob("part-*")
    assert len(part.read_text().strip().strip('"{}')) < 12


@pytest.mark.parametrize(
    "type, same",
    [
        (pa.int8(), True),
        (pa.decimal128(20, 3), True),
        (pa.list_(pa.struct([("a", pa.string()), ("b", pa.timestamp("us"))])), True),
        (pa.duration("us"), False),
        (pa.month_day_nano_interval(), False),
        (pa.null(), False),
        (pa.list_(pa.duration("us")), False),
    ],
)
def test_types_that_arrow_writes_as_spark_does(type: pa.DataType, same: bool) -> None:
    assert same_in_parquet(pa.schema([("x", type)])) is same


@pytest.mark.parametrize(
    "path, default, checkpoint, local",
    [
        ("out", "file:///", "/cp", True),
        ("out", "hdfs://main:8020", "/cp", False),
        ("out", "hdfs://main:8020", "hdfs://main:8020/cp", False),  # the workers would take "out" for a local path
        ("file:///data/out", "hdfs://main:8020", "/cp", True),
        ("hdfs://main:8020/out", "file:///", "hdfs://main:8020/cp", True),
        ("hdfs://other:8020/out", "file:///", "hdfs://main:8020/cp", False),
        ("s3a://bucket/out", "file:///", "s3://bucket/cp", True),
        ("s3a://bucket/out", "file:///", "/cp", False),
    ],
)
def test_workers_write_where_the_checkpoint_is(path: str, default: str, checkpoint: str, local: bool) -> None:
    assert (Sink("parquet", path).outlet(ROWS.schema, checkpoint, default) is not None) is local


def test_spark_writes_what_has_options_of_its_own() -> None:
    where = (ROWS.schema, "/cp", "file:///")
    assert Sink("parquet", "out", options={"maxRecordsPerFile": 10}).outlet(*where) is None
    assert Sink("parquet", "out", options={"compression": "zstd"}).outlet(*where) is not None
    assert Sink("parquet", "out", options={"compression": "lz4_raw"}).outlet(*where) is None
    assert Sink("parquet", "out", options={"compression": "UNCOMPRESSED"}).outlet(*where) == Outlet(
        "parquet", str(Path("out").resolve()), "none"
    )
    assert Sink("blackhole", foreach_batch=lambda df, batch: None).outlet(*where) is None
    assert Sink("json", "out").outlet(*where) is None
    assert Sink("memory").outlet(*where) is None
    assert Sink(foreach_batch=lambda df, batch: None).outlet(*where) is None


@pytest.mark.spark
def test_workers_and_spark_write_the_same(spark: Any, feed: Callable[[str], Feed], tmp_path: Path) -> None:
    source = feed("a").put(*(events(i, 30 * i, 30, 150) for i in range(3)))
    session = Session(spark, shards=4)
    session.stream("a", source.live())
    ways: dict[str, dict[str, Any]] = {
        "workers": {"format": "parquet"},
        "spark": {"format": "parquet", "options": {"maxRecordsPerFile": 7}},
        "dropped": {"format": "blackhole"},
    }
    queries = {
        n: session.sql(SUMS, name=n).write(path=str(tmp_path / n) if n != "dropped" else None, **w)
        for n, w in ways.items()
    }
    session.write_late("blackhole")
    (tmp_path / "workers" / "_batch=1").mkdir(parents=True)
    pq.write_table(pa.table({"ts": [1]}), tmp_path / "workers" / "_batch=1" / "part-00009-0.parquet")
    run = session.start(str(tmp_path / "cp"), "available_now")
    run.await_termination()
    assert set(run.by_spark) == {"spark"}
    mine, theirs = (spark.read.parquet(str(tmp_path / n)) for n in ("workers", "spark"))
    assert mine.schema == theirs.schema
    assert bag(mine.toArrow()) == bag(theirs.toArrow()) and mine.count() > 100
    found = [q.metrics() for q in queries.values()]
    assert found[0] == found[1] == found[2] and found[2].results > 0
    assert not list(tmp_path.rglob("_batch=*"))


@pytest.mark.spark
def test_a_function_may_look_at_nothing(spark: Any, feed: Callable[[str], Feed], tmp_path: Path) -> None:
    session = Session(spark, shards=4)
    session.stream("a", feed("a").put(*(events(i, 30 * i, 30, 150) for i in range(3))).live())
    seen: list[int] = []
    session.sql(SUMS, name="looked").write(foreach_batch=lambda df, batch: seen.append(batch))
    kept = session.sql(SUMS, name="kept").write("parquet", str(tmp_path / "out"))
    session.start(str(tmp_path / "cp"), "available_now").await_termination()
    assert seen == [0, 1, 2]
    found = kept.metrics()
    assert found is not None and found.batch == 2 and len(written(tmp_path / "out")) > 100


@pytest.mark.spark
def test_two_queries_do_not_write_one_path(spark: Any, feed: Callable[[str], Feed], tmp_path: Path) -> None:
    session = Session(spark, shards=4)
    session.stream("a", feed("a").put(events(0, 0, 30, 10)).live())
    for name in ("one", "two"):
        session.sql(SUMS if name == "one" else "SELECT k FROM a [NOW]", name=name).write("parquet", str(tmp_path / "x"))
    with pytest.raises(ConfigError, match=r"queries one and two both write .*x; give each a path of its own"):
        session.start(str(tmp_path / "cp"))


@pytest.mark.spark
def test_a_silent_stream_stops_holding_time_back(spark: Any, feed: Callable[[str], Feed], tmp_path: Path) -> None:
    """Processing time reaches the clocks: the second stream, idle from the start, does not keep the join waiting."""
    session = Session(spark, shards=4)
    busy = feed("a").put(events(0, 0, 30, 50))
    session.stream("a", busy.live(), idle_after="1 microsecond")
    session.stream("b", feed("b").put(events(1, 0, 1, 1)).live(), idle_after="1 microsecond")
    query = session.sql("Istream(SELECT a.v FROM a [RANGE 5 SECONDS], b [RANGE 5 SECONDS] WHERE a.k = b.k)").write()
    for more in range(2):
        session.start(str(tmp_path / "cp"), "available_now").await_termination()
        busy.put(events(2 + more, 30 * (more + 1), 30, 50))
    found = query.metrics()
    assert found is not None and found.watermark is not None and found.watermark > 30 * SECOND
