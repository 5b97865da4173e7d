"""Job files that put sources into shape: messages of Kafka's schema taken apart and written, columns derived, files
without a header. No broker runs here: the frames have the schema that Spark's manual gives for its Kafka source."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from muntin.cli.job import load_job
from muntin.cli.streams import inputs_of
from muntin.cli.wiring import add_queries, register
from muntin.core.errors import ConfigError, DataError
from muntin.session import Session

pytestmark = pytest.mark.spark

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
KAFKA = pa.schema(
    [
        ("key", pa.binary()), ("value", pa.binary()), ("topic", pa.string()), ("partition", pa.int32()),
        ("offset", pa.int64()), ("timestamp", pa.timestamp("us", "UTC")), ("timestampType", pa.int32()),
        ("headers", HEADERS),
    ]
)  # fmt: skip


def at(second: float) -> datetime:
    return datetime.fromtimestamp(second, UTC)


def messages(*values: Any, keys: Any = None) -> pa.Table:
    """Messages as Spark's Kafka source gives them, one a second; objects are written as JSON."""
    body = [v if isinstance(v, bytes) or v is None else json.dumps(v).encode() for v in values]
    n = len(body)
    return pa.table(
        {
            "key": pa.array(keys or [f"k{i % 2}".encode() for i in range(n)], pa.binary()),
            "value": pa.array(body, pa.binary()),
            "topic": ["clicks"] * n,
            "partition": pa.array([0] * n, pa.int32()),
            "offset": pa.array(range(n), pa.int64()),
            "timestamp": pa.array([at(100 + i) for i in range(n)], pa.timestamp("us", "UTC")),
            "timestampType": pa.array([0] * n, pa.int32()),
            "headers": pa.array([[{"key": "trace", "value": f"t{i}".encode()}] for i in range(n)], HEADERS),
        },
        schema=KAFKA,
    )


def run(spark: Any, tmp_path: Path, text: str, frames: dict[str, pa.Table]) -> Any:
    """The job of this text over files of these frames, run until all is read; its session."""
    for name, table in frames.items():
        (tmp_path / name).mkdir(exist_ok=True)
        pq.write_table(table, tmp_path / name / "0.parquet")
    (tmp_path / "job.toml").write_text(text)
    job = load_job(tmp_path / "job.toml")
    session = Session(spark, shards=2)
    register(session, inputs_of(job, []), live=True)
    add_queries(session, job)
    started = session.start(str(tmp_path / "cp"))
    try:
        started.process_all_available()
        started.finish()
        started.process_all_available()
    finally:
        started.stop()
    return session


CLICKS = """
[[stream]]
name = "clicks"
path = "clicks"
decode = "json"
schema = "user STRING, page STRUCT<url: STRING, tags: ARRAY<STRING>>, time BIGINT, timestamp STRING"
columns = { at = "timestamp_seconds(time)", tag = "explode_outer(page.tags)", trace = "string(headers[0].value)" }
ts = "at"
slack = "10 seconds"
[[query]]
name = "tags"
cql = "SELECT user, key, tag, trace, message_timestamp AS t, offset FROM clicks [RANGE 5 SECONDS SLIDE 5 SECONDS]"
sink = { format = "parquet", path = "out", encode = "json", key = "tag" }
"""
FRAMES = {
    "clicks": messages(
        {"user": "ann", "page": {"url": "/a", "tags": ["x", "y"]}, "time": 11, "timestamp": "noon", "more": 1},
        b"no json",
        {"user": "bob", "page": {"url": "/b", "tags": ["x"]}, "time": "late"},
        None,
        {"user": "bob", "page": {"url": "/b", "tags": ["z"]}, "time": 14},
    )
}


