"""Numbers of a batch out of the reports of its tasks."""

from __future__ import annotations

import pyarrow as pa
import pytest

from muntin.core.errors import ConfigError
from muntin.core.schema import Schema
from muntin.core.time import DAY, FOREVER, NEVER, SECOND
from muntin.cql.binder import bind
from muntin.dataflow.durable import Since
from muntin.dataflow.graph import Graph
from muntin.dataflow.planner import plan_query
from muntin.engine.clocks import Times
from muntin.plan.catalog import Catalog, Stream
from muntin.spark.metrics import Metrics, RunMetrics, add_up, combine, count_marks
from muntin.spark.triggers import check_tau

NOW = 1_796_000_000 * SECOND


@pytest.mark.parametrize(
    "watermark, now, lag",
    [
        (NOW - 2 * SECOND, NOW, 2 * SECOND),
        (NOW + 3 * SECOND, NOW, -3 * SECOND),
        (NOW - 40 * DAY, NOW, 40 * DAY),  # a backlog
        (5 * SECOND, NOW, None),  # a generator that counts from 1970
        (NEVER, NOW, None),
        (FOREVER, NOW, None),
        (NOW, NEVER, None),
    ],
)
def test_lag_is_how_far_event_time_is_behind_its_clock(watermark: int, now: int, lag: int | None) -> None:
    found = combine(3, [{"q": {"watermark": watermark, "now": now, "rows": 1}}, {"q": {"rows": 2}}])
    assert found["q"].lag == lag and found["q"].rows == 3
    assert add_up(None, 3, found, {"query": "q"}).lag == lag


def test_the_pipelines_lag_is_the_greatest_that_is_known() -> None:
    reports = {"a": {"watermark": NOW - SECOND, "now": NOW}, "b": {"watermark": 7, "now": NOW}}
    assert add_up(None, 0, combine(0, [reports]), {"a": "a", "b": "b"}).lag == SECOND


def test_batches_that_lag_beyond_tau_are_counted() -> None:
    run = None
    for batch, behind in enumerate((2, 12, 10, 11)):
        found = combine(batch, [{"q": {"watermark": NOW - behind * SECOND, "now": NOW}}])
        run = add_up(run, batch, found, {"query": "q"}, tau=10 * SECOND)
    assert run is not None and (run.overdue, run.batches) == (2, 4)
    assert add_up(run, 4, combine(4, [{"q": {"watermark": NOW - DAY, "now": NOW}}]), {"query": "q"}).overdue == 2


@pytest.mark.parametrize("trigger", [None, "available_now", "10 seconds", "500 milliseconds"])
def test_triggers_within_tau(trigger: str | None) -> None:
    check_tau(trigger, 10 * SECOND)


def test_a_trigger_longer_than_tau_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"trigger '11 seconds' is longer than tau, 10 seconds.*shorten the trigger"):
        check_tau("11 seconds", 10 * SECOND)
    check_tau("11 seconds", None)


def test_what_queries_share_counts_once() -> None:
    """Rows, late rows and rows of state of the pipeline are no sums over its queries."""
    own = {"rows": 10, "late": 3, "state_rows": 7, "watermark": 5, "now": NOW}
    found = combine(0, [{"": {"rows": 10, "late": 3, "state_rows": 7}, "a": own, "b": own}])
    run = add_up(None, 0, found, {"one": "a", "two": "b"})
    assert (run.rows, run.late, run.state_rows) == (10, 3, 7)
    assert [(m.rows, m.late, m.state_rows) for m in run.queries.values()] == [(10, 3, 7)] * 2


def test_the_pipelines_watermark_is_what_all_queries_have_answered() -> None:
    found = combine(0, [{"a": {"watermark": 5, "now": NOW}, "b": {"watermark": NEVER, "now": NOW}}])
    assert add_up(None, 0, found, {"one": "a"}).watermark == 5
    assert add_up(None, 0, found, {"one": "a", "two": "b"}).watermark is None


def test_since_when_the_windows_fill() -> None:
    since = {"old": Since(0, 100, None), "new": Since(7, 900, 50)}
    run = add_up(None, 9, combine(9, [{"a": {"rows": 1}}]), {"old": "a", "new": "b"}, since=since)
    assert {n: m.since for n, m in run.queries.items()} == since and run.since == since["new"]


def test_the_stream_that_the_others_wait_for_is_named() -> None:
    """By each query over several streams, and by the pipeline for the query that is furthest behind."""
    schema = Schema.of(ts=pa.timestamp("us", "UTC"), k=pa.int64())
    catalog = Catalog(tuple(Stream(n, schema, "ts", order=i) for i, n in enumerate("abc")))
    texts = ("SELECT a.k FROM a [RANGE 1 HOUR], b [RANGE 1 HOUR] WHERE a.k = b.k",
             "SELECT c.k FROM a [RANGE 1 HOUR], c [RANGE 1 HOUR] WHERE a.k = c.k", "SELECT k FROM c [NOW]")  # fmt: skip
    graph = Graph.of(tuple(plan_query(bind(t, catalog)) for t in texts))
    marks = {"a": 9 * SECOND, "b": 4 * SECOND, "c": 7 * SECOND}
    times = Times(tuple(0 for _ in graph.domains), tuple(min(marks[s] for s in d) for d in graph.domains), ())
    report: dict[str, dict[str, int]] = {}
    for query in range(3):
        own = report[str(query)] = {"watermark": min(marks[s] for s in graph.vertices[graph.roots[query]].streams)}
        count_marks(own, graph, query, times)
    found = combine(0, [report])
    assert [found[str(q)].held_by for q in range(3)] == ["b", "c", None]
    assert add_up(None, 0, found, {f"q{i}": str(i) for i in range(3)}).held_by == "b"
    level = combine(0, [{"q": {"watermark": 5, "mark a": 5, "mark b": 5}}])
    assert level["q"].held_by is None  # both are equally far


def test_numbers_are_printed_with_units_and_without_what_is_nothing() -> None:
    one = Metrics(3, rows=12_000, late=2, results=5, state_rows=7, watermark=90 * SECOND, lag=1_500_000, lateness=1)
    assert str(one).splitlines() == [
        "last batch      3", "rows            12,000", "results         5", "late            2", "without a time  0",
        "rows held       7", "answered until  1970-01-01 00:01:30", "lag             1.5 s", "late by         1 period",
    ]  # fmt: skip
    lost = RunMetrics(3, batches=4, share=0.25, share_error=0.01, lost={"a": (1, 2)}, queries={"<q>": one})
    told = str(lost)
    for line in ("about 25.0% (within 1.0%)", "all rows of a were dropped", "1 without a time, 2 late"):
        assert line in told
    assert told.splitlines()[-1].split() == ["<q>", "12,000", "5", "2", "7", "1.5", "s", "1970-01-01", "00:01:30"]
    shown = lost._repr_html_()
    assert "batches of this run" in shown and "&lt;q&gt;" in shown and "<q>" not in shown
