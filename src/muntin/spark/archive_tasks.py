"""What workers do for an archive: they write the results of a batch, and the sub-indices that an update changes.

Files get names of their own, so a task that runs twice leaves a file that nobody names, which the next writer to open
the archive sweeps. What comes to the driver are directories: names of files, bounds and counts of their blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from muntin.archive import Archive
from muntin.archive.manifest import Design
from muntin.archive.parts import Part, Run, do_part
from muntin.archive.segments import Files
from muntin.archive.update import Changes
from muntin.archive.writer import Segment, segment

SEGMENT_ROWS = 1 << 20
"""Rows of a worker's file at most, but for the last batch of them."""

_DDL = "directory BINARY, rows BIGINT, expired BIGINT, newest BIGINT"
_SCHEMA = pa.schema(
    [("directory", pa.binary()), ("rows", pa.int64()), ("expired", pa.int64()), ("newest", pa.int64())]
)


@dataclass(frozen=True)
class KeptResults:
    """How results become rows of an archive. ``time``, ``op``: their columns; ``retain``: microseconds that they are
    kept from their time on, which makes the column ``expiry`` (None: they have one)."""

    time: str
    op: str | None
    retain: int | None
    expiry: str

    def rows(self, results: pa.Table) -> pa.Table:
        """Results as the archive keeps them."""
        if self.retain is not None:
            until = pc.add(results.column(self.time).cast(pa.timestamp("us", "UTC")), np.timedelta64(self.retain, "us"))
            return results.append_column(self.expiry, until)
        if self.op is None:
            return results
        chosen = results.filter(pc.equal(results.column(self.op), "+"))  # the others leave at their expiry
        return chosen.drop_columns([self.op])


def written_by_workers(results: DataFrame, archive: Archive, kept: KeptResults) -> list[Segment]:
    """Results in files of the archive that no version names yet. Raises what writing raises, by Spark's exception."""
    place, design, now = archive.files, archive.design, archive.manifest.now

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for part in _parts(batches):
            yield _as_row(segment(place, design, kept.rows(part), now))

    found = results.mapInArrow(write, _DDL).toArrow().to_pylist()
    return [Segment(_directory(f["directory"]), f["rows"], f["expired"], f["newest"]) for f in found]


def updated_by_workers(spark: SparkSession) -> Run:
    """Does the parts of an update as tasks, one each."""

    def run(place: Files, design: Design, parts: Sequence[Part]) -> list[Changes]:
        tasks = spark.sparkContext.parallelize(parts, max(len(parts), 1))
        return tasks.map(lambda part: do_part(place, design, part)).collect()

    return run


def _parts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
            rows += batch.num_rows
        if rows >= SEGMENT_ROWS:
            yield pa.Table.from_batches(held)
            held, rows = [], 0
    if held:
        yield pa.Table.from_batches(held)


def _as_row(written: Segment) -> pa.RecordBatch:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, written.directory.schema) as stream:
        stream.write_table(written.directory)
    values = (sink.getvalue().to_pybytes(), written.rows, written.expired, written.newest)
    return pa.RecordBatch.from_pylist([dict(zip(_SCHEMA.names, values, strict=True))], schema=_SCHEMA)


def _directory(data: bytes) -> pa.Table:
    return pa.ipc.open_stream(data).read_all()
