"""Spark schemas and Arrow schemas, both ways."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as spark_types
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_type

from muntin.core.errors import ConfigError
from muntin.core.schema import Field, Schema


def check_names(df: DataFrame, owner: str) -> None:
    """Raises ConfigError for columns of equal names, or of names that Spark does not tell apart (``owner`` names the
    DataFrame)."""
    exact = str(df.sparkSession.conf.get("spark.sql.caseSensitive", "false")).lower() == "true"
    seen: dict[str, str] = {}
    for name in df.columns:
        other = seen.setdefault(name if exact else name.lower(), name)
        if other == name and df.columns.count(name) > 1:
            raise ConfigError(f"{owner}: column {name!r} is there more than once; rename one of them")
        if other != name:
            raise ConfigError(
                f"{owner}: the names of columns {other!r} and {name!r} differ in letter case alone; rename one of "
                "them, or let Spark tell them apart (spark.sql.caseSensitive)"
            )


def schema_of(struct: spark_types.StructType, owner: str) -> Schema:
    """The columns of a DataFrame as Arrow fields; timestamps are microseconds in UTC.

    Raises ConfigError for types that Arrow cannot carry (``owner`` names the DataFrame).
    """
    return Schema(tuple(Field(f.name, _arrow_type(f, owner)) for f in struct.fields))


def _arrow_type(field: spark_types.StructField, owner: str) -> pa.DataType:
    try:
        return carried_type(field.dataType)
    except Exception as e:
        raise ConfigError(
            f"{owner}: column {field.name!r} has type {field.dataType.simpleString()}, which cannot be carried; "
            "drop it or cast it before registering"
        ) from e


def carried_type(kind: spark_types.DataType) -> pa.DataType:
    """The Arrow type in which values of a Spark type travel; timestamps are in UTC.

    Releases from 4.2 on want to be told the zone; those before take UTC, and some have no such argument. Raises what
    Spark raises for a type that Arrow cannot carry.
    """
    return to_arrow_type(kind, **_zone_argument())


@cache
def _zone_argument() -> dict[str, Any]:
    return {"timezone": "UTC"} if "timezone" in inspect.signature(to_arrow_type).parameters else {}


def struct_of(schema: pa.Schema) -> spark_types.StructType:
    """The Spark schema of Arrow columns."""
    return from_arrow_schema(schema)


def arrow_type(given: pa.DataType | str | None, owner: str) -> pa.DataType | None:
    """An Arrow type, also from Spark's DDL (``"double"``, ``"array<bigint>"``). Raises ConfigError for neither."""
    if given is None or isinstance(given, pa.DataType):
        return given
    try:
        return carried_type(spark_types.DataType.fromDDL(given))
    except Exception as e:
        raise ConfigError(f'{owner!r}: {given!r} is not a type; write an Arrow type, or DDL as "double"') from e
