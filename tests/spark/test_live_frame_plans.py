"""A live ``to_df()`` remembers its plan: it goes on under what leaves its question as it is, or is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest_spark import Feed, bag, events, until

from muntin.core.errors import ConfigError
from muntin.dataflow.durable import OnChange
from muntin.session import Query, Session

pytestmark = pytest.mark.spark

JOIN3 = (
    "SELECT x.v AS a, y.v AS b, z.v AS c FROM a x [RANGE 8 SECONDS], b y [RANGE 8 SECONDS], a z [RANGE 5 SECONDS] "
    "WHERE x.k = y.k AND y.j = z.j"
)
GROUPED = "SELECT k, COUNT(*) AS n FROM a [RANGE 8 SECONDS] GROUP BY k"


class Live:
    """A query over files, run again and again on one checkpoint and one store."""

    def __init__(self, spark: Any, feed: Callable[[str], Feed], path: Path, streams: str) -> None:
        self.spark, self.path, self.round = spark, path, 0
        self.inputs = {name: feed(name) for name in streams}

    def run(
        self, text: str, rates: dict[str, float] | None = None, out: str = "out", change: OnChange = "refuse",
        **options: Any,
    ) -> Query:  # fmt: skip
        """One more batch of rows through the query."""
        for i, source in enumerate(self.inputs.values()):
            source.put(events(10 * self.round + i, 30 * self.round, 30, 60))
        self.round += 1
        session = Session(self.spark, shards=4, store=str(self.path / "store"))
        for name, source in self.inputs.items():
            session.stream(name, source.live(), rate=(rates or {}).get(name))
        query = session.sql(text, name="q", **options)
        writer = query.to_df(on_change=change).toDF(*"abcde"[: len(query.schema)]).writeStream.format("parquet")
        writer = writer.option("path", str(self.path / out)).option("checkpointLocation", str(self.path / "cp"))
        writer.trigger(availableNow=True).start().awaitTermination()
        return query

    def answers(self, text: str, query: Query) -> None:
        """What was written is what a replay says."""
        session = Session(self.spark, shards=4)
        for name, source in self.inputs.items():
            session.stream(name, source.replay())
        metrics = query.metrics()
        assert metrics is not None and metrics.watermark is not None and metrics.batch == self.round - 1
        wanted = until(session.sql(text).to_df().toArrow(), metrics.watermark)
        got = self.spark.read.parquet(str(self.path / "out")).toArrow().rename_columns(wanted.column_names)
        assert bag(got) == bag(wanted) and len(wanted) > 50
        assert metrics.since is not None and metrics.since.batch == 0 and metrics.since.at is not None


def test_rates_of_streams(spark: Any, feed: Callable[[str], Feed], tmp_path: Path) -> None:
    """Another rate would lay out the join in another way: over shards that have other rows."""
    live = Live(spark, feed, tmp_path, "ab")
    live.run(JOIN3, {"a": 1000.0, "b": 1.0})
    live.answers(JOIN3, live.run(JOIN3, {"a": 1.0, "b": 1000.0}))


def test_a_strategy_an_alias_a_restart_and_another_text(
    spark: Any, feed: Callable[[str], Feed], tmp_path: Path
) -> None:
    live = Live(spark, feed, tmp_path, "a")
    live.run(GROUPED)
    live.run(GROUPED, strategy="nt", memory="64 MB")
    live.run("SELECT x.k AS g, COUNT(*) AS m FROM a x [RANGE 8 SECONDS] GROUP BY x.k")
    live.answers(GROUPED, live.run(GROUPED))
    with pytest.raises(ConfigError, match=r"'q' asks another question than at checkpoint .*\(then: SELECT k, COUNT"):
        live.run(GROUPED.replace("8 SECONDS", "9 SECONDS"))
    live.round -= 1
    live.inputs["a"].path.joinpath("0004.parquet").unlink()
    live.answers(GROUPED, live.run(GROUPED))


def test_another_question_begins_with_empty_windows(
    spark: Any, feed: Callable[[str], Feed], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """On two levels, after the batches of the first; the rows that it never read are in none of its answers."""
    other = (
        "SELECT n, COUNT(*) AS m FROM (SELECT k, COUNT(*) AS n FROM a [RANGE 9 SECONDS] GROUP BY k) AS q GROUP BY n"
    )
    live = Live(spark, feed, tmp_path, "a")
    before = live.run(GROUPED).metrics()
    with caplog.at_level("WARNING", "muntin"):
        query = live.run(other, out="refilled", change="refill")
    assert "asks another question" in caplog.text and "begins anew in batch 1 with empty windows" in caplog.text
    query = live.run(other, out="refilled")
    session = Session(spark, shards=4)
    session.stream("a", spark.read.parquet(*(str(live.inputs["a"].path / f"000{i}.parquet") for i in (1, 2))))
    metrics = query.metrics()
    assert before is not None and metrics is not None and metrics.since is not None and metrics.watermark is not None
    assert (metrics.batch, metrics.since.batch, metrics.since.watermark) == (2, 1, before.watermark)
    wanted = until(session.sql(other).to_df().toArrow(), metrics.watermark)
    parts = [pq.read_table(path) for path in (tmp_path / "refilled").glob("part-*.parquet")]
    got = pa.concat_tables(parts).rename_columns(wanted.column_names).cast(wanted.schema)
    assert bag(got) == bag(wanted) and len(wanted) > 20
    with pytest.raises(ConfigError, match=r"'q' asks another question .*\(then: SELECT n, COUNT"):
        live.run(GROUPED)
    with pytest.raises(ConfigError, match='on_change is "refuse" or "refill"'):
        live.run(GROUPED, change="anew")  # type: ignore[arg-type]
