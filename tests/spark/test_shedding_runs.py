"""Runs that leave out a part of their input: the same part whenever a batch runs, and as much as is said."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest_spark import Feed, events

from muntin.core.errors import ConfigError
from muntin.cql.binder import bind
from muntin.cql.options import query_options
from muntin.dataflow.planner import plan_query
from muntin.engine.valve import Valve
from muntin.local.runtime import LocalPipeline
from muntin.session import Session
from muntin.spark.checkpoint import read_checkpoint
from muntin.spark.overload import Decision, read_decision, write_decision

pytestmark = pytest.mark.spark

JOIN = "SELECT x.v AS a, y.v AS b FROM a x [RANGE 20 SECONDS], b y [RANGE 20 SECONDS] WHERE x.k = y.k"

COUNT = "SELECT COUNT(*) AS n FROM a [RANGE 10 SECONDS SLIDE 5 SECONDS]"


def inputs(feed: Callable[[str], Feed], batches: int, rows: int = 120) -> dict[str, Feed]:
    parts = {n: [events(10 * i + n_, 10 * i, 10, rows) for i in range(batches)] for n_, n in enumerate("ab")}
    return {n: feed(n).put(*tables) for n, tables in parts.items()}


def session_over(spark: Any, feeds: dict[str, Feed]) -> Session:
    session = Session(spark, shards=4)
    for name, source in feeds.items():
        session.stream(name, source.live())
    return session


def answer(session: Session, feeds: dict[str, Feed], valves: list[Valve | None]) -> Counter[tuple[Any, ...]]:
    """In process, a file of each stream a batch, with these valves."""
    pipeline = LocalPipeline(plan_query(bind(JOIN, session.catalog, query_options({}))), 3)
    found: Counter[tuple[Any, ...]] = Counter()
    for i, valve in enumerate(valves):
        pipeline.valve = valve
        batch = {n: f.table().slice(120 * i, 120) for n, f in feeds.items()}
        found.update(rows(pipeline.push(batch)))
    return found


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(r.values()) for r in table.to_pylist()]


def test_a_batch_that_runs_again_leaves_out_the_same_rows(
    spark: Any, feed: Callable[[str], Feed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    feeds, kept, failing = inputs(feed, 3), {}, [True]  # type: dict[str, Feed], dict[int, pa.Table], list[bool]
    session = session_over(spark, feeds)

    def sink(df: Any, batch: int) -> None:
        kept[batch] = df.toArrow()
        if batch == 1 and failing:
            failing.clear()
            raise RuntimeError("the sink fails")

    counts: list[pa.Table] = []
    query = session.sql(JOIN, name="q", shed="drop")
    counted = session.sql(COUNT, name="n", shed="drop", priority=1)
    counted.write(foreach_batch=lambda df, batch: counts.append(df.toArrow()))  # before the other fails
    query.write(foreach_batch=sink)
    store = read_checkpoint(str(tmp_path / "cp")).store
    decided = {"a": 0.5, "b": 0.6}
    both = {query.physical.signature: decided, counted.physical.signature: {"a": 0.5}}
    write_decision(store, 1, Decision(both, {}))
    with pytest.raises(RuntimeError, match="the sink fails"):
        session.start(str(tmp_path / "cp"), "available_now").await_termination()
    first = kept[1]
    monkeypatch.setattr("muntin.spark.run.wait_for_readers", lambda path: 3600.0)
    run = session.start(str(tmp_path / "cp"), "available_now")
    run.await_termination()
    assert run._overload is not None and run._overload._took < 0, "an hour for readers was no load"

    valves = [None, Valve({}, [decided]), None]
    assert Counter(rows(kept[1])) == Counter(rows(first)) != Counter()
    assert sum((Counter(rows(t)) for t in kept.values()), Counter()) == answer(session, feeds, valves)
    exact = answer(session, feeds, [None] * 3)
    assert answer(session, feeds, valves) < exact
    again = read_decision(store, 2)
    assert again is not None and again.shares == {}
    assert run.metrics().shed > 0 and run.metrics("q").share == 1
    assert rows(counts[1]) == rows(counts[2]) != [], "of batch 1, twice"
    errors = {r["n_error"] == 0 for r in pa.concat_tables(counts).to_pylist()}
    assert errors == {True, False}, "exact before, estimated then"


BATCHES = 6


def test_a_run_that_is_too_slow_leaves_out_a_part_and_says_so(
    spark: Any, feed: Callable[[str], Feed], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    feeds = inputs(feed, BATCHES)
    session = session_over(spark, feeds)

    def sink(df: Any, batch: int) -> None:
        time.sleep(0.1 + df.count() / 8000)

    session.sql(JOIN, name="q", shed="drop", quality=0.05).write(foreach_batch=sink)
    session.sql("SELECT v FROM a", name="all").write()
    session.sql(f"Istream({JOIN.replace('x.k = y.k', 'x.j = y.j')})", name="h", shed="harvest").write()
    run = session.start(str(tmp_path / "cp"), "1 second")
    run.process_all_available()
    found = run.metrics()
    run.stop()
    assert 0 < found.shed < 2 * (2 * BATCHES * 120)  # of two queries
    explained = run.explain()
    assert "of the full answer of q is given" in explained and "of the full answer of all" not in explained
    shards = found.by_shard.values()
    assert len(shards) == 4 and all(0 < s.consumed <= s.arrived for s in shards)
    assert sum(s.arrived for s in shards) >= 2 * BATCHES * 120 > 0 and 0 < found.answered["q"] < 1
    assert 0.05**2 <= found.queries["q"].share < 1 and found.queries["all"].share == 1
    assert found.queries["h"].share < 1  # how many of its results were found depends on how much time there was
    decision = read_decision(run.made.checkpoint.store, found.batch)
    assert decision is not None and len(decision.harvest) == 1 and min(decision.fractions.values()) < 1
    assert run._overload is not None and run._overload.learned
    assert all(j.counts for j in run._overload.learned.values())
    assert session.queries["all"].rows().num_rows > BATCHES * 120 - 10  # rows of the last instant wait
    assert "a part of the input is left out" in caplog.text


def test_what_has_no_measure_is_refused(spark: Any, feed: Callable[[str], Feed], tmp_path: Path) -> None:
    session = session_over(spark, inputs(feed, 1))
    query = session.sql(JOIN, name="q", shed="drop")
    query.write()
    with pytest.raises(ConfigError, match="nothing says how long a batch may take"):
        session.start(str(tmp_path / "cp"))
    with pytest.raises(ConfigError, match="which to_df\\(\\) has none of"):
        query.to_df()
    own = Session(spark, shed="harvest")
    own.stream("a", session.frames["a"])
    own.stream("b", session.frames["b"])
    assert [own.sql(text).bound.options.shed for text in (JOIN, COUNT, "SELECT DISTINCT v FROM a [ROWS 5]")] == [
        "harvest", "drop", "never"
    ]  # fmt: skip
    assert own.sql(JOIN, shed="never").bound.options.shed == "never"
    with pytest.raises(ConfigError, match="shed is one of never, harvest, drop"):
        Session(spark, shed="maybe")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"quality.*no share"):
        session.sql(JOIN, shed="drop", quality=1.5)
    with pytest.raises(ConfigError, match="none of never, harvest, drop"):
        session.sql(JOIN, shed="maybe")


@pytest.mark.slow
def test_back_at_a_normal_load_answers_are_exact_from_the_second_batch_on(
    spark: Any, feed: Callable[[str], Feed], tmp_path: Path
) -> None:
    """Twenty times as many rows for a while, and a sink that takes a millisecond a row."""
    sizes = [300] * 5 + [6000] * 5 + [300] * 4
    source = feed("a").put(*(events(i, 10 * i, 10, n) for i, n in enumerate(sizes)))
    session = session_over(spark, {"a": source})
    given: list[int] = []

    def sink(df: Any, batch: int) -> None:
        given.append(df.count())
        time.sleep(given[-1] / 1000)

    session.sql("Istream(SELECT v FROM a [RANGE 5 SECONDS])", name="q", shed="drop").write(foreach_batch=sink)
    run = session.start(str(tmp_path / "cp"), "4 seconds")
    run.process_all_available()
    found = run.metrics()
    decided = [read_decision(run.made.checkpoint.store, batch) for batch in range(found.batches)]
    run.stop()
    shares = [1.0 if d is None else d.of(session.queries["q"].physical.signature).get("a", 1.0) for d in decided]
    assert shares[:6] == [1.0] * 6 and max(shares[6:10]) < 0.9, "a batch shows that there is too much"
    assert shares[11:] == [1.0] * 3, "the first batch of normal load is decided before it has come"
    assert all(abs(n - 300) < 20 for n in given[12:14]), "rows of the last instant wait for the next batch"
    assert sum(given[7:10]) < 0.9 * 3 * 6000 and found.shed > 0 and found.answered["q"] < 1
