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


@pytest.mark.slow
def test_three_logs_by_connection_live(spark: Any, feed: Callable[[str], Feed], tmp_path: Path, shared: Path) -> None:
    logs = connections(shared)
    batches = pieces(logs, {n: [len(log) * i // FILES for i in range(1, FILES)] for n, log in logs.items()})
    slacks = {name: disorder(log) for name, log in logs.items()}
    kept, late = on_time(batches, slacks)
    assert late == 0 and slacks["ssl"] > 800 * SECOND
    session = Session(spark, shards=2)
    for name in logs:
        source = feed(name).put(*(batch[name] for batch in batches))
        session.stream(name, source.live(), slack=slacks[name])
    query = session.sql(JOIN).write()
    run = session.start(str(tmp_path / "cp"), "available_now")
    run.await_termination()
    answer, metrics = query.rows(), run.metrics()
    columns = [answer["ts"].cast(pa.int64()), *(answer[c] for c in ("op", "uid", "version", "analyzer", "weird"))]
    found = Counter(zip(*(c.to_pylist() for c in columns), strict=True))
    assert metrics.late == 0 and metrics.watermark == min(int(times(kept[n]).max()) - slacks[n] for n in kept)
    assert found == Counter({c: n for c, n in Triples(kept, LENGTHS).changes().items() if c[0] < metrics.watermark})
    assert found.total() > 1_000
