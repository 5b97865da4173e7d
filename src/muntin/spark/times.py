"""Makes a column fit to be event time before a DataFrame is registered."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from muntin.core.errors import ConfigError
from muntin.plan.catalog import no_event_time
from muntin.spark.feeds import quoted


def ready_event_time(df: DataFrame, ts: str, unit: str | None, owner: str, what: str = "stream") -> DataFrame:
    """The DataFrame with ``ts`` as a timestamp or an integer; dates become midnight UTC.

    Raises ConfigError for a column that is missing or of another type, and for an integer without a unit.
    """
    found = next((f for f in df.schema.fields if f.name == ts), None)
    if found is None:
        raise ConfigError(
            f"{what} {owner!r}: there is no column {ts!r} to take event time from; it has {', '.join(df.columns)}. "
            "Give ts=..."
        )
    column = F.col(quoted(ts))
    match found.dataType:
        case T.TimestampType() | T.TimestampNTZType():
            return df
        case T.DateType():
            return df.withColumn(ts, F.timestamp_micros(F.unix_date(column).cast("bigint") * 86_400_000_000))
        case T.LongType() | T.IntegerType() if unit is not None:
            return df
        case T.LongType() | T.IntegerType():
            raise ConfigError(
                f'{what} {owner!r}: column {ts!r} is an integer; say its unit with ts_unit="us", "ms" or "s"'
            )
        case other:
            raise ConfigError(f"{what} {owner!r}: {no_event_time(ts, other.simpleString())}")
