"""What does not fit is refused before anything runs, with words that say what to do."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest_spark import Feed, events

from muntin.core.errors import ConfigError, StoreError
from muntin.session import Session

pytestmark = pytest.mark.spark

TEXT = "SELECT k, COUNT(*) AS n FROM a [RANGE 20 SECONDS SLIDE 3 SECONDS] GROUP BY k"


@pytest.fixture(scope="module")
def source(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Feed:
    return Feed(spark, tmp_path_factory.mktemp("in")).put(events(1, 0, 30, 50), events(2, 30, 30, 50))


@pytest.fixture(scope="module")
def ran(spark: Any, source: Feed, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a pipeline has run two batches."""
    where = tmp_path_factory.mktemp("ran") / "cp"
    start(spark, source, where).await_termination()
    return where


@pytest.fixture
def checkpoint(ran: Path, tmp_path: Path) -> Path:
    """The same for one test alone."""
    return Path(shutil.copytree(ran, tmp_path / "cp"))


def start(spark: Any, source: Feed, checkpoint: Path, shards: int = 4, **options: Any) -> Any:
    session = Session(spark, shards=shards)
    session.stream("a", source.live(), **options)
    session.sql(TEXT).write()
    return session.start(str(checkpoint), "available_now")


def test_another_shard_count(spark: Any, source: Feed, checkpoint: Path) -> None:
    with pytest.raises(ConfigError, match="was made with 4 shards, this session has 8; use Session"):
        start(spark, source, checkpoint, shards=8)


def test_a_changed_option(spark: Any, source: Feed, checkpoint: Path) -> None:
    with pytest.raises(ConfigError, match=r"slack was 0 at checkpoint .* and is 5000000"):
        start(spark, source, checkpoint, slack="5 seconds")


def test_a_changed_schema(spark: Any, source: Feed, checkpoint: Path) -> None:
    session = Session(spark, shards=4)
    session.stream("a", source.live().selectExpr("ts", "CAST(k AS STRING) AS k", "1 AS extra", "j", "v"))
    session.sql(TEXT).write()
    with pytest.raises(ConfigError, match=r"schema changed .*name is gone; extra is new; k was int64 and is string"):
        session.start(str(checkpoint))


def test_other_sources(spark: Any, source: Feed, checkpoint: Path) -> None:
    session = Session(spark, shards=4)
    session.stream("b", source.live())
    session.sql(TEXT.replace("FROM a", "FROM b")).write()
    with pytest.raises(ConfigError, match="reads the streams a in this order, this session registers b"):
        session.start(str(checkpoint))


def test_a_missing_store(spark: Any, source: Feed, checkpoint: Path) -> None:
    shutil.rmtree(checkpoint / "panes")
    with pytest.raises(StoreError, match="no pane store"):
        start(spark, source, checkpoint)


def test_a_newer_store(spark: Any, source: Feed, checkpoint: Path) -> None:
    for log in ("offsets", "commits"):
        for name in ("1", ".1.crc"):
            (checkpoint / log / name).unlink()
    with pytest.raises(StoreError, match="newer than the checkpoint"):
        start(spark, source, checkpoint)


def test_a_store_of_another_pipeline(spark: Any, source: Feed, checkpoint: Path, tmp_path: Path) -> None:
    shutil.copytree(checkpoint / "panes", tmp_path / "other" / "panes")
    with pytest.raises(StoreError, match="belongs to another pipeline"):
        start(spark, source, tmp_path / "other")
    shutil.rmtree(checkpoint / "panes")
    start(spark, source, tmp_path / "third").await_termination()
    shutil.copytree(tmp_path / "third" / "panes", checkpoint / "panes")
    with pytest.raises(StoreError, match="no pane store"):
        start(spark, source, checkpoint)


def test_a_damaged_store(spark: Any, source: Feed, checkpoint: Path) -> None:
    source.put(events(3, 60, 30, 50))
    for path in (checkpoint / "panes").glob("*/level-0/manifests/*1.slot*"):
        data = bytearray(path.read_bytes())
        data[-3] ^= 1
        path.write_bytes(bytes(data))
    with pytest.raises(StoreError, match=r"corrupt|checksum|damaged"):
        start(spark, source, checkpoint).await_termination()


def test_a_checkpoint_of_something_else(spark: Any, source: Feed, checkpoint: Path) -> None:
    (checkpoint / "muntin.json").unlink()
    with pytest.raises(StoreError, match=r"was not written by session.start"):
        start(spark, source, checkpoint)


