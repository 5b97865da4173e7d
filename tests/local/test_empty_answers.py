"""What is said of answers over empty windows, of windows that keep everything, and of rows that no window sees."""

from __future__ import annotations

import logging

import pyarrow as pa
import pytest

import muntin
from muntin.core.schema import Field, Schema
from muntin.core.time import MINUTE
from muntin.cql.binder import bind
from muntin.cql.types import from_spark
from muntin.dataflow.explain import explain_as
from muntin.engine.gaps import MANY, empty_answers, gaps
from muntin.plan.catalog import Catalog, Stream
from muntin.spark.metrics import Metrics, RunMetrics, report_to_log
from muntin.testing import Harness, stream

COLUMNS = {"ts": "timestamp", "k": "string", "v": "bigint"}
COUNT = "SELECT COUNT(*) AS n FROM s [RANGE 3 MINUTES SLIDE 1 MINUTE]"


def harness(text: str) -> Harness:
    return Harness(text, s=stream(COLUMNS))


def test_empty_answers_are_counted_from_below() -> None:
    plan = harness(COUNT).plan
    at = [0, 30_000_000, 5 * MINUTE, (MANY + 7_000) * MINUTE]
    rows = pa.table({"ts": pa.array(at, pa.timestamp("us", "UTC")), "v": range(len(at))})
    with pytest.warns(UserWarning, match="there is no row of s between 1970-01-01 00:05"):
        answer = muntin.query(COUNT, s=rows)
    empty = answer.column("n").to_pylist().count(0)
    least = empty_answers(plan, len(answer), len(rows))
    assert MANY < least <= empty < least + 4 * (len(rows) + 2)
    assert empty_answers(plan, MANY, 0) == 0
    for text in ("SELECT k, COUNT(*) AS n FROM s [RANGE 3 MINUTES SLIDE 1 MINUTE] GROUP BY k", "SELECT k FROM s [NOW]",
                 "SELECT COUNT(*) AS n FROM s [ROWS 9 SLIDE 1 MINUTE]"):  # fmt: skip
        assert empty_answers(harness(text).plan, len(answer), len(rows)) == 0


def test_a_live_run_warns_of_a_gap(caplog: pytest.LogCaptureFixture) -> None:
    plans = {"q": harness(COUNT).plan}
    assert list(gaps(plans, {"q": (26_800_000, 5), "other": (10**9, 1)})) == ["q"]
    with caplog.at_level(logging.WARNING, "muntin"):
        report_to_log(RunMetrics(3, queries={"q": Metrics(3, rows=5, results=26_800_000)}), plans)
    (line,) = caplog.messages
    assert "batch 3 query q: at least 26,799,976 of 26,800,000 answers are of empty windows" in line
    assert "times of s" in line and "max_jump" in line
    caplog.clear()
    with caplog.at_level(logging.WARNING, "muntin"):  # as many rows: a backlog
        report_to_log(RunMetrics(3, queries={"q": Metrics(3, rows=900_000, results=200_000)}), plans)
    assert not caplog.messages


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT k, COUNT(*) AS n FROM s GROUP BY k", "Note: stream s has no window, so all its rows so far"),
        ("SELECT COUNT(*) AS n FROM s [RANGE 1 MINUTE SLIDE 5 MINUTES]", "Note: [RANGE 1 MINUTE SLIDE 5 MINUTES]"),
    ],
)
def test_explain_says_what_may_not_be_meant(text: str, words: str) -> None:
    fields = tuple(Field(n, from_spark(t)) for n, t in COLUMNS.items())
    bound, plan = bind(text, Catalog((Stream("s", Schema(fields), "ts"),))), harness(text).plan
    assert words in explain_as("text", bound, plan)
    assert words.removeprefix("Note: ") in explain_as("json", bound, plan)
