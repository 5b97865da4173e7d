"""Sessions on Spark: a replay gives what Spark's own session_window gives, and a live run what the replay gives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest_spark import SECOND, Feed, bag, events, until

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


SESSIONS = (
    "SELECT k, window_start, window_end, COUNT(*) AS n, SUM(v) AS t, FIRST(name) AS f FROM s "
    "[PARTITION BY k SESSION 3 SECONDS] GROUP BY k, window_start, window_end"
)
LONGEST = (
    "SELECT k, MAX(n) AS n FROM (SELECT k, window_end, COUNT(*) AS n FROM s [PARTITION BY k SESSION 3 SECONDS] "
    "GROUP BY k, window_end) x [RANGE 30 SECONDS SLIDE 5 SECONDS] GROUP BY k"
)


def test_live_sessions_go_on_after_a_restart(spark: Any, feed: Callable[[str], Feed], tmp_path: Path) -> None:
    """Batches and a restart cut through sessions; rows come out of order, and one comes too late."""
    source = feed("s").put(*(events(20 + i, 20 * i, 20, 60, disorder_s=2) for i in range(2)))
    out = {"sessions": str(tmp_path / "sessions"), "longest": str(tmp_path / "longest")}

    def run(beat: int | None = None) -> int:
        session = Session(spark, shards=3, partitions=2)
        session.stream("s", source.live(), slack="2 seconds")
        first = session.sql(SESSIONS, name="sessions").write("parquet", out["sessions"])
        session.sql(LONGEST, name="longest").write("parquet", out["longest"])
        started = session.start(str(tmp_path / "cp"), "available_now")
        started.await_termination()
        late: int = first.metrics().late
        if beat is not None:
            started.heartbeat(beat)
            run()
        return late

    run()
    part = spark.read.parquet(out["sessions"]).toArrow()
    source.put(*(events(20 + i, 20 * i, 20, 60, disorder_s=2) for i in range(2, 4)))
    exact = feed("s").table()
    source.put(events(9, 30, 1, 1))  # half a minute late: it neither joins a session nor lengthens one
    assert run(beat=90 * SECOND) == 1
    whole = Session(spark, shards=3, partitions=2)
    whole.stream("s", feed("exact").put(exact).replay())
    for name, text in (("sessions", SESSIONS), ("longest", LONGEST)):
        wanted = until(whole.sql(text).to_df().toArrow(), 90 * SECOND)
        assert bag(spark.read.parquet(out[name]).toArrow()) == bag(wanted), name
    assert 5 < len(part) < len(spark.read.parquet(out["sessions"]).toArrow())