def test_a_newer_record(spark: Any, source: Feed, checkpoint: Path) -> None:
    record = json.loads((checkpoint / "muntin.json").read_text())
    (checkpoint / "muntin.json").write_text(json.dumps(record | {"format": 99}))
    with pytest.raises(StoreError, match="has format 99"):
        start(spark, source, checkpoint)


def test_mixed_kinds_of_input(spark: Any, source: Feed) -> None:
    session = Session(spark, store="unused")
    session.stream("a", source.live())
    session.stream("b", source.replay())
    query = session.sql("SELECT a.k FROM a [RANGE 1 SECOND], b [RANGE 1 SECOND] WHERE a.k = b.k")
    with pytest.raises(ConfigError, match="a is streaming, b is not"):
        query.to_df()


def test_what_a_session_refuses(spark: Any, source: Feed, tmp_path: Path) -> None:
    session = Session(spark)
    session.stream("a", source.live())
    with pytest.raises(ConfigError, match="'A' already"):
        session.stream("A", source.live())
    with pytest.raises(ConfigError, match=r"no column 'when'.*it has ts, k, j, v, name"):
        session.stream("b", source.live(), ts="when")
    with pytest.raises(ConfigError, match="'k' is an integer; say its unit"):
        session.stream("b", source.live(), ts="k")
    with pytest.raises(ConfigError, match=r"'b': slack: .*5 parsecs|parsecs"):
        session.stream("b", source.live(), slack="5 parsecs")
    with pytest.raises(ConfigError, match="on_bad_time is"):
        session.stream("b", source.live(), on_bad_time="ignore")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="no query has a sink"):
        session.start(str(tmp_path / "cp"))
    query = session.sql(TEXT, name="q")
    with pytest.raises(ConfigError, match="a query 'q' already"):
        session.sql(TEXT, name="q")
    with pytest.raises(ConfigError, match="unknown option 'bound'; a query takes bounds"):
        session.sql(TEXT, bound="closed")
    with pytest.raises(ConfigError, match="keeps its windows on disk"):
        query.to_df()
    query.write()
    with pytest.raises(ConfigError, match="trigger 'hourly' is not known"):
        session.start(str(tmp_path / "cp"), "hourly")
    with pytest.raises(ConfigError, match="needs a path"):
        query.write("parquet")
    assert not (tmp_path / "cp").exists()


def test_explain_names_the_streams(spark: Any, source: Feed) -> None:
    session = Session(spark)
    session.stream("a", source.live())
    text = session.explain(TEXT)
    assert "a" in text.split() or " a " in text or "a [" in text
    assert session.queries == {}
    assert session.sql(TEXT, name="q").explain() == text
    assert session.queries["q"].schema.names == ("k", "n", "ts")


def test_a_session_explains_its_queries_together(spark: Any, source: Feed) -> None:
    session = Session(spark)
    session.stream("a", source.live())
    with pytest.raises(ConfigError, match="there is no query to explain"):
        session.explain()
    session.sql(TEXT, name="one")
    session.sql(TEXT.replace("COUNT(*)", "COUNT(*) + 1"), name="two")
    assert "for: one, two\n" in session.explain() and "result of two: k, n, ts" in session.explain()
    assert [r["query"] for r in json.loads(session.explain(form="json"))["results"]] == ["one", "two"]


def test_explain_analyze_runs_over_batch_dataframes(spark: Any, source: Feed) -> None:
    session = Session(spark)
    session.stream("a", source.replay())
    session.table("names", spark.createDataFrame([(1, "one"), (2, "two")], "k BIGINT, name STRING"))
    query = session.sql(TEXT)
    found = json.loads(query.explain("json", analyze=True))
    assert found["measured"]["results"] == query.to_df().count()
    assert str(found["measured"]["results"]) in session.explain(f"EXPLAIN ANALYZE {TEXT}")
    joined = session.sql("Istream(SELECT a.ts, n.name FROM a [RANGE 5 SECONDS], names n WHERE a.k = n.k)")
    assert json.loads(joined.explain("json", analyze=True))["measured"]["results"] == joined.to_df().count() > 0


def test_explain_analyze_says_why_it_does_not_run_over_a_live_stream(spark: Any, source: Feed) -> None:
    session = Session(spark)
    session.stream("a", source.live())
    with pytest.raises(ConfigError, match="a is streaming: register a batch DataFrame"):
        session.explain(f"EXPLAIN ANALYZE {TEXT}")
