"""Runs a case on Spark: replayed where it ends with its input, else live, with heartbeats in the place of an end."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from muntin.plan.catalog import Stream
from muntin.session import Query, Session, local_spark
from muntin.spark.sources import read_batch, read_stream
from muntin.verify.arrow import from_table, to_table
from muntin.verify.runner import Job, Outcome, table_feeds


@dataclass
class SparkRunner:
    """A runner over one SparkSession; every case gets its own session, files and checkpoint below ``scratch``."""

    spark: Any
    scratch: Path
    shards: int = 4
    numbers: Iterator[int] = field(default_factory=count)

    def __call__(self, job: Job) -> Outcome:
        where = self.scratch / f"case{next(self.numbers)}"
        session = Session(self.spark, self.shards)
        session.catalog = job.catalog
        query = Query(session, "case", job.bind())
        streams = query.physical.streams
        feeds = table_feeds(streams, job)
        for stream in streams:
            _put(where, stream, feeds.get(stream.name) or to_table(stream, job.rows.get(stream.name, ())), "0")
        live = job.until is not None or bool(job.late)
        for stream in streams:
            path = str(where / stream.name)
            read = read_stream if live and not stream.static else read_batch
            session.frames[stream.name] = read(self.spark, "parquet", path)
        table = self._live(job, query, streams, where) if live else query.to_df().toArrow()
        physical = query.physical
        return Outcome(physical.schema.names, from_table(table, physical.schema, physical.shows_op))

    def _live(self, job: Job, query: Query, streams: Sequence[Stream], where: Path) -> pa.Table:
        run = query.write("memory").start(str(where / "checkpoint"))
        try:
            run.process_all_available()
            if job.late and job.complete is not None:
                run.heartbeat(job.complete + 1)
                run.process_all_available()
                for stream in streams:
                    _put(where, stream, to_table(stream, job.late.get(stream.name, ())), "1")
                run.process_all_available()
            # a live stream has no end: where none is given, the instant after what was complete is the last
            end = job.until if job.until is not None else (job.complete or 0) + 1
            run.heartbeat(end + 1)
            run.process_all_available()
        finally:
            run.stop()
        return query.rows()


def _put(where: Path, stream: Stream, rows: pa.Table, name: str) -> None:
    directory = where / stream.name
    directory.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, directory / f"{name}.parquet")


@contextmanager
def spark_runner(spark: Any = None) -> Iterator[SparkRunner]:
    """A runner over ``spark``, by default an embedded one, which ends with the context."""
    spark = spark if spark is not None else local_spark()
    with tempfile.TemporaryDirectory(prefix="muntin-verify-") as scratch:
        try:
            yield SparkRunner(spark, Path(scratch))
        finally:
            spark.stop()
