"""Three real logs joined by connection, live on Spark: one is out of order by minutes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest_spark import Feed
from zeek_logs import SECOND, Triples, connections, disorder, on_time, pieces, times

from muntin.session import Session

pytestmark = [pytest.mark.spark, pytest.mark.real]

LENGTHS = {"ssl": 20 * SECOND, "analyzer": 5 * SECOND, "weird": 60 * SECOND}
JOIN = """
SELECT s.uid, s.label AS version, a.label AS analyzer, w.label AS weird
FROM ssl s [RANGE 20 SECONDS], analyzer a [RANGE 5 SECONDS], weird w [RANGE 60 SECONDS]
WHERE s.uid = a.uid AND a.uid = w.uid
"""
FILES = 3


def test_three_logs_by_connection_live(spark: Any, feed: Callable[[str], Feed], tmp_path: Path, shared: Path) -> None:
    logs = connections(shared)
    batches = pieces(logs, {n: [len(log) * i // FILES for i in range(1, FILES)] for n, log in logs.items()})
    slack = disorder(logs["ssl"])
    kept, late = on_time(batches, {"ssl": slack, "analyzer": 0, "weird": 0})
    assert late == 0 and slack > 800 * SECOND
    session = Session(spark, shards=2)
    for name in logs:
        source = feed(name).put(*(batch[name] for batch in batches))
        session.stream(name, source.live(), slack=slack if name == "ssl" else 0)
    query = session.sql(JOIN).write()
    checkpoint, end = str(tmp_path / "cp"), int(max(times(log).max() for log in logs.values())) + 100 * SECOND
    run = session.start(checkpoint, "available_now")
    run.await_termination()
    run.heartbeat(end)
    run = session.start(checkpoint, "available_now")
    run.await_termination()
    answer = query.rows()
    columns = [answer["ts"].cast(pa.int64()), *(answer[c] for c in ("op", "uid", "version", "analyzer", "weird"))]
    found = Counter(zip(*(c.to_pylist() for c in columns), strict=True))
    assert found == Triples(kept, LENGTHS).changes()
    assert found.total() > 40_000
    assert run.metrics().late == 0
