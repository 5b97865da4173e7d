"""An engine that Spark drives (Muntin, or Spark's own operators): a streaming query over folders of files, timed by
Spark's own report of its batches.

Spark objects arrive from outside (``muntin.spark``); nothing here imports pyspark.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from muntin.bench import account
from muntin.bench.data import SCHEMA_DDL, Feed
from muntin.bench.load import Load, Place

Build = Callable[[Any, Sequence[Any], Path], Any]
"""(spark, one streaming DataFrame a stream, scratch folder) -> streaming DataFrame of results, or a query."""


@dataclass(frozen=True)
class StreamSide:
    """An engine in a case. ``answer``: its result as expressions to be compared, the first the instant ``t``.

    ``own_sink``: ``build`` gives a query of a session, whose results are counted and dropped on the workers, as Flink's
    black hole does it, and compared by way of Parquet files that the workers write; else a DataFrame for Spark's sinks.
    """

    engine: str
    build: Build
    answer: tuple[str, ...]
    load: Load
    streams: int
    own_sink: bool = False

    def answers(self, place: Place, files: int, size: int) -> Any:
        """The results for the first ``files`` of ``size`` rows of each stream, by way of Parquet."""
        feeds = self._feeds(place, "prefix", size)
        for feed in feeds:
            if not feed.folder.exists():
                feed.more(files)
        out = place.scratch / f"answers-{self.engine}"
        result = self.build(place.spark, _sources(place.spark, feeds), place.scratch / f"state-answers-{self.engine}")
        if self.own_sink:
            result.write("parquet", str(out)).start(f"{out}-check", "available_now").await_termination()
        else:
            writer = result.writeStream.format("parquet").option("checkpointLocation", f"{out}-check")
            writer.option("path", str(out)).trigger(availableNow=True).start().awaitTermination()
        return place.spark.read.parquet(str(out)).selectExpr(*self.answer)

    def start(self, place: Place) -> StreamTurns:
        """Its query is alive and has had its warm-up files."""
        feeds = self._feeds(place, self.engine, self.load.size)
        for feed in feeds:
            feed.folder.mkdir(parents=True)
        result = self.build(place.spark, _sources(place.spark, feeds), place.scratch / f"state-{self.engine}")
        check = str(place.scratch / f"check-{self.engine}")
        # the engine that is not being timed looks for new files once a second, not all the time
        if self.own_sink:
            run = result.write("blackhole").start(check, "1 second")
            turns = StreamTurns(self, place.spark, feeds, run.query, lambda: run.metrics().results)
        else:
            writer = result.writeStream.format("noop").option("checkpointLocation", check)
            turns = StreamTurns(self, place.spark, feeds, writer.trigger(processingTime="1 second").start())
        turns.feed(1, timed=False)
        turns.feed(self.load.warm, timed=False)
        return turns

    def close(self) -> None:
        """Nothing is kept outside the Spark session."""

    def _feeds(self, place: Place, name: str, size: int) -> list[Feed]:
        return [Feed(place.scratch / f"{name}{i}", size, i, keys=place.keys) for i in range(self.streams)]


@dataclass
class StreamTurns:
    """An engine with its stream alive; a turn feeds it and waits.

    ``results_so_far``: who counts the results (None: Spark, in what it reports of its sink).
    """

    side: StreamSide
    spark: Any
    feeds: list[Feed]
    query: Any
    results_so_far: Callable[[], int] | None = None
    rows: int = 0
    results: int = 0
    spans: list[tuple[float, float]] = field(default_factory=list)
    _seen: int = -1

    @property
    def seconds(self) -> float:
        return sum(end - begin for begin, end in self.spans)

    def turn(self) -> None:
        self.feed(self.side.load.files, timed=True)

    def feed(self, files: int, timed: bool) -> None:
        """The time is what Spark reports for the batches of the turn, also those without rows (they emit results)."""
        before = self._counted()
        rows = sum(feed.more(files) for feed in self.feeds)
        self.query.processAllAvailable()
        batches = self._reported(rows)
        self._seen = batches[-1]["batchId"]
        if timed:
            self.rows += rows
            reported = sum(max(b["sink"]["numOutputRows"], 0) for b in batches)
            self.results += reported if self.results_so_far is None else self._counted() - before
            self.spans += [_span(b) for b in batches]

    def _counted(self) -> int:
        return self.results_so_far() if self.results_so_far is not None and self._seen >= 0 else 0

    def account(self, case: str) -> list[str]:
        return account.lines(case, self.side.engine, account.account(self.spark, self.query.runId, self.spans))

    def stop(self) -> None:
        self.query.stop()

    def _reported(self, rows: int) -> list[dict[str, Any]]:
        """The batches of this turn, once Spark has reported all of them (shortly after the last has ended)."""
        for _ in range(200):
            batches = [p for p in self.query.recentProgress if p["batchId"] > self._seen and _ran(p)]
            if sum(b["numInputRows"] for b in batches) >= rows:
                return batches
            time.sleep(0.05)
        raise RuntimeError(f"{self.side.engine}: Spark reports fewer rows than the {rows} that it was fed")


def _sources(spark: Any, feeds: Sequence[Feed]) -> list[Any]:
    return [
        spark.readStream.schema(SCHEMA_DDL).option("maxFilesPerTrigger", 1).parquet(str(feed.folder)) for feed in feeds
    ]


def _ran(progress: dict[str, Any]) -> bool:
    return "addBatch" in progress["durationMs"]


def _span(batch: dict[str, Any]) -> tuple[float, float]:
    begin = datetime.fromisoformat(batch["timestamp"]).timestamp()
    return begin, begin + float(batch["durationMs"]["triggerExecution"]) / 1000
