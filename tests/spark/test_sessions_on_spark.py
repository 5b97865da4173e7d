"""Sessions on Spark: a replay gives what Spark's own session_window gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from conftest_spark import Feed, events

from muntin.session import Session

pytestmark = [pytest.mark.spark, pytest.mark.any_spark]


def test_sessions_are_sparks(spark: Any, feed: Callable[[str], Feed]) -> None:
    from pyspark.sql import functions as F

    whole = events(3, 0, 300, 200)  # whole seconds: gaps that are just the length come often
    at = pa.array([t.as_py().replace(microsecond=0) for t in whole["ts"]], pa.timestamp("us", "UTC"))
    source = feed("s").put(whole.set_column(0, "ts", at))
    session = Session(spark, shards=3, partitions=2)
    session.stream("s", source.replay(), slack="1 second")
    query = session.sql(
        "SELECT k, session_window.start, session_window.end, COUNT(*) AS n, SUM(v) AS t FROM s "
        "GROUP BY k, session_window(ts, '5 seconds')"
    )
    found = query.to_df().toArrow()
    theirs = source.replay().groupBy("k", F.session_window("ts", "5 seconds").alias("w")).agg(
        F.count("*").alias("n"), F.sum("v").alias("t")
    ).select("k", "w.start", "w.end", "n", "t").toArrow()  # fmt: skip
    assert sorted(map(repr, found.drop_columns(["ts"]).to_pylist())) == sorted(map(repr, theirs.to_pylist()))
    assert found["ts"].equals(found["end"]) and len(found) > 50
    ends = {(r["k"], r["end"]) for r in found.to_pylist()}
    assert not any((r["k"], r["ts"]) in ends for r in source.replay().toArrow().to_pylist())
