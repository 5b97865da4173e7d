"""A function of ``foreachBatch`` may read what it likes: every batch of ``to_df()`` runs whole, or is repeated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest_spark import SECOND, Feed, bag, events, until
from pyspark.sql.classic.dataframe import DataFrame

from muntin.core.errors import StoreError
from muntin.session import Session
from muntin.spark.checkpoint import progress_of, rewind
from muntin.spark.live_frame import run_whole

pytestmark = pytest.mark.spark

JOIN = (
    "SELECT x.k, COUNT(*) AS n, AVG(y.v) AS mean FROM a x [RANGE 10 SECONDS SLIDE 1 SECOND], b y [RANGE 6 SECONDS] "
    "WHERE x.j = y.j GROUP BY x.k"
)
FILES = 3
Answers = dict[int, pa.Table]


@pytest.fixture
def inputs(feed: Callable[[str], Feed]) -> dict[str, Feed]:
    return {n: feed(n).put(*(events(10 * i + b, 20 * b, 20, 100) for b in range(FILES))) for i, n in enumerate("ab")}


def frame(spark: Any, inputs: dict[str, Feed], where: Path | None) -> Any:
    session = Session(spark, shards=4, store=None if where is None else str(where / "store"))
    for name, source in inputs.items():
        session.stream(name, source.live() if where else source.replay())
    return session.sql(JOIN).to_df()


def drain(df: Any, where: Path, function: Callable[[Any, int], None]) -> None:
    writer = df.writeStream.foreachBatch(function).option("checkpointLocation", str(where / "cp"))
    writer.trigger(availableNow=True).start().awaitTermination()


def wanted(spark: Any, inputs: dict[str, Feed]) -> list[Any]:
    return bag(until(frame(spark, inputs, None).toArrow(), 20 * FILES * SECOND - SECOND))


def test_a_function_that_reads_some_of_a_batch_or_none(spark: Any, inputs: dict[str, Feed], tmp_path: Path) -> None:
    seen: Answers = {}

    def look(df: Any, batch: int) -> None:
        match batch:
            case 0:
                df.limit(1).collect()
            case 1:
                pass
            case _:
                seen[batch] = df.toArrow()

    drain(frame(spark, inputs, tmp_path).where("n > 0").select("*"), tmp_path, look)
    assert list(seen) == [2] and len(seen[2]) > 10
    everything = wanted(spark, inputs)
    assert all(row in everything for row in bag(until(seen[2], 20 * FILES * SECOND - SECOND)))


def test_a_batch_without_a_row_or_a_partition_leaves_its_version(spark: Any, tmp_path: Path) -> None:
    """The first seconds of this source: offsets that move, and no partition to read."""
    rate = spark.readStream.format("rate").option("rowsPerSecond", 1).option("rampUpTime", "10000s").load()
    session = Session(spark, shards=4)
    session.stream("r", rate.selectExpr("timestamp AS ts", "value % 3 AS k"))
    session.sql("SELECT k, COUNT(*) AS n FROM r [RANGE 5 SECONDS SLIDE 1 SECOND] GROUP BY k").write(
        "parquet", str(tmp_path / "out")
    )
    run = session.start(str(tmp_path / "cp"), "1 second")
    while run.metrics() is None or run.metrics().batches < 2:  # the second goes on from the version of the first
        assert not run.await_termination(0.1)
    run.stop()
    assert all((tmp_path / "out" / f"batch={batch}" / "_SUCCESS").exists() for batch in range(2))
    assert run.metrics().rows == 0


def test_a_batch_that_was_committed_without_its_state_is_repeated(
    spark: Any, inputs: dict[str, Feed], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    seen: Answers = {}

    def keep(df: Any, batch: int) -> None:
        seen[batch] = df.toArrow()

    def miss(df: Any, batch: int) -> None:
        if batch != 1:
            keep(df, batch)

    plain = frame(spark, inputs, tmp_path)
    with pytest.raises(Exception, match="older than the checkpoint"):
        drain(DataFrame(plain._jdf, spark), tmp_path, miss)  # PySpark's own writer, which nothing watches over
    assert progress_of(str(tmp_path / "cp")).committed == 1
    drain(frame(spark, inputs, tmp_path), tmp_path, keep)
    assert "batches 1 to 1 were committed, but not run whole" in caplog.text
    got = pa.concat_tables(seen[b] for b in sorted(seen))
    assert bag(until(got, 20 * FILES * SECOND - SECOND)) == wanted(spark, inputs) and len(got) > 50


def test_a_batch_that_cannot_be_repeated_is_an_error(tmp_path: Path) -> None:
    for log, numbers in (("offsets", (4, 5)), ("commits", (3, 4))):
        (tmp_path / log).mkdir()
        for number in numbers:
            (tmp_path / log / str(number)).write_text("v1")
    (tmp_path / "metadata").write_text('{"id": "x"}')
    with pytest.raises(StoreError, match="no longer says what batch 4 had read"):
        rewind(progress_of(str(tmp_path)), 3)
    assert progress_of(str(tmp_path)).committed == 4
    rewind(progress_of(str(tmp_path)), 4)
    assert progress_of(str(tmp_path)).planned == 5


def test_a_batch_that_does_not_run_whole_is_an_error_before_it_is_committed(
    spark: Any, inputs: dict[str, Feed], tmp_path: Path
) -> None:
    spec = frame(spark, inputs, tmp_path)._live.spec
    spark.sparkContext.setLocalProperty("sql.streaming.queryId", "another")
    try:
        with pytest.raises(StoreError, match="batch 0 was not run whole"):
            run_whole(spec, lambda df, batch: None)(spark.range(1), 0)
    finally:
        spark.sparkContext.setLocalProperty("sql.streaming.queryId", None)
