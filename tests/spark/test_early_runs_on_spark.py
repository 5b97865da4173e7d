"""Flexible queries that run early in a live run: exact at the instants of others, which come while it goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from conftest_spark import SECOND, Feed, bag, events

from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_query
from muntin.local.runtime import LocalPipeline
from muntin.session import Session

pytestmark = [pytest.mark.spark, pytest.mark.slow]

TEXT = "SELECT k, COUNT(*) AS n, MAX(v) AS m FROM a [RANGE 12 SECONDS SLIDE {} SECONDS] GROUP BY k"


def written(path: Path) -> pa.Table:
    return pq.read_table(path, partitioning=None)


def at_each(session: Session, rows: pa.Table, slide: int, got: pa.Table) -> list[tuple[Any, ...]]:
    """What a query with this SLIDE shows at the instants of some rows."""
    whole = LocalPipeline(plan_query(bind(TEXT.format(slide), session.catalog))).push({"a": rows})
    return bag(whole.filter(pc.is_in(whole["ts"], got["ts"].combine_chunks())))


def test_early_runs_and_a_finer_slide_that_comes_later(
    spark: Any, feed: Callable[[str], Feed], tmp_path: Path
) -> None:
    source = feed("a").put(*(events(n, 5 * n, 5, 50) for n in range(4)))
    session = Session(spark, shards=2, scheduling="aggressive")
    session.stream("a", source.live())
    session.sql(TEXT.format(6), name="wide", periods="flexible").write("parquet", str(tmp_path / "wide"))
    session.sql(TEXT.format(4), name="own").write("parquet", str(tmp_path / "own"))
    assert "1 of SLIDE 6 SECONDS each 4 SECONDS" in session.explain()
    run = session.start(str(tmp_path / "cp"))
    run.process_all_available()
    assert "SLIDE 6 SECONDS, run each 4 SECONDS" in run.explain()
    first = written(tmp_path / "wide")
    seconds = {t // SECOND for t in first["ts"].cast(pa.int64()).to_pylist()}
    assert seconds == {4, 8, 12, 16}, "the newest of its instants in each batch of five seconds"

    fine = session.sql(TEXT.format(1), name="fine").write("parquet", str(tmp_path / "fine"))
    run.add(fine)
    assert "SLIDE 6 SECONDS, run each 4 SECONDS" in run.explain(), "older panes do not end at each second"
    source.put(*(events(n, 5 * n, 5, 50) for n in range(4, 8)))
    run.process_all_available()
    run.stop()
    early = written(tmp_path / "wide")
    assert bag(early) == at_each(session, source.table(), 4, early)

    again = session.start(str(tmp_path / "cp"))
    assert "SLIDE 6 SECONDS, run each 1 SECOND" in again.explain(), "they have left"
    source.put(*(events(n, 5 * n, 5, 50) for n in range(8, 10)))
    again.process_all_available()
    again.drop("fine")
    assert "SLIDE 6 SECONDS, run each 4 SECONDS" in again.explain()
    source.put(events(10, 50, 5, 50), events(11, 55, 5, 50))
    again.process_all_available()
    again.stop()
    whole = written(tmp_path / "wide")
    assert bag(whole) == at_each(session, source.table(), 1, whole) and len(whole) > len(early)
    own = written(tmp_path / "own")
    instants = {t // SECOND for t in own["ts"].cast(pa.int64()).to_pylist()}
    assert bag(own) == at_each(session, source.table(), 4, own) and instants == {*range(4, 60, 4)}
