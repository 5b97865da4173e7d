"""Files, topics and tables as DataFrames: one thin function for batch and one for streaming reading.

Formats and options are Spark's own and pass through unchanged; what is added are the conveniences of a job file
(a schema where Spark demands one, a source's name) and errors in the words of Muntin.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from muntin.core.errors import ConfigError
from muntin.spark.control import sources_are_named

FILE_FORMATS = ("parquet", "orc", "json", "csv", "text", "avro", "xml")
"""Formats whose streaming reader wants the schema to be told."""

Options = Mapping[str, Any]


def read_batch(
    spark: SparkSession,
    format: str,
    path: str | None = None,
    schema: str | None = None,
    options: Options | None = None,
) -> DataFrame:
    """Everything that is in a source now.

    Args:
        spark: the session that reads.
        format: a Spark data source name; ``"table"`` reads the catalog table named by ``path``.
        path: file, directory, URL or table; None for sources that take options only.
        schema: column types in Spark's DDL; None lets Spark infer them.
        options: reader options, passed through.

    Raises:
        ConfigError: Spark refuses the source (no such path, format or option, a schema it cannot read).
    """
    try:
        if format == "table":
            return spark.read.options(**(options or {})).table(path or "")
        reader = spark.read.format(format).options(**(options or {}))
        if schema is not None:
            reader = reader.schema(schema)
        return reader.load(path)
    except (PySparkException, Py4JJavaError) as e:
        raise ConfigError(_refused("read", format, path, e)) from e


def read_stream(
    spark: SparkSession,
    format: str,
    path: str | None = None,
    schema: str | None = None,
    options: Options | None = None,
    name: str | None = None,
) -> DataFrame:
    """A streaming DataFrame over a source; arguments as for ``read_batch``.

    A file source without ``schema`` gets that of the files that are there now. ``name`` names the source in the
    checkpoint where the session has source evolution enabled, so that sources may be added or dropped at a restart.

    Raises:
        ConfigError: Spark refuses the source, or there is no file yet to take a schema from.
    """
    shape: str | StructType | None = schema
    if schema is None and format in FILE_FORMATS:
        shape = read_batch(spark, format, path, None, options).schema
    try:
        reader = spark.readStream.options(**(options or {}))
        if format != "table":
            reader = reader.format(format)
        if shape is not None:
            reader = reader.schema(shape)
        if name is not None and sources_are_named(spark):
            reader = reader.name(name)
        return reader.table(path or "") if format == "table" else reader.load(path)
    except (PySparkException, Py4JJavaError) as e:
        raise ConfigError(_refused("stream from", format, path, e)) from e


def _refused(verb: str, format: str, path: str | None, e: Exception) -> str:
    told = str(getattr(e, "java_exception", e)).strip()
    reason = told.splitlines()[0] if told else type(e).__name__
    if "TIMESTAMP(NANOS" in reason:
        reason += (
            ". These are nanoseconds: set spark.sql.legacy.parquet.nanosAsLong to true (conf under [session]), which "
            "makes BIGINT of them, and take a column timestamp_micros(ts div 1000) (columns of the stream) for time"
        )
    return f"Spark cannot {verb} {format}{f' {path!r}' if path else ''}: {reason}"
