"""Network logs in the order in which they were written, minutes away from the order of their event times."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from conftest_spark import SECOND, Feed, bag, until

from muntin.session import Session

pytestmark = [pytest.mark.spark, pytest.mark.real]

JOIN = """
SELECT d.host, COUNT(*) AS pairs, COUNT(DISTINCT d.peer) AS servers
FROM dns d [RANGE 30 SECONDS SLIDE 10 SECONDS], ssl s [RANGE 2 MINUTES]
WHERE d.host = s.host AND s.port = 443
GROUP BY d.host
"""


def zeek(path: Path) -> pa.Table:
    """ts, host (originator), peer and port (responder) of a Zeek log, in the order of its lines."""
    with gzip.open(path, "rt", encoding="utf-8") as f:
        lines = [line.rstrip("\n").split("\t") for line in f]
    fields = next(line[1:] for line in lines if line[0] == "#fields")
    rows = [line for line in lines if not line[0].startswith("#")]
    at = {n: fields.index(n) for n in ("ts", "id.orig_h", "id.resp_h", "id.resp_p")}
    ts = np.array([round(float(r[at["ts"]]) * SECOND) for r in rows], np.int64)
    return pa.table(
        {
            "ts": pa.array(ts).cast(pa.timestamp("us", "UTC")),
            "host": [r[at["id.orig_h"]] for r in rows],
            "peer": [r[at["id.resp_h"]] for r in rows],
            "port": pa.array([int(r[at["id.resp_p"]]) for r in rows]),
        }
    )


def disorder(table: pa.Table) -> int:
    """The most that a row is behind the latest event time before it, in microseconds."""
    ts = table["ts"].cast(pa.int64()).to_numpy()
    return int((np.maximum.accumulate(ts) - ts).max())


def quarters(table: pa.Table) -> list[pa.Table]:
    """Four files of about equal length."""
    step = -(-len(table) // 4)
    return [table.slice(i, step) for i in range(0, len(table), step)]


def test_disordered_logs_live_and_replayed(
    spark: Any, feed: Callable[[str], Feed], tmp_path: Path, shared: Path
) -> None:
    logs = {name: zeek(shared / "data" / "zeek-wrccdc-2018" / f"{name}.log.gz") for name in ("dns", "ssl")}
    slack = max(disorder(t) for t in logs.values())
    assert slack > 60 * SECOND, "the logs are out of order by minutes"
    inputs = {name: feed(name).put(*quarters(table)) for name, table in logs.items()}
    runs = {}
    for tolerance in (slack, 0):
        live, replay = Session(spark, shards=8), Session(spark, shards=8)
        for name, source in inputs.items():
            live.stream(name, source.live(), slack=tolerance)
            replay.stream(name, source.replay())
        query = live.sql(JOIN).write()
        runs[tolerance] = live.start(str(tmp_path / f"cp{tolerance}"), "available_now")
        runs[tolerance].await_termination()
        if tolerance:
            wanted = until(replay.sql(JOIN).to_df().toArrow(), runs[tolerance].metrics().watermark)
            assert len(wanted) > 100
            assert bag(query.rows()) == bag(wanted)
    assert runs[slack].metrics().late == 0
    assert runs[0].metrics().late > 10
    assert runs[0].metrics().rows == sum(map(len, logs.values()))
