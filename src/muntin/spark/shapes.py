"""Sources put into shape before they are registered: messages taken apart, columns derived.

What a job file says in words of its own (``decode``, ``columns``), over any DataFrame, streaming or batch; in Python
the DataFrame's own methods do the same.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from muntin.core.errors import ConfigError
from muntin.plan.catalog import free_name
from muntin.spark.change_feeds import EVENT, debezium_struct
from muntin.spark.feeds import quoted

MESSAGE = "value"
"""The column of a message's body, as Kafka, the text format and sockets call it."""

READ, GONE, BAD = "read", "gone", "bad"
"""What came of a message: a row; nothing, since its value is NULL; nothing, since it is no JSON of the schema."""

BINARY = ("key",)
"""Columns of a message that come as bytes and are read as text."""


@dataclass(frozen=True)
class Shape:
    """``schema``: of the JSON in column ``value``, in Spark's DDL (None: messages are left as they are). ``columns``:
    further columns by name, expressions of Spark's over those before them."""

    schema: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)


def shaped(df: DataFrame, shape: Shape, ts: str | None, owner: str) -> DataFrame:
    """The source as it is registered.

    A message of which ``value`` is NULL or no JSON of that schema has no row: its ``ts`` becomes NULL, so that it is
    counted and dropped, or stops the run, as any row without event time. Columns of the message whose name the schema
    has too are called ``message_NAME``; ``key`` is read as text.

    Raises ConfigError for a schema and expressions that Spark refuses; ``owner`` names the source.
    """
    if shape.schema is None:
        return derived(df, shape.columns, owner)
    opened, found = _opened(df, struct_of_text(shape.schema, owner), owner)
    whole = derived(opened, shape.columns, owner)
    return _timed(whole, ts, F.col(found) == READ).drop(found)


def shaped_table(
    df: DataFrame, shape: Shape, feed: str | None, ts: str | None, op: str | None, key: Collection[str], owner: str
) -> tuple[DataFrame, str | None]:
    """As ``shaped``, for a table; and its column ``op``.

    Of messages it has the columns of the schema, those of ``columns``, and those that ``ts``, ``op`` and ``key`` name.
    A message without ``value`` is a deletion where ``feed`` is ``"upsert"``; after Debezium's it is left out.
    """
    if shape.schema is None:
        return derived(df, shape.columns, owner), op
    wanted = struct_of_text(shape.schema, owner)
    more = dict(shape.columns)
    if feed == "debezium":
        df, wanted, more = df.where(F.col(MESSAGE).isNotNull()), debezium_struct(wanted), {**EVENT, **more}
    opened, found = _opened(df, wanted, owner)
    whole = derived(opened, more, owner)
    good = F.col(found) == READ
    if feed == "debezium":
        whole = _counted(whole, ~good)
    names = [n for n in whole.columns if n in {*wanted.names, *more, ts, op, *key} and n != "payload"]
    if feed == "upsert" and op is None:
        op = free_name("op", whole.columns)
        whole = whole.withColumn(op, F.when(F.col(found) == GONE, F.lit("-")).otherwise(F.lit("+")))
        good, names = F.col(found) != BAD, [*names, op]
    return _timed(whole, ts, good).select(*(F.col(quoted(n)) for n in names)), op


def _counted(events: DataFrame, bad: Column) -> DataFrame:
    """Events of which the bad ones are rows without time and values, since one without a row would not be counted."""
    row = events.schema["after"].dataType
    assert isinstance(row, T.StructType)
    empty = F.struct(*(F.lit(None).cast(f.dataType).alias(f.name) for f in row.fields))
    instead = {"after": empty, "op": F.lit("c")}
    given = {n: F.when(bad, instead.get(n, F.lit(None))).otherwise(F.col(n)) for n in EVENT}
    return events.withColumns(given)


def _timed(df: DataFrame, ts: str | None, good: Column) -> DataFrame:
    """The event time of rows that are good alone."""
    if ts is None or ts not in df.columns:
        return df
    return df.withColumn(ts, F.when(good, F.col(quoted(ts))))


def derived(df: DataFrame, columns: Mapping[str, str], owner: str) -> DataFrame:
    """The DataFrame with more columns; one of an equal name is replaced. Raises ConfigError with the key's name."""
    for name, text in columns.items():
        try:
            df = df.withColumn(name, F.expr(text))
        except PySparkException as e:
            raise ConfigError(
                f"{owner}, key columns.{name}: Spark does not take {text!r} over {', '.join(df.columns)}: {_reason(e)}"
            ) from None
    return df


def _opened(df: DataFrame, wanted: T.StructType, owner: str) -> tuple[DataFrame, str]:
    """Messages taken apart, and the name of a further column that says what came of it: READ, GONE or BAD."""
    kinds = {f.name: f.dataType for f in df.schema.fields}
    if not isinstance(kinds.get(MESSAGE), T.BinaryType | T.StringType):
        raise ConfigError(
            f"{owner}, key decode: messages are in a column {MESSAGE!r} of bytes or text, as formats kafka, text and "
            f"socket have it; this source has {', '.join(f'{n} {k.simpleString()}' for n, k in kinds.items())}"
        )
    bad = free_name("unreadable", wanted.names)
    readable = T.StructType([*wanted.fields, T.StructField(bad, T.StringType())])
    body = F.from_json(F.col(MESSAGE).cast("string"), readable, {"columnNameOfCorruptRecord": bad})
    names = {f.name.lower() for f in wanted.fields}
    others = {n: _told(n, names) for n in kinds if n != MESSAGE}
    opened, found = (free_name(n, [*wanted.names, *others.values()]) for n in ("opened", "found"))
    kept = [_as_text(n, kinds[n]).alias(own) for n, own in others.items()]
    fields = [F.col(f"{opened}.{quoted(f.name)}").alias(f.name) for f in wanted.fields]
    read = F.col(opened).isNotNull() & F.col(f"{opened}.{bad}").isNull()
    state = F.when(F.col(MESSAGE).isNull(), GONE).when(read, READ).otherwise(BAD)
    return df.withColumn(opened, body).select(*kept, *fields, state.alias(found)), found


def struct_of_text(schema: str, owner: str) -> T.StructType:
    """Columns in Spark's DDL. Raises ConfigError for what Spark refuses, and for a type that is no list of columns."""
    try:
        found = T.StructType.fromDDL(schema)
    except PySparkException as e:
        raise ConfigError(f"{owner}, key schema: Spark does not take {schema!r}: {_reason(e)}") from None
    if not isinstance(found, T.StructType):
        raise ConfigError(f"{owner}, key schema: {schema!r} is one type; write columns, as in 'user STRING, n BIGINT'")
    return found


def _told(name: str, decoded: Collection[str]) -> str:
    return f"message_{name}" if name.lower() in decoded else name


def _as_text(name: str, kind: T.DataType) -> Column:
    column = F.col(quoted(name))
    return column.cast("string") if name in BINARY and isinstance(kind, T.BinaryType) else column


def _reason(e: Exception) -> str:
    text = str(e).strip()
    return text.splitlines()[0] if text else type(e).__name__
