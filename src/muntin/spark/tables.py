"""Tables: DataFrames of updates as feeds, and static tables as files that a live pipeline's workers read once.

Spark refuses a union of batch and streaming DataFrames, so a live pipeline takes its static tables from files, written
when it starts. A vertex takes up its shard's rows in the first batch in which it runs.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from muntin.core.errors import ConfigError, StoreError
from muntin.core.time import ALWAYS
from muntin.dataflow.routes import Route, route
from muntin.engine.source import arrive, ship
from muntin.operators.source import Source
from muntin.operators.time_window import StaticRows
from muntin.plan.catalog import Stream, free_name
from muntin.spark import files
from muntin.spark.feeds import quoted
from muntin.spark.late_output import source_row
from muntin.spark.level_run import LevelRun
from muntin.spark.spec import PipelineSpec
from muntin.spark.times import ready_event_time
from muntin.state.shard_state import ShardState

TABLE_BYTES = 256 << 20
"""Largest static table of a live pipeline: the driver collects it, and every task reads it once."""

INSERTS = ("+", "i", "insert", "c", "r", "create", "read", "update_postimage")
DELETES = ("-", "d", "delete", "update_preimage")

BAD_OP = "muntin.core.errors.DataError: "
"""How an error that an expression raises for us begins: ``failures.unwrapped`` makes a DataError of it."""


@dataclass(frozen=True)
class TableFrame:
    """A table's feed: ``columns`` of the table, then when a row comes or goes, and which of the two; ``row``: an update
    as it came (None: of a static table)."""

    df: DataFrame
    columns: tuple[str, ...]
    row: Column | None = None

    @staticmethod
    def of(rows: DataFrame, columns: Mapping[str, Column], at: Column, add: Column, row: Column | None) -> TableFrame:
        """The feed, its own columns under names that the table does not have (as ``Table.feed`` names them)."""
        names = [free_name(n, columns) for n in ("__at", "__add", "__row")]
        own = dict(zip(names, [at, add] if row is None else [at, add, row], strict=False))
        chosen = rows.select(*(c.alias(n) for n, c in {**columns, **own}.items()))
        return TableFrame(chosen, tuple(columns), None if row is None else F.col(quoted(names[2])))

    @property
    def schema(self) -> T.StructType:
        """Of the table."""
        return T.StructType([self.df.schema[n] for n in self.columns])


def static_feed(df: DataFrame, name: str) -> TableFrame:
    """A static table as its feed: every row added before any event time. Raises ConfigError for a stream."""
    if df.isStreaming:
        raise ConfigError(
            f"table {name!r}: a static table is a batch DataFrame, this one is streaming; read it with spark.read, or "
            'give kind="relation" or "nrr" with ts=... and op=...'
        )
    columns = {c: F.col(quoted(c)) for c in df.columns}
    return TableFrame.of(df, columns, F.lit(ALWAYS).cast("bigint"), F.lit(True), None)


def update_feed(df: DataFrame, name: str, ts: str | None, op: str | None, unit: int | None) -> TableFrame:
    """Updates as a table's feed; ``unit``: microseconds that an integer ``ts`` counts.

    Every row adds a row to the table or takes an equal one away, as ``op`` says: ``INSERTS`` or ``DELETES``, in any
    case. A Debezium envelope (columns ``before`` and ``after`` of one struct type, ``op`` c, r, u, d) gives one or two.
    Raises ConfigError for columns that are missing or of a wrong type.
    """
    if ts is None or op is None:
        missing = " and ".join(f"{n}=..." for n, given in (("ts", ts), ("op", op)) if given is None)
        raise ConfigError(
            f"table {name!r}: a table that changes needs {missing}: the column of event time, and the column that says "
            "whether a row comes ('+') or goes ('-')"
        )
    ready = ready_event_time(df, ts, None if unit is None else "given", name, "table")
    if op not in df.columns:
        raise ConfigError(
            f"table {name!r}: there is no column {op!r} that says whether a row comes or goes; it has "
            f"{', '.join(df.columns)}. Give op=..."
        )
    at, row = _event_time(ready, ts, unit or 1), source_row(df.schema, ts)
    if _is_envelope(df):
        return _from_envelope(ready, name, op, at, row)
    add = _add(F.lower(F.trim(F.col(quoted(op)).cast("string"))), name, "")
    columns = {c: F.col(quoted(c)) for c in df.columns if c not in (ts, op)}
    return TableFrame.of(ready, columns, at, add, row)


def _event_time(df: DataFrame, ts: str, unit: int) -> Column:
    """A timestamp, or integers in microseconds (NULL where that overflows)."""
    column = F.col(quoted(ts))
    if isinstance(df.schema[ts].dataType, T.TimestampType | T.TimestampNTZType):
        return column
    return F.try_multiply(column.cast("bigint"), F.lit(unit).cast("bigint"))


def _add(op: Column, name: str, more: str) -> Column:
    known = f"+ or - (also {', '.join(INSERTS[1:] + DELETES[1:])}){more}"
    text = F.concat(
        F.lit(f"{BAD_OP}table {name!r}: unknown op "), F.coalesce(F.concat(F.lit("'"), op, F.lit("'")), F.lit("NULL")),
        F.lit(f" in its updates; an update is {known}. An update in place is a - row with the old values and a + row "
              "with the new ones"),
    )  # fmt: skip
    return (
        F.when(op.isin(*INSERTS), F.lit(True))
        .when(op.isin(*DELETES), F.lit(False))
        .otherwise(F.raise_error(text).cast("boolean"))
    )


def _is_envelope(df: DataFrame) -> bool:
    kinds = {f.name: f.dataType for f in df.schema.fields}
    before, after = kinds.get("before"), kinds.get("after")
    return isinstance(after, T.StructType) and before == after


def _from_envelope(df: DataFrame, name: str, op: str, at: Column, row: Column) -> TableFrame:
    """What left, then what came, of each change event; tombstones, in which all is NULL, are none."""
    what = F.lower(F.trim(F.col(quoted(op)).cast("string")))
    known = F.when(what == "u", F.lit(True)).otherwise(_add(what, name, ", u"))
    gone = F.struct(F.col("before").alias("row"), F.lit(False).alias("add"))
    come = F.struct(F.col("after").alias("row"), F.lit(True).alias("add"))
    both = F.filter(F.array(gone, come), lambda x: known.isNotNull() & x["row"].isNotNull())
    df = df.where(F.col(quoted(op)).isNotNull() | F.col("before").isNotNull() | F.col("after").isNotNull())
    split_up = df.select(at.alias("at"), row.alias("came"), F.explode(both).alias("change"))
    fields = df.schema["after"].dataType.fields  # type: ignore[attr-defined]
    columns = {f.name: F.col(f"change.row.{quoted(f.name)}") for f in fields}
    return TableFrame.of(split_up, columns, F.col("at"), F.col("change.add"), F.col("came"))


def write_tables(spec: PipelineSpec, frames: Mapping[str, DataFrame]) -> None:
    """Collect the static tables of a live pipeline and write a file each. Raises ConfigError for one that is too
    large."""
    assert spec.tables is not None
    names = sorted({s.name for q in spec.queries for s in q.streams if s.static})
    if names:
        files.make_dirs(spec.tables)
    for name in names:
        table = frames[name].toArrow()
        if table.nbytes > TABLE_BYTES:
            raise ConfigError(
                f"table {name!r} holds {table.nbytes >> 20} MiB, a static table of a live pipeline at most "
                f"{TABLE_BYTES >> 20} MiB; leave out columns or rows that no query needs, or stream it as "
                'kind="relation"'
            )
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        files.write_atomically(files.join(spec.tables, file_of(name)), sink.getvalue().to_pybytes())


def file_of(name: str) -> str:
    """A table's file: names may hold what no file name does, be too long for one, or differ in their case alone."""
    readable = re.sub(r"[^a-z0-9]+", "_", name.lower())[:40]
    return f"{readable}-{hashlib.sha256(name.encode()).hexdigest()[:16]}.arrow"


