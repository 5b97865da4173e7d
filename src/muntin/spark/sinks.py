"""Where a query's rows go: one micro-batch at a time, idempotently where the format allows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from typing import Literal as OneOf

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from muntin.core.errors import ConfigError
from muntin.core.schema import Schema
from muntin.dataflow.graph import QueryPlan
from muntin.spark import files
from muntin.spark.feeds import quoted
from muntin.spark.outlets import Outlet, same_in_parquet
from muntin.spark.spec import PipelineSpec

FILE_FORMATS = frozenset({"parquet", "json", "csv", "orc"})
"""Formats written to ``<path>/batch=<id>`` with overwrite: a batch that is run again replaces what it wrote before."""

CODECS = {c: c for c in ("snappy", "gzip", "zstd", "none")} | {"uncompressed": "none"}
"""Spark's names of the compressions that the workers write, and Arrow's."""

TIMES = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss[.SSSSSS][XXXXX]",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss[.SSSSSS]",
}
"""How the formats that are text write instants, unless the options say otherwise: Spark's own default stops at
milliseconds, and rows of a change stream that lie closer together would become equal."""

ForeachBatch = Callable[[DataFrame, int], Any]


@dataclass(frozen=True)
class Sink:
    """Format, path, mode and options as Spark's writer takes them; ``memory``; ``blackhole`` (rows are counted by
    ``Query.metrics`` and dropped); or a function of (df, batch id).

    Exactly once: the file formats, ``memory``, and functions or formats that honour the batch id. Others get the rows
    of an unfinished batch again when it is repeated after a failure.

    ``encode``: rows become messages, ``value`` a JSON object of all columns and ``key`` the text of the column
    ``key`` (NULL without one), as Kafka takes them; a column ``topic`` says where each goes.
    """

    format: str = "memory"
    path: str | None = None
    mode: str = "append"
    options: Mapping[str, Any] = field(default_factory=dict)
    foreach_batch: ForeachBatch | None = None
    encode: OneOf["json"] | None = None
    key: str | None = None
    memory: dict[int, pa.Table] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.foreach_batch is None and self.format in FILE_FORMATS | {"table"} and not self.path:
            what = "a name, as path" if self.format == "table" else "a path"
            raise ConfigError(f"sink {self.format!r} needs {what}: write({self.format!r}, path=...)")

    def write(self, df: DataFrame, batch_id: int) -> None:
        """Write one micro-batch."""
        if self.encode is not None:
            df = as_messages(df, self.key)
        if self.foreach_batch is not None:
            self.foreach_batch(df, batch_id)
        elif self.format == "blackhole":
            df.write.format("noop").mode("overwrite").save()
        elif self.format == "memory":
            self.memory[batch_id] = df.toArrow()
        else:
            self._save(df, batch_id)

    def _save(self, df: DataFrame, batch_id: int) -> None:
        writer = df.write.options(**self._options())
        if self.format in FILE_FORMATS:
            assert self.path is not None
            writer.format(self.format).mode("overwrite").save(f"{self.path.rstrip('/')}/batch={batch_id}")
        elif self.format == "table":
            writer.mode(self.mode).saveAsTable(self.path or "")
        else:
            writer.format(self.format).mode(self.mode).save(self.path)

    def _options(self) -> dict[str, Any]:
        given = {key.lower() for key in self.options}
        times = TIMES if self.format in ("json", "csv") else {}
        return {**{k: v for k, v in times.items() if k.lower() not in given}, **self.options}

    def outlet(self, schema: pa.Schema, checkpoint: str, default: str) -> Outlet | None:
        """What the workers write themselves instead of Spark, for results of this schema; None where Spark must.

        They write Parquet with no option but ``compression`` on the file system that the checkpoint is on. ``default``:
        the file system that Spark takes paths without a scheme to.
        """
        if self.foreach_batch is not None:
            return None
        if self.format == "blackhole":
            return Outlet("blackhole")
        codec = CODECS.get(str(self.options.get("compression", "snappy")).lower())
        if self.format != "parquet" or set(self.options) - {"compression"} or codec is None or self.encode:
            return None
        if not same_in_parquet(schema):
            return None
        assert self.path is not None
        elsewhere = not files.scheme(self.path) and files.place(default)[0] != "file"
        if elsewhere or files.place(self.path) != files.place(checkpoint):
            return None
        return Outlet("parquet", files.absolute(self.path), codec)

    @property
    def keeps_rows(self) -> bool:
        """Whether ``rows`` can tell what was written."""
        return self.format == "memory" and self.foreach_batch is None

    @property
    def told(self) -> str:
        """The sink in words."""
        if self.foreach_batch is not None and self.format != "archive":
            return "a function"
        return f"{self.format} {self.path}" if self.path else self.format

    def rows(self) -> pa.Table | None:
        """What a ``memory`` sink holds, in the order of batches; None before the first one."""
        tables = [self.memory[b] for b in sorted(self.memory)]
        return pa.concat_tables(tables) if tables else None


    def all_since(self, begun: int, first: int) -> list[pa.Table] | None:
        """What a ``memory`` sink got in the batches from ``begun`` on; None where it lacks some of them. ``first``: the
        first batch of the present run."""
        batches = sorted(b for b in self.memory if b >= begun)
        if batches != list(range(begun, begun + len(batches))) or begun + len(batches) < first:
            return None
        return [self.memory[b] for b in batches]


def as_messages(df: DataFrame, key: str | None) -> DataFrame:
    """Rows as messages: ``key`` (text of a column) and ``value`` (a JSON object of all columns; what is NULL is there,
    as null; instants with microseconds)."""
    whole = F.struct(*(F.col(quoted(n)) for n in df.columns))
    value = F.to_json(whole, {"ignoreNullFields": "false", **TIMES})
    name = F.lit(None) if key is None else F.col(quoted(key))
    where = [F.col("topic")] if "topic" in df.columns else []
    return df.select(*where, name.cast("string").alias("key"), value.alias("value"))


def check_message(
    schema: Schema, format: str, options: Iterable[str], encode: str | None, key: str | None, what: str
) -> None:
    """Raises ConfigError for results of which no message can be made: an unknown ``encode``, a ``key`` that is no
    column, and results without ``value`` or a topic for Kafka; ``what``: whose sink."""
    if encode not in (None, "json"):
        raise ConfigError(f'{what}: encode is "json" (messages of one JSON object a row), not {encode!r}')
    if key is not None and encode is None:
        raise ConfigError(f'{what}: key names the column that messages are keyed by, and goes with encode="json"')
    if key is not None and schema.get(key) is None:
        raise ConfigError(f"{what}: there is no column {key!r} to key messages by; it has {', '.join(schema.names)}")
    if format.lower() == "kafka" and schema.get("topic") is None and "topic" not in {o.lower() for o in options}:
        raise ConfigError(f"{what}: Kafka wants to know where messages go: option topic, or a column of that name")
    if format.lower() == "kafka" and encode is None:
        value = schema.get("value")
        if value is None or not (pa.types.is_string(value.type) or pa.types.is_binary(value.type)):
            raise ConfigError(
                f"{what}: Kafka takes a column value of text or bytes, and the results have {', '.join(schema.names)}: "
                'give encode="json" (and key=...: the column of their key)'
            )


def paths_apart(sinks: Mapping[str, Sink]) -> None:
    """Raises ConfigError when two queries would write over each other's files."""
    taken: dict[str, str] = {}
    for name, sink in sinks.items():
        function = sink.foreach_batch is not None and sink.format != "archive"
        if sink.format not in FILE_FORMATS | {"archive"} or sink.path is None or function:
            continue
        other = taken.setdefault(files.absolute(sink.path), name)
        if other != name:
            raise ConfigError(f"queries {other} and {name} both write {sink.path}; give each a path of its own")


def share_out(
    spec: PipelineSpec, sinks: Mapping[str, Sink], queries: Mapping[str, QueryPlan], checkpoint: str, default: str
) -> tuple[PipelineSpec, dict[str, Sink]]:
    """The pipeline with what its workers write, query by query, and the sinks left to Spark (see ``Sink.outlet``)."""
    outlets: list[list[Outlet]] = [[] for _ in spec.queries]
    by_spark: dict[str, Sink] = {}
    for name, sink in sinks.items():
        query = queries[name]
        outlet = sink.outlet(query.result_schema.to_arrow(), checkpoint, default)
        if outlet is None:
            by_spark[name] = sink
        else:
            outlets[spec.signatures.index(query.signature)].append(outlet)
    sent = frozenset(spec.signatures.index(queries[n].signature) for n in by_spark)
    return replace(spec, outlets=tuple(map(tuple, outlets)), sent=sent), by_spark
