"""Archives and Spark: the sink of a live query that writes one, and a DataFrame over one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import fs
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from muntin.archive import Archive, Wanted, create, open_archive, snapshot
from muntin.archive.layout import layout_of
from muntin.archive.reader import place, versions
from muntin.archive.wanted import ANY, VALUE
from muntin.core.errors import ConfigError, InternalError
from muntin.cql.durations import parse_duration
from muntin.cql.scopes import did_you_mean
from muntin.dataflow.graph import QueryPlan
from muntin.plan.nodes import BoundQuery
from muntin.plan.patterns import Pattern, pattern
from muntin.spark import files
from muntin.spark.archive_tasks import KeptResults, updated_by_workers, written_by_workers
from muntin.spark.feeds import quoted
from muntin.spark.types import struct_of

if TYPE_CHECKING:
    from muntin.spark.sinks import ForeachBatch

OPTIONS = ("key", "every", "span", "retain", "layout", "order", "update", "block_rows", "keep")
"""Options of the sink: the search key; the update interval; the longest lifetime; how long a result is kept (else until
its expiry); see ``archive.layout`` and ``archive.manifest.Design`` for the rest."""

QUERY_ID = "sql.streaming.queryId"


@dataclass
class ArchiveWriter:
    """Writes the micro-batches of a query to an archive, each once: the archive remembers the last batch of each
    checkpoint. Workers write the files, of batches and of updates; the driver commits their names."""

    path: str
    plan: QueryPlan
    name: str
    options: Mapping[str, Any]
    archive: Archive | None = field(default=None, repr=False)

    @property
    def retain(self) -> int | None:
        """How long results are kept, in microseconds; None: until they expire."""
        given = self.options.get("retain")
        return None if given is None else parse_duration(str(given))

    @property
    def expiry(self) -> str:
        """The column that says until when a row lives."""
        if self.retain is None:
            return self.plan.result_schema.names[-1]
        taken = {n.lower() for n in self.plan.result_schema.names}
        return next(n for n in ("expires", "_expires", "__expires") if n not in taken)

    @property
    def schema(self) -> pa.Schema:
        """Columns of the archive: the query's, with the expiry."""
        found = self.plan.result_schema.to_arrow()
        if self.retain is not None:
            return found.append(pa.field(self.expiry, pa.timestamp("us", "UTC")))
        return pa.schema([f for f in found if f.name != self.plan.op_column])

    def __call__(self, df: DataFrame, batch_id: int) -> None:
        query = df.sparkSession.sparkContext.getLocalProperty(QUERY_ID)
        if not query:
            raise InternalError("a batch has no query id, without which an archive cannot tell what it has")
        self.archive = self.archive or self.opened()
        batch = (f"{query}/{self.name}", batch_id)
        if self.archive.has(batch):
            return
        kept = KeptResults(self.plan.time_column, self.plan.op_column, self.retain, self.expiry)
        segments = written_by_workers(df, self.archive, kept)
        self.archive.take(segments, updated_by_workers(df.sparkSession), batch=batch)

    def opened(self) -> Archive:
        """The archive, made if nothing is there. Raises ConfigError for one that holds something else."""
        path = files.absolute(self.path)
        if not versions(place(path)):
            return create(
                path, self.schema, key=self.key, time=self.plan.time_column, expiry=self.expiry, **self.design()
            )
        found = open_archive(path)
        d = found.design
        if d.schema != self.schema or (d.key, d.expiry) != (self.key, self.expiry):
            raise ConfigError(
                f"the archive at {self.path} holds {', '.join(d.schema.names)} by key {d.key}, and query {self.name!r} "
                f"gives {', '.join(self.schema.names)} by key {self.key}: name another directory"
            )
        return found

    @property
    def key(self) -> str:
        return str(self.options["key"])

    def design(self) -> dict[str, Any]:
        """The arguments of ``archive.create`` that options give."""
        o = self.options
        spans = {k: parse_duration(str(o[k])) for k in ("every", "span") if k in o}
        numbers = {k: int(o[k]) for k in ("block_rows", "keep") if k in o}
        layout = layout_of(
            str(o.get("layout", "2x2")), str(o.get("order", "round_robin")), str(o.get("update", "rebuild"))
        )
        return {"span": self.retain, **spans, **numbers, "layout": layout}


