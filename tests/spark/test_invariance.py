"""The answer does not depend on shards, partitions, cuts into micro-batches, or live against replayed input."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from conftest_spark import SECOND, Feed, bag, events, until
from kill_job import QUERIES

from muntin.session import Session

pytestmark = [pytest.mark.spark, pytest.mark.invariance]

TEXTS = [*QUERIES.values(), "SELECT name, COUNT(*) AS n, MIN(v) AS low FROM b [RANGE 7 SECONDS] GROUP BY name"]
END = 70 * SECOND


def cut(table: pa.Table, pieces: int, rng: Random) -> list[pa.Table]:
    """The rows in their order, in ``pieces`` of random length."""
    ends = sorted(rng.sample(range(1, len(table)), pieces - 1))
    return [table.slice(a, b - a) for a, b in zip([0, *ends], [*ends, len(table)], strict=True)]


@pytest.mark.parametrize(
    ("shards", "partitions", "pieces"),
    [
        pytest.param(1, 1, 2, marks=pytest.mark.slow),
        (7, 2, 4),
        pytest.param(32, 3, 9, marks=pytest.mark.slow),
    ],
)
def test_live_is_replayed_however_it_is_cut(
    spark: Any, feed: Callable[[str], Feed], tmp_path: Path, shards: int, partitions: int, pieces: int
) -> None:
    rng = Random(shards)
    streams = {name: events(i, 0, 60, 400, disorder_s=5) for i, name in enumerate("ab")}
    inputs = {name: feed(name).put(*cut(table, pieces, rng)) for name, table in streams.items()}
    live = Session(spark, shards=shards, partitions=partitions)
    replay = Session(spark, shards=5, partitions=2)
    for name, source in inputs.items():
        live.stream(name, source.live(), slack="5 seconds")
        replay.stream(name, source.replay(), slack="5 seconds")
    queries = [live.sql(t).write() for t in TEXTS]
    live.start(str(tmp_path / "cp"), "available_now").await_termination()
    run = live.start(str(tmp_path / "cp"))
    run.heartbeat(END)
    run.process_all_available()
    run.stop()
    for text, query in zip(TEXTS, queries, strict=True):
        wanted = until(replay.sql(text).to_df().toArrow(), END)
        assert len(wanted) > 100
        assert bag(query.rows()) == bag(wanted), text
