"""What is of Spark Connect is refused with a sentence."""

from __future__ import annotations

import pytest

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
