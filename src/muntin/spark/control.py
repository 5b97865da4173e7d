"""The control source: files in ``<store>/control`` that move time where no data comes.

It is part of the union; a file put there makes a batch and carries a heartbeat: event time known to be complete.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamReader

from muntin.core.time import NEVER
from muntin.core.watermark import Header
from muntin.spark import files, wire
from muntin.spark.feeds import BATCH_TIME
from muntin.spark.pack import NOW, Task, headers_to_all, task_time
from muntin.spark.spec import PipelineSpec

_EVOLUTION = "spark.sql.streaming.queryEvolution.enableSourceEvolution"

PARTITION = -1
"""The partition number in headers of the control source."""


def sources_are_named(spark: SparkSession) -> bool:
    """Whether Spark tells the sources of a checkpoint by name; every source must then have one. Spark before 4.2 never
    does."""
    return hasattr(DataStreamReader, "name") and str(spark.conf.get(_EVOLUTION, "false")).lower() == "true"


def control_path(store: str) -> str:
    """The directory of the control source."""
    return files.join(store, "control")


def control_letters(spark: SparkSession, spec: PipelineSpec) -> DataFrame:
    """Letters of the control source: one partition where it has something new, else one or (Spark's optimizer) none."""
    assert spec.store is not None
    path = control_path(spec.store)
    files.make_dirs(path)
    reader = spark.readStream.format("text").schema("value STRING")
    if sources_are_named(spark):
        reader = reader.name("muntin_control")
    lines = reader.load(files.for_spark(path))
    now = [f"{BATCH_TIME} AS {NOW}"] if spec.timed else []
    beats = lines.selectExpr("value", *now).coalesce(1)
    return beats.mapInArrow(_beats(spec), wire.LETTERS_DDL)


def _beats(spec: PipelineSpec) -> Task:
    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        beats: dict[str, int] = {}
        now = task_time(spec)
        for batch in batches:
            if spec.timed and batch.num_rows:
                now = batch.column(NOW)[0].as_py()
            for line in batch.column("value").to_pylist():
                for name, ts in json.loads(line).items():
                    beats[name] = max(ts, beats.get(name, ts))
        return wire.to_batches(_headers(spec, beats, now))

    return pack


def _headers(spec: PipelineSpec, beats: Mapping[str, int], now: int) -> Iterator[wire.Letter]:
    for position, stream in enumerate(spec.streams):
        beat = beats.get(stream.name, NEVER)
        yield from headers_to_all(spec, Header(position, PARTITION, 0, heartbeat=beat), now)


def send_heartbeat(store: str, beats: Mapping[str, int]) -> None:
    """Declare event time (microseconds) complete for streams, by name; the next batch takes it up."""
    path = control_path(store)
    files.make_dirs(path)
    files.write_atomically(files.join(path, f"{uuid.uuid4().hex}.json"), json.dumps(dict(beats)).encode() + b"\n")
