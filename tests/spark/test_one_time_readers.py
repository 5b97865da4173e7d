"""Many readers ask a pipeline that runs: every answer is that of the instant it names, and the pipeline goes on."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest_spark import SECOND, Feed, events

from muntin.core.errors import ConfigError
from muntin.local.one_time import OneTimeAnswer
from muntin.session import Session
from muntin.session.one_time import ask_checkpoint

TEXT = "SELECT k, COUNT(*) AS n, SUM(v) AS s FROM a [RANGE 9 SECONDS] GROUP BY k"
READERS, BATCHES = 8, 40


@pytest.mark.slow
@pytest.mark.spark
def test_readers_beside_a_run(spark: Any, feed: Callable[[str], Feed], tmp_path: Path) -> None:
    source = feed("a").put(events(1, 0, 2, 40))
    session = Session(spark, shards=4)
    session.stream("a", source.live(), ts="ts")
    session.sql("SELECT k, v, name FROM a [RANGE 20 SECONDS]", name="shown").write("blackhole")
    checkpoint = str(tmp_path / "checkpoint")
    run = session.start(checkpoint)
    done, found, wrong = threading.Event(), list[OneTimeAnswer](), list[BaseException]()

    def ask() -> None:
        while not done.is_set():
            try:
                found.append(ask_checkpoint(checkpoint, TEXT))
            except ConfigError as e:  # before the first batch
                if "nothing to ask" not in str(e) and "committed" not in str(e) and "has begun" not in str(e):
                    wrong.append(e)
            except BaseException as e:
                wrong.append(e)
                return

    readers = [threading.Thread(target=ask) for _ in range(READERS)]
    for r in readers:
        r.start()
    for number in range(1, BATCHES):
        source.put(events(1 + number, 2 * number, 2, 40))
        time.sleep(0.5)
    run.process_all_available()
    done.set()
    for r in readers:
        r.join(60)
        assert not r.is_alive()
    run.stop()
    assert not wrong, wrong[0]
    rows = source.table()
    instants = {a.at for a in found}
    assert len(instants) > 5 and len(found) > len(instants)
    for answer in found:
        assert counted(answer.rows) == expected(rows, answer.at)


def counted(rows: pa.Table) -> Counter[Any]:
    return Counter(tuple(r.values()) for r in rows.to_pylist())


def expected(rows: pa.Table, at: int) -> Counter[Any]:
    groups: dict[Any, list[Any]] = {}
    ts = rows["ts"].cast(pa.int64()).to_pylist()
    for t, k, v in zip(ts, rows["k"].to_pylist(), rows["v"].to_pylist(), strict=True):
        if at - 9 * SECOND < t <= at:
            groups.setdefault(k, []).append(v)
    sums = {k: [v for v in vs if v is not None] for k, vs in groups.items()}
    return Counter((k, len(vs), sum(sums[k]) if sums[k] else None) for k, vs in groups.items())
