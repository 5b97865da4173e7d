"""Batch DataFrames: the answer is the local runtime's, however Spark cuts the input."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from conftest_spark import Feed, bag, events

from muntin.local.runtime import run_local
from muntin.session import Session

pytestmark = pytest.mark.spark

QUERIES = {
    "slide": "SELECT k, COUNT(*) AS n, SUM(v) AS total FROM a [RANGE 20 SECONDS SLIDE 3 SECONDS] WHERE v > 20 GROUP "
    "BY k",
    "changes": "SELECT k, MAX(v) AS top FROM a [RANGE 5 SECONDS] GROUP BY k",
    "join": "SELECT x.k, COUNT(*) AS n, AVG(y.v) AS mean "
    "FROM a x [RANGE 10 SECONDS SLIDE 1 SECOND], b y [RANGE 6 SECONDS] WHERE x.j = y.j GROUP BY x.k",
    "total": "SELECT COUNT(*) AS n, SUM(v) AS s FROM a [RANGE 4 SECONDS SLIDE 2 SECONDS]",
    "rows": "ISTREAM(SELECT x.name, y.v FROM a x [RANGE 3 SECONDS], b y [RANGE 3 SECONDS] WHERE x.j = y.j)",
    "snapshots": "RSTREAM(SELECT name, v FROM a [RANGE 1 SECOND] WHERE k = 1)",
}


@pytest.fixture
def inputs(feed: Callable[[str], Feed]) -> dict[str, Feed]:
    return {
        "a": feed("a").put(*(events(i, 30 * i, 30, 150) for i in range(3))),
        "b": feed("b").put(*(events(10 + i, 30 * i, 30, 150) for i in range(3))),
    }


@pytest.mark.parametrize("name", QUERIES)
def test_a_replayed_table_gives_the_local_answer(spark: Any, inputs: dict[str, Feed], name: str) -> None:
    session = Session(spark, shards=5)
    for stream, source in inputs.items():
        session.stream(stream, source.replay())
    query = session.sql(QUERIES[name])
    tables = {s: f.table() for s, f in inputs.items()}
    wanted = run_local(query.physical, [tables], shards=1)
    got = query.to_df().toArrow()
    assert got.column_names == wanted.column_names
    assert len(got) > 40
    assert bag(got) == bag(wanted)


def test_many_steps_give_what_one_gives(spark: Any, inputs: dict[str, Feed], monkeypatch: pytest.MonkeyPatch) -> None:
    from muntin.spark import pipeline, replay_task

    session = Session(spark, shards=3)
    for stream, source in inputs.items():
        session.stream(stream, source.replay())
    query = session.sql(QUERIES["join"])
    once = bag(query.to_df().toArrow())
    monkeypatch.setattr(pipeline, "replay_task", partial(replay_task.replay_task, step_bytes=1))
    assert bag(query.to_df().toArrow()) == once


@pytest.mark.parametrize("name", ["join", "snapshots"])
def test_steps_without_room_are_cut(
    spark: Any, inputs: dict[str, Feed], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No operator gives more than 20 rows in a step."""
    from muntin.spark import pipeline, replay_task

    session = Session(spark, shards=3)
    for stream, source in inputs.items():
        session.stream(stream, source.replay())
    query = session.sql(QUERIES[name])
    once = bag(query.to_df().toArrow())

    def cut(spec: Any, level: int, **more: Any) -> Any:
        task = replay_task.replay_task(spec, level, **more)

        def run(batches: Any) -> Any:
            from muntin.engine import substeps

            before, substeps.MOST = substeps.MOST, 20
            try:
                yield from task(batches)
            finally:
                substeps.MOST = before

        return run

    monkeypatch.setattr(pipeline, "replay_task", cut)
    assert bag(query.to_df().toArrow()) == once


@pytest.mark.any_spark
def test_an_empty_table_has_an_empty_answer(spark: Any, feed: Callable[[str], Feed]) -> None:
    session = Session(spark, shards=2)
    session.stream("a", feed("a").put(events(1, 0, 1, 1).slice(0, 0)).replay())
    assert session.sql(QUERIES["slide"]).to_df().count() == 0
