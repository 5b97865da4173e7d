"""The late output: rows that came too late, whole, as the source gave them.

The packers pick them out (``spark.late``). While there is a late output the JVM hands them every column of the streams;
those of rows that are in time go no further.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from muntin.engine.late import readers_of
from muntin.spark import wire
from muntin.spark.feeds import quoted
from muntin.spark.late import ROW, late_schema
from muntin.spark.pack import Task
from muntin.spark.spec import LateFeed, PipelineSpec
from muntin.spark.types import carried_type, struct_of

_AS_TEXT = {
    "ignoreNullFields": "false",
    "timeZone": "UTC",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss[.SSSSSS][XXX]",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss[.SSSSSS]",
}
"""``from_json(row, schema of the stream)`` gives the row back."""


def source_row(schema: T.StructType, ts: str) -> Column:
    """A row of ``schema`` as it came, of what is registered for it: there a date as event time has become midnight."""
    columns = []
    for f in schema.fields:
        value = F.col(quoted(f.name))
        if f.name == ts and isinstance(f.dataType, T.DateType):
            value = F.date_from_unix_date((F.unix_micros(value) / 86_400_000_000).cast("int"))
        columns.append(value.alias(f.name))
    return F.struct(*columns)


def with_late(
    spec: PipelineSpec, frames: Mapping[str, DataFrame], rows: Mapping[str, Column]
) -> PipelineSpec:
    """The pipeline with an output of late rows; ``rows``: by stream a row as it came."""
    feeds = []
    for position, stream in enumerate(spec.streams):
        if readers_of(spec.graph, stream.name):
            kind = frames[stream.name].select(rows[stream.name].alias(ROW)).schema[ROW].dataType
            feeds.append(LateFeed(position, carried_type(kind)))
    return replace(spec, late=tuple(feeds))


def late_frame(letters: DataFrame, spec: PipelineSpec) -> DataFrame:
    """The late rows of a batch: ``stream``, ``ts``, ``late_us``, ``queries`` and ``row`` (JSON)."""
    parts = []
    for feed in spec.late:
        schema = late_schema(feed.row)
        sent = letters.where(f"kind = {wire.LATE} AND source = {feed.stream}").mapInArrow(
            unpacker(schema), struct_of(schema)
        )
        name = F.lit(spec.streams[feed.stream].name).alias("stream")
        parts.append(sent.select(name, "ts", "late_us", "queries", F.to_json("row", _AS_TEXT).alias("row")))
    return reduce(DataFrame.unionAll, parts)


def unpacker(schema: pa.Schema) -> Task:
    """The function for ``mapInArrow`` that turns letters back into rows of ``schema``."""

    def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for letter in wire.from_batches(batches):
            yield wire.decode(letter.blob, schema)

    return unpack
