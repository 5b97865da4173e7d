"""Updates of tables in the forms that other systems have: upserts by key, Debezium's events, Delta's change data feed.

Each becomes what ``tables.update_feed`` takes: a column of event time and one that says whether a row comes or goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from muntin.core.errors import ConfigError
from muntin.plan.catalog import free_name
from muntin.spark.feeds import quoted
from muntin.spark.tables import BAD_OP

FEEDS = ("upsert", "debezium", "delta")

COMES, GOES = "+", "-"


@dataclass(frozen=True)
class Updates:
    """``df`` with its columns ``ts`` and ``op``; ``ts_unit``: of an integer ``ts``. ``deletions_first``: those of one
    instant come before its insertions, whatever their order in the feed."""

    df: DataFrame
    ts: str | None
    op: str | None
    ts_unit: str | None
    deletions_first: bool = False


def updates_of(
    df: DataFrame, form: str | None, name: str, ts: str | None, op: str | None, ts_unit: str | None, key: Sequence[str]
) -> Updates:
    """The updates of table ``name`` in a form by name (None: as they are, with columns ``ts`` and ``op``).

    * ``"upsert"``: a row replaces that of its ``key``; one in which all columns but ``ts`` and ``key`` are NULL (a
      tombstone) takes it away. With ``op`` that column says which of the two it is.
    * ``"debezium"``: events with ``before``, ``after``, ``op`` and the time of the change, ``source.ts_ms`` (else
      ``ts_ms``); tombstones, which follow deletions, are left out.
    * ``"delta"``: rows of a change data feed, by ``_change_type``, at ``_commit_timestamp``. One commit is one instant,
      in which what goes goes first.

    Raises ConfigError for an unknown form, columns that it lacks, and a missing ``key``.
    """
    match form:
        case None:
            return Updates(df, ts, op, ts_unit)
        case "upsert":
            _needs_key(name, form, key, "a row replaces the one of its key")
            return _of_upserts(df, name, ts, op, ts_unit, key)
        case "debezium":
            _needs_key(name, form, key, "databases leave out what a row was before, but for its key")
            return _of_debezium(df, name, ts, op, ts_unit)
        case "delta":
            _needs(df, name, form, ("_change_type", "_commit_timestamp"), 'read the table with option "readChangeFeed"')
            return Updates(
                df.drop("_commit_version"), ts or "_commit_timestamp", op or "_change_type", ts_unit, True
            )
    raise ConfigError(f"table {name!r}: feed is one of {', '.join(FEEDS)}, not {form!r}")


def _needs_key(name: str, form: str, key: Sequence[str], why: str) -> None:
    if not key:
        told = "the columns that tell rows apart"
        raise ConfigError(f"table {name!r}: a feed of form {form} needs key=..., {told}: {why}")


def _needs(df: DataFrame, name: str, form: str, columns: Sequence[str], remedy: str) -> None:
    missing = [c for c in columns if c not in df.columns]
    if missing:
        raise ConfigError(
            f"table {name!r}: a feed of form {form} has a column {missing[0]!r}, this one has "
            f"{', '.join(df.columns)}; {remedy}"
        )


def _of_upserts(
    df: DataFrame, name: str, ts: str | None, op: str | None, ts_unit: str | None, key: Sequence[str]
) -> Updates:
    if op is not None:
        return Updates(df, ts, op, ts_unit)
    unknown = [k for k in key if k not in df.columns]
    if unknown:
        raise ConfigError(
            f"table {name!r}: there is no column {unknown[0]!r} to be part of the key; it has {', '.join(df.columns)}"
        )
    values = [F.col(quoted(c)) for c in df.columns if c not in (ts, *key)]
    own = free_name("op", df.columns)
    gone = reduce(lambda a, b: a & b, (v.isNull() for v in values)) if values else F.lit(False)
    return Updates(df.withColumn(own, _op(gone)), ts, own, ts_unit)


def _op(gone: Column) -> Column:
    return F.when(gone, F.lit(GOES)).otherwise(F.lit(COMES))


def _of_debezium(df: DataFrame, name: str, ts: str | None, op: str | None, ts_unit: str | None) -> Updates:
    how = "take it from the messages with from_json, or with decode in a job file"
    _needs(df, name, "debezium", ("before", "after", op or "op"), how)
    kinds = {f.name: f.dataType for f in df.schema.fields}
    if not isinstance(kinds["after"], T.StructType) or kinds["before"] != kinds["after"]:
        raise ConfigError(
            f"table {name!r}: before and after of a Debezium event are structs of the table's columns, both of one "
            f"type; here they are {kinds['before'].simpleString()} and {kinds['after'].simpleString()}"
        )
    what = F.col(quoted(op or "op"))
    df = df.withColumn(op or "op", _whole_events(what, name))
    if ts is not None:
        return Updates(df, ts, op or "op", ts_unit)
    source = kinds.get("source")
    inner = isinstance(source, T.StructType) and "ts_ms" in source.names
    if not inner:
        _needs(df, name, "debezium", ("ts_ms",), "or name the column of event time with ts=...")
    times = [F.col("source.ts_ms")] * inner + [F.col("ts_ms")] * ("ts_ms" in kinds)
    own = free_name("changed_at", df.columns)
    return Updates(df.withColumn(own, F.coalesce(*times)), own, op or "op", "ms")


def _whole_events(op: Column, name: str) -> Column:
    """The column ``op``; an event that does not say which row it is about stops the run: it would be lost."""
    gone, row = F.lower(op) == "d", F.lower(op).isin("c", "r", "u")
    lacks = (gone & F.col("before").isNull()) | (row & F.col("after").isNull())
    text = F.concat(
        F.lit(f"{BAD_OP}table {name!r}: a Debezium event of op '"), op,
        F.lit("' has no row (d: before, c, r, u: after). A deletion needs the row's key at least: let the database log "
              "it (PostgreSQL: REPLICA IDENTITY DEFAULT or FULL)"),
    )  # fmt: skip
    return F.when(lacks, F.raise_error(text).cast("string")).otherwise(op.cast("string"))


def debezium_struct(row: T.StructType) -> T.StructType:
    """Debezium's JSON for rows of these columns, with and without Kafka Connect's envelope (``payload``)."""
    source = T.StructType([T.StructField("ts_ms", T.LongType())])
    kinds = {"before": row, "after": row, "op": T.StringType(), "ts_ms": T.LongType(), "source": source}
    event = [T.StructField(n, k) for n, k in kinds.items()]
    return T.StructType([T.StructField("payload", T.StructType(event)), *event])


EVENT = {n: f"coalesce(payload.{n}, {n})" for n in ("before", "after", "op", "ts_ms", "source")}
"""The columns of an event, from what ``debezium_struct`` reads."""
