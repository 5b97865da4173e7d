"""Two engines on the same generated streams: answers compared on a prefix, then timed in turns within one run.

Spark objects arrive from outside (``muntin.spark``); nothing here imports pyspark.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from muntin.bench.data import SCHEMA_DDL, Feed
from muntin.bench.record import Record

Build = Callable[[Any, Sequence[Any], Path], Any]
"""(spark, one streaming DataFrame a stream, scratch folder) -> streaming DataFrame of results with an instant column
``t``."""

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


@dataclass(frozen=True)
class Side:
    """One engine in a case: ``size`` rows a stream and file; ``files`` a timed round; ``warm`` files before timing."""

    engine: str
    build: Build
    size: int
    files: int
    warm: int = 2


@dataclass(frozen=True)
class Contest:
    """A case: ``streams`` inputs, Muntin and Spark. ``prefix`` files of Spark's size are used to compare answers."""

    bench: str
    case: str
    streams: int
    muntin: Side
    spark: Side
    prefix: int
    rounds: int = 2


def run(contest: Contest, spark: Any, say: Callable[[str], None] = lambda _: None) -> list[Record]:
    """Compare the answers, then time both sides in alternating rounds."""
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
    with _scratch() as scratch:
        say(f"{contest.case}: comparing answers on {contest.prefix * contest.spark.size * contest.streams:,} rows")
        equal = _answers_equal(contest, spark, scratch)
        say(f"{contest.case}: answers {'equal' if equal else 'DIFFER'}; timing")
        timings = _time_in_turns(contest, spark, scratch, say)
    return _records(contest, timings, equal)


@contextmanager
def _scratch() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="muntin-bench-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _sources(spark: Any, feeds: Sequence[Feed]) -> list[Any]:
    return [
        spark.readStream.schema(SCHEMA_DDL).option("maxFilesPerTrigger", 1).parquet(str(feed.folder)) for feed in feeds
    ]


def _answers_equal(contest: Contest, spark: Any, scratch: Path) -> bool:
    feeds = [Feed(scratch / f"prefix{i}", contest.spark.size, i) for i in range(contest.streams)]
    for feed in feeds:
        feed.more(contest.prefix)
    frames = []
    for side in (contest.spark, contest.muntin):
        out = scratch / f"answers-{side.engine}"
        result = side.build(spark, _sources(spark, feeds), scratch / f"state-answers-{side.engine}")
        writer = result.writeStream.format("parquet").option("checkpointLocation", str(out) + "-check")
        query = writer.option("path", str(out)).trigger(availableNow=True).start()
        query.awaitTermination()
        frames.append(spark.read.parquet(str(out)))
    ends = [f.selectExpr("max(t)").first()[0] for f in frames]
    if None in ends:
        return False
    mine, theirs = (f.where(f"t <= timestamp_micros({_micros(min(ends))})") for f in frames)
    return mine.exceptAll(theirs).isEmpty() and theirs.exceptAll(mine).isEmpty()


def _micros(instant: Any) -> int:
    return round(instant.timestamp() * 1_000_000)


@dataclass
class _Running:
    """An engine with its stream alive; ``turn`` feeds it and waits."""

    side: Side
    feeds: list[Feed]
    query: Any
    rows: int = 0
    seconds: float = 0.0

    def turn(self, files: int, timed: bool) -> None:
        rows = sum(feed.more(files) for feed in self.feeds)
        start = time.perf_counter()
        self.query.processAllAvailable()
        if timed:
            self.rows += rows
            self.seconds += time.perf_counter() - start


def _time_in_turns(
    contest: Contest, spark: Any, scratch: Path, say: Callable[[str], None]
) -> list[tuple[Side, int, int, float]]:
    running = [_start(contest, side, spark, scratch) for side in (contest.spark, contest.muntin)]
    try:
        for number in range(contest.rounds):
            for engine in running:
                engine.turn(engine.side.files, timed=True)
                rate = engine.rows / engine.seconds
                say(f"{contest.case}: round {number + 1}, {engine.side.engine} {rate:,.0f} rows/s so far")
        return [(e.side, e.rows, _results(e.query), e.seconds) for e in running]
    finally:
        for engine in running:
            engine.query.stop()


def _start(contest: Contest, side: Side, spark: Any, scratch: Path) -> _Running:
    feeds = [Feed(scratch / f"{side.engine}{i}", side.size, i) for i in range(contest.streams)]
    for feed in feeds:
        feed.more(1)
    result = side.build(spark, _sources(spark, feeds), scratch / f"state-{side.engine}")
    check = str(scratch / f"check-{side.engine}")
    # the engine that is not being timed looks for new files once a second, not all the time
    writer = result.writeStream.format("noop").option("checkpointLocation", check)
    query = writer.trigger(processingTime="1 second").start()
    running = _Running(side, feeds, query)
    query.processAllAvailable()
    running.turn(side.warm, timed=False)
    return running


def _results(query: Any) -> int:
    """Result rows over the batches that Spark still remembers (-1 where the sink does not count)."""
    counts = [p["sink"]["numOutputRows"] for p in query.recentProgress if "sink" in p]
    return sum(c for c in counts if c > 0)


def _records(contest: Contest, timings: Sequence[tuple[Side, int, int, float]], equal: bool) -> list[Record]:
    best = next(rows / seconds for side, rows, _, seconds in timings if side is contest.muntin)
    return [
        Record(
            contest.bench, contest.case, side.engine, rows, results, round(seconds, 2), round(rows / seconds, 1),
            round(best / (rows / seconds), 2), equal,
        )
        for side, rows, results, seconds in timings
    ]  # fmt: skip
