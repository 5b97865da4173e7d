"""Drawn queries over drawn streams: Spark gives the evaluator's answer at every instant, replayed and live."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from conftest_spark import Feed
from generate import Case, draw_case
from generate_wide import draw_wide_case
from test_local_matches import difference

from muntin.cql.binder import bind
from muntin.reference import run
from muntin.session import Session
from muntin.verify.arrow import from_table, to_table

pytestmark = pytest.mark.spark

UNITS = {1: "us", 1_000: "ms", 1_000_000: "s"}
CASES = {f"plain-{seed}": draw_case(seed) for seed in range(700, 718)} | {
    f"wide-{seed}": case
    for seed in range(700, 722)
    if not (case := draw_wide_case(seed)).tables and "-restore" not in case.text.lower()
}


def registered(spark: Any, case: Case, frames: dict[str, Any]) -> Session:
    session = Session(spark, shards=3)
    for stream in case.catalog.streams:
        unit = {} if case.clock else {"ts_unit": UNITS[case.unit]}
        session.stream(stream.name, frames[stream.name], ts="ts", slack=timedelta(microseconds=stream.slack), **unit)
    for view in case.catalog.views:
        session.view(view.name, view.text)
    return session


def asked(session: Session, case: Case) -> Any:
    options = case.options
    return session.sql(case.text, bounds=options.bounds, origin=options.origin, granule=options.granule)


USUAL = [*[n for n in CASES if n.startswith("plain")][:4], *[n for n in CASES if n.startswith("wide")][:5]]
"""The others are run in the long form: the local runtime answers many more draws."""


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n not in USUAL)) for n in CASES])
def test_a_replayed_table_gives_the_evaluator_s_answer(spark: Any, name: str) -> None:
    case = CASES[name]
    frames = {s.name: spark.createDataFrame(to_table(s, case.streams[s.name])) for s in case.catalog.streams}
    query = asked(registered(spark, case, frames), case)
    got = from_table(query.to_df().toArrow(), query.physical.schema, query.physical.shows_op)
    expected = run(bind(case.text, case.catalog, case.options), case.streams)
    ordered = sorted(got, key=lambda r: r[0])
    assert not (problem := difference(expected, ordered)), f"{problem}\n{case.text}\n{case.options}\n{case.streams}"


@pytest.mark.parametrize("seed", [700, *(pytest.param(s, marks=pytest.mark.slow) for s in (703, 709))])
def test_a_live_stream_gives_the_evaluator_s_answer(
    spark: Any, feed: Callable[[str], Feed], tmp_path: Any, seed: int
) -> None:
    """Random cuts through files, then a heartbeat past the last row."""
    case = draw_case(seed)
    feeds = {s.name: feed(s.name) for s in case.catalog.streams}
    for batch in case.cuts(Random(seed), most=3):
        for stream in case.catalog.streams:
            feeds[stream.name].put(to_table(stream, batch.get(stream.name, [])))
    query = asked(registered(spark, case, {n: f.live() for n, f in feeds.items()}), case)
    query.write("memory")
    live = query.start(checkpoint=str(tmp_path / "check"))
    try:
        live.process_all_available()
        until = case.last_instant()
        live.heartbeat(until + 1)
        live.process_all_available()
        got = from_table(query.rows(), query.physical.schema, query.physical.shows_op)
    finally:
        live.stop()
    expected = run(bind(case.text, case.catalog, case.options), case.streams, until)
    ordered = sorted(got, key=lambda r: r[0])
    assert not (problem := difference(expected, ordered)), f"{problem}\n{case.text}\n{case.options}\n{case.streams}"
