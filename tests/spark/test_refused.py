"""What a session refuses at the call that says it, before anything runs; comparisons that Spark alone gets wrong."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest_spark import Feed, events

from muntin.core.errors import ConfigError
from muntin.session import Session
from muntin.spark import formats
from muntin.spark.sources import read_batch, read_stream

pytestmark = pytest.mark.spark
TEXT = "SELECT k, COUNT(*) AS n FROM a [RANGE 20 SECONDS SLIDE 3 SECONDS] GROUP BY k"


@pytest.fixture
def session(spark: Any, feed: Callable[[str], Feed]) -> Session:
    session = Session(spark, shards=2)
    session.stream("a", feed("a").put(events(1, 0, 30, 50)).replay())
    return session


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "x"}, "option strategy: 'x' is none of upa, nt, direct, auto"),
        ({"bounds": "open"}, "option bounds: 'open' is none of half_open, closed, start"),
        ({"skew": "both"}, "option skew: 'both' is none of keep, split"),
        ({"exp": "yes"}, "option exp: 'yes' is neither True nor False"),
        ({"zone": "Mars/Olympus"}, "option zone: there is no time zone 'Mars/Olympus'"),
        ({"granule": "0 seconds"}, "option granule: it is longer than nothing"),
        ({"memory": "much"}, "option memory: 'much' is not a size"),
        ({"origin": "noon"}, "option origin: 'noon' is not a length of time"),
        ({"stratgy": "nt"}, "unknown option 'stratgy'; a query takes"),
    ],
)
def test_options(session: Session, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        session.sql(TEXT, **options)
    assert not session.queries


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"format": "parqet", "path": "x"}, r"Spark knows no format 'parqet'. Did you mean parquet\?"),
        ({"format": "com.example.Sink"}, "Spark knows no format 'com.example.Sink'.*spark.jars.packages"),
        ({"format": "kafka"}, r"Spark knows no format 'kafka'.*"),
        ({"format": "parquet"}, "sink 'parquet' needs a path"),
        ({"format": "table"}, "sink 'table' needs a name, as path"),
        ({"format": "json", "path": "x", "options": {"compresion": "gzip"}}, "json has no option 'compresion'"),
        ({"format": "blackhole", "options": {"rows": 3}}, "blackhole has no option 'rows'. It has none"),
        ({"format": "csv", "path": "x", "mode": "overwrit"}, "mode is one of append, overwrite, .*, not 'overwrit'"),
        ({"format": "csv", "path": "x", "mode": "overwrite"}, "csv is written batch by batch, so its mode is append"),
    ],
)  # fmt: skip
def test_sinks(session: Session, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        session.sql(TEXT, name="q").write(**arguments)
    with pytest.raises(ConfigError, match=message):
        session.write_late(**arguments)


def test_late_rows_go_to_no_archive(session: Session) -> None:
    with pytest.raises(ConfigError, match="late rows: archive takes results of queries alone"):
        session.write_late("archive", "x")


def test_sinks_that_are_there(session: Session, spark: Any) -> None:
    from pyspark.sql.datasource import DataSource

    class Own(DataSource):
        @classmethod
        def name(cls) -> str:
            return "own_sink"

    spark.dataSource.register(Own)
    query = session.sql(TEXT, name="q")
    for form in ("own_sink", "noop", "console", "org.apache.spark.sql.execution.datasources.noop.NoopDataSource"):
        query.write(form, options={"anything": 1} if form == "own_sink" else None)
    query.write("parquet", "x", options={"compression": "zstd", "parquet.block.size": 1 << 20})
    query.write(foreach_batch=lambda df, batch: None)


def test_sources(spark: Any, tmp_path: Any) -> None:
    for read in (read_batch, read_stream):
        with pytest.raises(ConfigError, match=r"Spark cannot .* parqet"):
            read(spark, "parqet", str(tmp_path), "a INT")  # type: ignore[operator]


def test_rules_of_streams(session: Session, feed: Callable[[str], Feed]) -> None:
    df = session.frames["a"]
    with pytest.raises(ConfigError, match="stream 'b': slack cannot be negative"):
        session.stream("b", df, slack=-1)
    with pytest.raises(ConfigError, match="stream 'b': rate is a number of rows a second above 0, not 0"):
        session.stream("b", df, rate=0)


def test_every_option_of_spark_s_own_readers_and_writers_is_known(spark: Any) -> None:
    base = "org.apache.spark.sql"
    found = {
        "csv": "catalyst.csv.CSVOptions", "json": "catalyst.json.JSONOptions",
        "parquet": "execution.datasources.parquet.ParquetOptions", "orc": "execution.datasources.orc.OrcOptions",
        "text": "execution.datasources.text.TextOptions",
    }  # fmt: skip
    for name, place in found.items():
        registry = spark._jvm.java.lang.Class.forName(f"{base}.{place}$").getField("MODULE$").get(None)
        options, here = registry.getAllOptions().iterator(), []
        while options.hasNext():
            here.append(options.next())
        assert here
        for sink in (False, True):
            assert formats.unknown_option(name, here, sink) is None


def test_decimals_are_compared_exactly_where_spark_rounds(spark: Any) -> None:
    """DECIMAL(38, 0) with DECIMAL(38, 10): Spark's own common type rounds 1.3 to 1."""
    values = [(1, "1", "1.3"), (2, "2", "1.3"), (3, "9" * 38, "0.5"), (4, "1", "1"), (5, None, "1")]
    rows = pa.table({
        "ts": pa.array([0] * 5, pa.timestamp("us", "UTC")),
        "k": pa.array([k for k, _, _ in values], pa.int64()),
        "m": pa.array([m and Decimal(m) for _, m, _ in values], pa.decimal128(38, 0)),
        "d": pa.array([Decimal(d) for _, _, d in values], pa.decimal128(38, 10)),
    })  # fmt: skip
    session = Session(spark, shards=2)
    session.stream("a", spark.createDataFrame(rows))
    for condition, expected in (("m = d", {4}), ("m > d", {2, 3}), ("m < d", {1}), ("m IN (d, 2)", {2, 4})):
        found = session.sql(f"Istream(SELECT k FROM a [NOW] WHERE {condition})").to_df().toArrow()
        assert set(found["k"].to_pylist()) == expected, condition
    average = session.sql("Istream(SELECT AVG(d) AS a FROM a [RANGE 1 SECOND])").to_df()
    assert average.schema["a"].dataType.simpleString() == "decimal(38,14)"


def test_nanoseconds_of_parquet_are_refused_with_a_way(spark: Any, tmp_path: Path) -> None:
    """Spark has no such type; as numbers it reads them, and microseconds are made of those."""
    times = pa.array([1_500_000_123, 2_000_000_999], pa.timestamp("ns", "UTC"))
    pq.write_table(pa.table({"ts": times, "v": [1, 2]}), tmp_path / "n.parquet")
    for read in (read_batch, read_stream):
        with pytest.raises(ConfigError, match=r"nanosAsLong to true .* timestamp_micros\(ts div 1000\)"):
            read(spark, "parquet", str(tmp_path))
    spark.conf.set("spark.sql.legacy.parquet.nanosAsLong", "true")
    try:
        df = read_batch(spark, "parquet", str(tmp_path)).selectExpr("v", "timestamp_micros(ts div 1000) AS ts")
        assert [r.ts.microsecond for r in df.orderBy("ts").collect()] == [500_000, 0]
        session = Session(spark, shards=1)
        session.stream("s", df)
        assert session.sql("SELECT v FROM s [NOW]").to_df().count() == 4
    finally:
        spark.conf.unset("spark.sql.legacy.parquet.nanosAsLong")
