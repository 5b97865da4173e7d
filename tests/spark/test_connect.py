"""What is of Spark Connect is refused with a sentence; DataFrames of Spark's are inputs of a query in this process."""

from __future__ import annotations

from typing import Any

import pytest

import muntin
from muntin.core.errors import ConfigError
from muntin.session import Session
from muntin.spark.embedded import not_by_connect


def test_a_session_of_spark_connect_is_refused() -> None:
    kind = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})
    with pytest.raises(ConfigError, match=r"this SparkSession is of Spark Connect, .* classic SparkSession"):
        Session(kind())
    with pytest.raises(ConfigError, match=r"^stream 's': its DataFrame is of Spark Connect"):
        not_by_connect(kind(), "stream 's': its DataFrame")
    not_by_connect(object(), "nothing")


@pytest.mark.any_spark
def test_a_dataframe_is_an_input_of_a_query_in_process(spark: Any) -> None:
    rows = spark.sql("SELECT timestamp_seconds(60 * id) AS ts, id % 2 AS k FROM range(6)")
    text = "SELECT k, COUNT(*) AS n FROM e [RANGE 4 MINUTES SLIDE 4 MINUTES] GROUP BY k"
    found = sorted((r["ts"].minute, r["k"], r["n"]) for r in muntin.query(text, e=rows).to_pylist())
    assert found == [(0, 0, 1), (4, 0, 2), (4, 1, 2), (8, 1, 1)]
    with pytest.raises(ConfigError, match="this DataFrame is streaming"):
        muntin.query(text, e=spark.readStream.format("rate").load())
