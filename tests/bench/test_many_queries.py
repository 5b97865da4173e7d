"""Many queries: small counts, and what is judged of records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from muntin.bench import many_joins, many_queries
from muntin.bench.data import joined, rows
from muntin.bench.many_joins import TEN, spark_sql, windows
from muntin.bench.many_others import flink_job, muntin_answers, shapes
from muntin.bench.many_queries import AGGREGATES, JOINS, ManyRecord, good, measured, plans_of
from muntin.bench.run import others, run_bench
from muntin.core.errors import ConfigError
from muntin.dataflow.sharing.rules import shared_graph


def test_every_aggregate_is_another_query_and_all_read_one_synopsis() -> None:
    plans = plans_of(AGGREGATES, 24)
    assert len({p.id for p in plans}) == 24
    (note,) = shared_graph(plans).shared
    assert len(note.plans) == 24


def test_counts_are_measured_beside_one_query() -> None:
    small = replace(AGGREGATES, counts=(1, 6), total=30_000, size=15_000)
    one, six = measured(small, lambda _: None)
    assert one.relative == 1.0 and one.answers_equal and six.answers_equal
    assert six.results > one.results > 0


def test_joins_share_one_and_their_results_are_counted() -> None:
    small = replace(JOINS, counts=(1, 5), total=9_000, size=3_000, check=(5, 3_000, 1_000))
    one, five = measured(small, lambda _: None)
    assert one.answers_equal and five.answers_equal and five.results > 2 * one.results > 1_000
    assert five.state_bytes < 1.5 * one.state_bytes
    assert len(good([one, replace(five, queries=10, relative=1.6)])) == 1


def test_what_was_promised_can_be_missed() -> None:
    one = ManyRecord("aggregates", 1, "muntin", 1.0, 1.0, 100, True, 10, 10, 1.0)
    hundred = replace(one, queries=100, relative=1.9, state_bytes=199)
    assert good([one, hundred]) == []
    assert len(good([one, replace(hundred, relative=2.1, state_bytes=201, answers_equal=False)])) == 3


def test_other_engines_get_the_same_queries() -> None:
    queries = shapes()
    assert len(queries) == 10 and all(q.length % q.slide == 0 for q in queries)
    job = flink_job(queries, 1_000, None)
    assert job.insert.count("INSERT INTO") == 10 and "SECOND(3)" in job.insert
    answers = muntin_answers(queries, 2_000)
    assert all(answers) and len({len(a) for a in answers}) > 3


def test_other_engines_get_the_same_joins_and_their_answers_are_ours() -> None:
    """The text for Spark means the same to DuckDB, over rows of a window and a half."""
    texts = [spark_sql(s, "A", "B") for s in windows()]
    plain = pa.schema([("ts", pa.timestamp("us")), ("k", pa.int64()), ("v", pa.int64())])  # no extension for zones
    ours = many_joins.muntin_answers(15_000)
    with duckdb.connect() as other:
        for i, name in enumerate("AB"):
            other.register(name, rows(0, 15_000, i).cast(plain))
        theirs = [other.sql(t).arrow().read_all() for t in texts]
    assert [len(t) for t in theirs] == [joined(0, 15_000, s * 1_000_000) for s in windows()]
    assert many_joins.equal(theirs, ours) and not many_joins.equal(theirs[:1], ours[1:2])
    job = many_joins.flink_job(TEN, 1_000, Path("/out"))
    assert job.insert.count("INSERT INTO") == len(job.statements) - 4 == 10 and "'10' SECOND(3)" in job.insert


def test_engines_that_are_not_there_are_refused() -> None:
    assert others(["muntin", "spark"], print) == ["spark"] and others(["muntin"], print) == []
    with pytest.raises(ConfigError, match="muntin-df"):
        others(["muntin", "muntin-df"], print)


def test_engines_are_refused_before_anything_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many_queries, "run", lambda say: pytest.fail("measured before"))
    with pytest.raises(ConfigError, match="muntin-df"):
        run_bench("many-queries", engines=["muntin", "muntin-df"])
