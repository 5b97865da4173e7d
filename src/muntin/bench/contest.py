"""Two engines on the same generated streams: answers compared on a prefix, then timed in turns within one run.

Spark objects arrive from outside (``muntin.spark``); nothing here imports pyspark.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from muntin.bench import account
from muntin.bench.data import SCHEMA_DDL, Feed
from muntin.bench.record import Record

Build = Callable[[Any, Sequence[Any], Path], Any]
"""(spark, one streaming DataFrame a stream, scratch folder) -> streaming DataFrame of results."""

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


@dataclass(frozen=True)
class Load:
    """What an engine is fed: ``size`` rows a stream and file, ``files`` a timed round, ``warm`` files before that."""

    size: int
    files: int
    warm: int = 1


@dataclass(frozen=True)
class Side:
    """One engine in a case. ``answer``: its result as expressions to be compared, the first the instant ``t``."""

    engine: str
    build: Build
    answer: tuple[str, ...]
    load: Load


@dataclass(frozen=True)
class Contest:
    """A case: ``streams`` inputs, Muntin and Spark, timed in turns for ``rounds``."""

    bench: str
    case: str
    streams: int
    muntin: Side
    spark: Side
    rounds: int = 2

    @property
    def prefix(self) -> int:
        """Files of Spark's size on which answers are compared: all that Spark is timed on, and those before."""
        return 1 + self.spark.load.warm + self.rounds * self.spark.load.files


def run(contest: Contest, spark: Any, say: Callable[[str], None] = lambda _: None) -> list[Record]:
    """Compare the answers, then time both sides in alternating rounds."""
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
    with _scratch() as scratch:
        say(f"{contest.case}: comparing answers on {contest.prefix * contest.spark.load.size * contest.streams:,} rows")
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
    feeds = [Feed(scratch / f"prefix{i}", contest.spark.load.size, i) for i in range(contest.streams)]
    for feed in feeds:
        feed.more(contest.prefix)
    frames = []
    for side in (contest.spark, contest.muntin):
        out = scratch / f"answers-{side.engine}"
        result = side.build(spark, _sources(spark, feeds), scratch / f"state-answers-{side.engine}")
        writer = result.writeStream.format("parquet").option("checkpointLocation", str(out) + "-check")
        query = writer.option("path", str(out)).trigger(availableNow=True).start()
        query.awaitTermination()
        frames.append(spark.read.parquet(str(out)).selectExpr(*side.answer))
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
    results: int = 0
    spans: list[tuple[float, float]] = field(default_factory=list)
    _seen: int = -1

    @property
    def seconds(self) -> float:
        return sum(end - begin for begin, end in self.spans)

    def turn(self, files: int, timed: bool) -> None:
        """The time is what Spark reports for the batches of the turn, also those without rows (they emit results)."""
        rows = sum(feed.more(files) for feed in self.feeds)
        self.query.processAllAvailable()
        batches = self._reported(rows)
        self._seen = batches[-1]["batchId"]
        if timed:
            self.rows += rows
            self.results += sum(max(b["sink"]["numOutputRows"], 0) for b in batches)
            self.spans += [_span(b) for b in batches]

    def _reported(self, rows: int) -> list[dict[str, Any]]:
        """The batches of this turn, once Spark has reported all of them (shortly after the last has ended)."""
        for _ in range(200):
            batches = [p for p in self.query.recentProgress if p["batchId"] > self._seen and _ran(p)]
            if sum(b["numInputRows"] for b in batches) >= rows:
                return batches
            time.sleep(0.05)
        raise RuntimeError(f"{self.side.engine}: Spark reports fewer rows than the {rows} that it was fed")


def _ran(progress: dict[str, Any]) -> bool:
    return "addBatch" in progress["durationMs"]


def _span(batch: dict[str, Any]) -> tuple[float, float]:
    begin = datetime.fromisoformat(batch["timestamp"]).timestamp()
    return begin, begin + float(batch["durationMs"]["triggerExecution"]) / 1000


def _time_in_turns(
    contest: Contest, spark: Any, scratch: Path, say: Callable[[str], None]
) -> list[tuple[Side, int, int, float]]:
    running = [_start(contest, side, spark, scratch) for side in (contest.spark, contest.muntin)]
    try:
        for number in range(contest.rounds):
            for engine in running:
                engine.turn(engine.side.load.files, timed=True)
                rate = engine.rows / engine.seconds
                say(f"{contest.case}: round {number + 1}, {engine.side.engine} {rate:,.0f} rows/s so far")
        for e in running:
            for line in account.lines(contest.case, e.side.engine, account.account(spark, e.query.runId, e.spans)):
                say(line)
        return [(e.side, e.rows, e.results, e.seconds) for e in running]
    finally:
        for engine in running:
            engine.query.stop()


def _start(contest: Contest, side: Side, spark: Any, scratch: Path) -> _Running:
    feeds = [Feed(scratch / f"{side.engine}{i}", side.load.size, i) for i in range(contest.streams)]
    for feed in feeds:
        feed.folder.mkdir(parents=True)
    result = side.build(spark, _sources(spark, feeds), scratch / f"state-{side.engine}")
    check = str(scratch / f"check-{side.engine}")
    # the engine that is not being timed looks for new files once a second, not all the time
    writer = result.writeStream.format("noop").option("checkpointLocation", check)
    query = writer.trigger(processingTime="1 second").start()
    running = _Running(side, feeds, query)
    running.turn(1, timed=False)
    running.turn(side.load.warm, timed=False)
    return running


def _records(contest: Contest, timings: Sequence[tuple[Side, int, int, float]], equal: bool) -> list[Record]:
    best = next(rows / seconds for side, rows, _, seconds in timings if side is contest.muntin)
    return [
        Record(
            contest.bench, contest.case, side.engine, rows, results, round(seconds, 2), round(rows / seconds, 1),
            round(best / (rows / seconds), 2), equal,
        )
        for side, rows, results, seconds in timings
    ]  # fmt: skip
