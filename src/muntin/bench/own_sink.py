"""Muntin with a sink of its own: results are made, counted and dropped on the workers, as Flink's black hole does it.

The answers that are compared come by the same way, into Parquet files that the workers write.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from muntin.bench.data import Feed
from muntin.bench.load import Load, Place
from muntin.bench.streaming import StreamTurns, sources

Query = Callable[[Any, Sequence[Any], Path], Any]
"""(spark, one streaming DataFrame a stream, scratch folder) -> the query, registered in a session."""


@dataclass(frozen=True)
class SessionSide:
    """An engine in a case. ``answer``: its result as expressions to be compared, the first the instant ``t``."""

    engine: str
    query: Query
    answer: tuple[str, ...]
    load: Load
    streams: int

    def answers(self, place: Place, files: int, size: int) -> Any:
        """The results for the first ``files`` of ``size`` rows of each stream."""
        feeds = self._feeds(place, "prefix", size)
        for feed in feeds:
            if not feed.folder.exists():
                feed.more(files)
        out = place.scratch / f"answers-{self.engine}"
        query = self.query(place.spark, sources(place.spark, feeds), place.scratch).write("parquet", str(out))
        query.start(f"{out}-check", "available_now").await_termination()
        return place.spark.read.parquet(str(out)).selectExpr(*self.answer)

    def start(self, place: Place) -> StreamTurns:
        """Its query is alive and has had its warm-up files."""
        feeds = self._feeds(place, self.engine, self.load.size)
        for feed in feeds:
            feed.folder.mkdir(parents=True)
        query = self.query(place.spark, sources(place.spark, feeds), place.scratch).write("blackhole")
        run = query.start(str(place.scratch / f"check-{self.engine}"), "1 second")
        turns = StreamTurns(self, place.spark, feeds, run.query, results_so_far=lambda: run.metrics().results)
        turns.feed(1, timed=False)
        turns.feed(self.load.warm, timed=False)
        return turns

    def close(self) -> None:
        """Nothing is kept outside the Spark session."""

    def _feeds(self, place: Place, name: str, size: int) -> list[Feed]:
        return [Feed(place.scratch / f"{name}{i}", size, i, keys=place.keys) for i in range(self.streams)]