@dataclass
class StaticTables:
    """The static tables as one task sees them: read when a vertex that is new wants one."""

    spec: PipelineSpec
    sent: dict[tuple[int, Route], dict[int, pa.RecordBatch]] = field(default_factory=dict)

    def seeded(
        self, run: LevelRun, states: Mapping[int, ShardState], came: dict[tuple[int, Route], pa.RecordBatch]
    ) -> dict[tuple[int, Route], pa.RecordBatch]:
        """What arrived, with the static tables' rows of this shard in the first batch in which a vertex reads them."""
        for v in run.vertices:
            vertex = self.spec.graph.vertices[v]
            if isinstance(vertex.op, StaticRows) and not states[v].heads.get("seeded"):
                states[v].heads["seeded"] = True
                (edge,) = vertex.inputs
                rows = self._rows(edge.vertex, edge.route).get(run.shard)
                if rows is not None:
                    came = {**came, (edge.vertex, edge.route): rows}
        return came

    def _rows(self, source: int, way: Route) -> dict[int, pa.RecordBatch]:
        if (source, way) not in self.sent:
            op = self.spec.graph.vertices[source].op
            assert isinstance(op, Source)
            rows = ship(op, arrive(op.stream, self._read(op.stream), 0))
            self.sent[source, way] = dict(route(rows, way, self.spec.shards, 0))
        return self.sent[source, way]

    def _read(self, stream: Stream) -> pa.RecordBatch:
        assert self.spec.tables is not None
        path = files.join(self.spec.tables, file_of(stream.name))
        raw = files.read(path)
        if raw is None:
            raise ConfigError(f"table {stream.name!r}: {path} is gone; start the pipeline again")
        try:
            whole_table = pa.ipc.open_stream(raw).read_all()
        except pa.ArrowInvalid as e:
            raise StoreError(f"table {stream.name!r}: {path} is damaged ({e}); a new start writes it anew") from e
        table = whole_table.select(list(stream.schema.names)).cast(stream.schema.to_arrow())
        whole = table.combine_chunks().to_batches()
        return whole[0] if whole else pa.RecordBatch.from_pylist([], schema=table.schema)