@pytest.mark.any_spark
def test_kafka_json_in_and_out(spark: Any, tmp_path: Path) -> None:
    """The recipe of the cookbook, over recorded messages in the place of a broker."""
    page = (Path(__file__).parents[2] / "docs" / "cookbook.md").read_text()
    (text,) = [b for b in re.findall(r"```toml\n(.*?)```", page, re.DOTALL) if "clicks" in b]
    text = re.sub(r'format = "kafka"\noptions = .*', 'path = "clicks"', text)
    text = re.sub(r'format = "kafka", options = {.*?}', 'format = "parquet", path = "out"', text)
    health = {"user": "cat", "page": {"url": "/health", "tags": ["x"]}, "time": 12}
    more = [health, {"user": "bob", "page": {"url": "/b", "tags": ["x"]}, "time": 13}]
    frame = FRAMES["clicks"]
    session = run(spark, tmp_path, text, {"clicks": pa.concat_tables([frame, messages(*more)])})
    found = spark.read.parquet(str(tmp_path / "out")).toArrow().to_pylist()
    assert {r["key"] for r in found} == {"x", "y", "z"} and len(found) == 3
    by_tag = {r["key"]: json.loads(r["value"]) for r in found}
    assert by_tag["x"] == {"tag": "x", "users": 2, "trace": "t1", "ts": "1970-01-01T00:01:00.000000Z"}
    assert by_tag["z"]["users"] == 1 and by_tag["z"]["trace"] == "t4"
    assert session.running.metrics().bad == 3


@pytest.mark.slow
def test_messages_that_cannot_be_read_are_counted_or_stop_the_run(spark: Any, tmp_path: Path) -> None:
    text = CLICKS.replace(', tag = "explode_outer(page.tags)"', "").replace(" tag,", "").replace('"tag"', '"user"')
    text = text.replace('ts = "at"', 'ts = "message_timestamp"').replace("message_timestamp AS t, offset", "offset")
    session = run(spark, tmp_path, text, FRAMES)
    found = spark.read.parquet(str(tmp_path / "out")).toArrow().to_pylist()
    assert sorted(r["key"] for r in found) == ["ann", "bob"] and session.running.metrics().bad == 3
    (tmp_path / "strict").mkdir()
    with pytest.raises(DataError, match="clicks"):
        run(spark, tmp_path / "strict", text.replace('slack =', 'on_bad_time = "fail"\nslack ='), FRAMES)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('"timestamp_seconds(time)"', '"timestamp_second(time)"'), r"stream 'clicks', key columns.at: .*UNRESOLVED_R"),
        (('"timestamp_seconds(time)"', '"timestamp_seconds(tyme)"'), r"key columns.at: .* over key, topic, .*: .*tyme"),
        (('"user STRING,', '"user STRIN,'), r"stream 'clicks', key schema: Spark does not take 'user STRIN,"),
        (('key = "tag"', 'key = "tags"'), r"no column 'tags' to key messages by; it has user, key, tag, trace"),
        (('encode = "json", ', ""), r'goes with encode="json"'),
        (('format = "parquet"', 'format = "kafka"'), r"key sink.options.kafka.bootstrap.servers: is missing"),
        (('decode = "json"', ""), r"key columns.trace: .* over user, page, time, timestamp, at, tag: "),
    ],
)
def test_what_is_wrong_with_a_shape_is_said_at_the_start(
    spark: Any, tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    assert change[0] in CLICKS
    with pytest.raises(ConfigError, match=message):
        run(spark, tmp_path, CLICKS.replace(*change), FRAMES)
    with pytest.raises(ConfigError, match=r"\(clicks\), key schema: is missing: the columns that the messages hold"):
        run(spark, tmp_path, CLICKS.replace("schema =", "#"), FRAMES)


@pytest.mark.slow
def test_separated_files_without_a_header(spark: Any, tmp_path: Path) -> None:
    text = """
    [[stream]]
    name = "log"
    format = "csv"
    path = "in"
    schema = "time DOUBLE, host STRING, bytes BIGINT"
    options = { sep = "\\t", header = false, nullValue = "-" }
    columns = { ts = "timestamp_micros(bigint(time * 1000000))", kb = "bytes / 1024" }
    ts = "ts"
    [[query]]
    name = "sizes"
    cql = "SELECT host, kb FROM log [RANGE 1 SECOND SLIDE 1 SECOND]"
    sink = { format = "memory" }
    """
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.log").write_text("10.5\ta\t2048\n11.25\tb\t-\n")
    session = run(spark, tmp_path, text, {})
    found = session.queries["sizes"].rows().to_pylist()
    assert [(r["host"], r["kb"], r["ts"]) for r in found] == [("a", 2.0, at(11)), ("b", None, at(12))]