def archive_writer(
    path: str | None, bound: BoundQuery, plan: QueryPlan, name: str, options: Mapping[str, Any]
) -> ForeachBatch:
    """The sink ``archive`` of a query. Raises ConfigError for options that do not fit it, before anything runs."""
    what = f"query {name!r}: sink archive"
    odd = next((o for o in options if o not in OPTIONS), None)
    if odd is not None:
        raise ConfigError(f"{what} has no option {odd!r}.{did_you_mean(odd, OPTIONS)} They are {', '.join(OPTIONS)}")
    if not path:
        raise ConfigError(f"{what} needs a directory: write('archive', path=...)")
    missing = [o for o in ("key", "every") if o not in options]
    missing += ["span"] if "span" not in options and "retain" not in options else []
    if missing:
        raise ConfigError(f"{what} needs option {missing[0]!r}: key is the search column, every the update interval, "
                          "span the longest lifetime of a row")  # fmt: skip
    writer = ArchiveWriter(path, plan, name, options)
    if writer.retain is None and not plan.options.exp:
        raise ConfigError(
            f"{what}: its rows have no expiry. Give option retain, how long a result is kept, or register the query "
            "with exp=True, so that each row has its own"
        )
    if writer.retain is None and plan.shows_op and pattern(bound.root.input) is Pattern.STR:
        raise ConfigError(
            f"{what}: rows of this query may be taken back before they expire (its pattern is STR). Give option "
            "retain, which keeps all changes for so long, or write Istream(...)"
        )
    if writer.key not in writer.schema.names:
        raise ConfigError(f"{what}: key {writer.key!r} is no column; there are {', '.join(writer.schema.names)}")
    writer.design()
    return writer


def archive_frame(spark: SparkSession, path: str, wanted: Mapping[str, Any]) -> DataFrame:
    """Live rows of an archive as a DataFrame over the files, and row groups, that may have them."""
    found = snapshot(files.absolute(path))
    asked, design = found.wanted(**wanted), found.manifest.design
    system, _ = files.resolve(path)
    chosen = found.paths(asked)
    if not chosen:
        return spark.createDataFrame([], struct_of(design.schema))
    scheme = "" if isinstance(system, fs.LocalFileSystem) else path.split("://")[0] + "://"
    frame = spark.read.schema(struct_of(design.schema)).parquet(*(files.for_spark(scheme + p) for p in chosen))
    conditions = [_after(design.schema, design.expiry, ">", found.now if asked.as_of is None else asked.as_of)]
    if asked.since is not None:
        conditions.append(_after(design.schema, design.time, ">=", asked.since))
    if asked.until is not None:
        conditions.append(_after(design.schema, design.time, "<=", asked.until))
    for condition in [*conditions, *_of_key(design.key, asked, found.schema.field(design.key).type)]:
        frame = frame.where(condition)
    return frame


def _after(schema: pa.Schema, name: str, op: str, instant: int | None) -> Column:
    timestamp = pa.types.is_timestamp(schema.field(name).type)
    return F.expr(f"{quoted(name)} {op} " + (f"timestamp_micros({instant})" if timestamp else f"{instant}L"))


def _of_key(name: str, asked: Wanted, type: pa.DataType) -> list[Column]:
    column = F.col(quoted(name))
    if asked.key is not ANY and asked.kind != VALUE:
        return [column.eqNullSafe(F.lit(asked.key))]
    low, high = (None if e is None else e.as_py() for e in asked.bounds(type))
    found = [column >= F.lit(low)] if low is not None else []
    found += [column <= F.lit(high)] if high is not None else []
    if found and pa.types.is_floating(type):
        found.append(~F.isnan(column))
    return found


__all__ = ["OPTIONS", "ArchiveWriter", "archive_frame", "archive_writer"]
