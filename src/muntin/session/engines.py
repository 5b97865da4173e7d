"""Other engines that answer one-time queries: DuckDB in this process, or Spark, over Arrow tables of what is held."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any
from typing import Literal as OneOf

import pyarrow as pa

from muntin.core.errors import ConfigError, QueryError

Engine = OneOf["muntin", "duckdb", "spark"]
"""Who answers a one-time query, and whose SQL it is."""

Answer = Callable[[str, Mapping[str, pa.Table]], pa.Table]
"""The answer to a text over tables by name."""


def by_duckdb(text: str, tables: Mapping[str, pa.Table]) -> pa.Table:
    """By DuckDB, whose SQL the text is. Raises ConfigError where it is not there, QueryError for what it refuses."""
    try:
        import duckdb
    except ImportError as e:
        raise ConfigError('engine "duckdb" needs DuckDB: pip install "muntin[sql]"') from e
    with duckdb.connect() as connection:
        connection.execute("SET python_enable_replacements = false")  # a name is a table of these, never a variable
        for name, table in tables.items():
            connection.register(name, table)
        try:
            return connection.sql(text).to_arrow_table()
        except duckdb.Error as e:
            raise QueryError(f"DuckDB: {e}") from e


def by_spark(spark: Any) -> Answer:
    """By a Spark session, whose SQL the text is; the tables are views of it for as long as it takes."""

    def answer(text: str, tables: Mapping[str, pa.Table]) -> pa.Table:
        views = {name: f"muntin_{uuid.uuid4().hex}" for name in tables}
        try:
            for name, table in tables.items():
                spark.createDataFrame(table).createOrReplaceTempView(views[name])
                text = text.replace(f"`{name}`", f"`{views[name]}`")
            return spark.sql(text).toArrow()
        except Exception as e:
            if type(e).__module__.startswith("pyspark."):
                raise QueryError(f"Spark: {e}") from e
            raise
        finally:
            for view in views.values():
                spark.catalog.dropTempView(view)

    return answer


def quoting(engine: Engine) -> Callable[[str], str]:
    """How an engine quotes a name."""
    mark = '"' if engine == "duckdb" else "`"
    return lambda name: f"{mark}{name}{mark}"
