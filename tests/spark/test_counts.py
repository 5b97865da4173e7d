"""What a live run counts by vertex, and what Spark's own tools see of it."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest_spark import SECOND, Feed, events

from muntin.operators.source import Source
from muntin.session import Session
from muntin.spark.counts import VERTEX, VertexCounts, by_vertex, since_then
from muntin.spark.inspect import inspect

JOIN = (
    "SELECT x.k, COUNT(*) AS n FROM a x [RANGE 10 SECONDS SLIDE 1 SECOND], b y [RANGE 6 SECONDS] "
    "WHERE x.j = y.j GROUP BY x.k"
)


def test_reports_add_up_over_tasks_and_batches() -> None:
    key = VERTEX + "v"
    tasks = [{key: {"rows_in": 3, "us": 500, "state_rows": 4, "watermark": 7}, "": {"rows": 9}}, {key: {"rows_in": 2}}]
    batch = by_vertex(tasks)
    assert batch == {"v": VertexCounts(rows_in=5, seconds=0.0005, state_rows=4, watermark=7)}
    run = since_then(since_then({}, batch), by_vertex([{key: {"rows_in": 1, "us": 500, "state_rows": 2}}]))
    assert run == {"v": VertexCounts(rows_in=6, seconds=0.001, state_rows=2)}
    assert not since_then(run, {})


def check_console(console: Any) -> None:
    """What a browser and Prometheus get of the run below, then the end of the console."""

    def get(path: str) -> str:
        with urllib.request.urlopen(f"{console.address}{path}?token={console.token}", timeout=20) as answer:
            return str(answer.read().decode())

    whole = json.loads(get("api/run"))
    assert whole["state"] == "ended" and whole["error"] is None and whole["run"]["rows"] == 600
    assert {s["name"]: s["rows"] for s in whole["streams"]} == {"a": 300, "b": 300}
    assert whole["queries"][0]["sink"] == "memory" and len(json.loads(get("api/results/j"))["rows"]) == 200
    assert "be read back" in json.loads(get("api/results/f"))["note"]
    assert 'muntin_stream_rows_total{stream="a"} 300.0' in get("metrics")
    console.close()


@pytest.mark.spark
def test_a_run_counts_by_vertex_and_spark_sees_it(
    spark: Any, feed: Callable[[str], Feed], tmp_path: Path
) -> None:
    session = Session(spark, shards=3)
    for i, name in enumerate("ab"):
        session.stream(name, feed(name).put(*(events(10 * i + n, 30 * n, 30, 150) for n in range(2))).live())
    session.sql(JOIN, name="j").write()
    session.sql("SELECT k, j FROM a [RANGE 5 SECONDS] WHERE v > 50", name="f").write("blackhole")
    run = session.start(str(tmp_path / "c"))
    console = run.ui(port=0)
    assert run.ui() is console
    run.process_all_available()
    progress = [p for p in run.query.recentProgress if p.numInputRows]
    run.stop()
    check_console(console)
    assert [p["batch"] for p in json.loads((tmp_path / "c" / "console.json").read_bytes())["points"]] == [0, 1]

    m, graph = run.metrics(), run.spec.graph
    assert set(m.vertices) == {v.id for v in graph.vertices}
    held = {v.id: (v.rows, v.bytes) for v in inspect(str(tmp_path / "c")).vertices}
    assert {v: (m.vertices[v].state_rows, m.vertices[v].state_bytes) for v in held} == held
    assert sum(c.state_rows for c in m.vertices.values()) == m.state_rows > 0
    sources = {v.op.stream.name: m.vertices[v.id] for v in graph.vertices if isinstance(v.op, Source)}
    assert {n: c.rows_out for n, c in sources.items()} == {"a": 300, "b": 300}
    assert sources["a"].watermark is not None and 55 * SECOND < sources["a"].watermark < 60 * SECOND
    results = {n: m.vertices[graph.vertices[r].id].rows_out for n, r in zip(run.spec.names, graph.roots, strict=True)}
    assert results["j"] == len(session.queries["j"].rows()) > 0 and results["f"] > 0
    assert any(c.seconds > 0 for c in m.vertices.values())

    assert run.query.name == f"muntin: j, f ({run.made.checkpoint.path})"
    seen = [p.observedMetrics["muntin"] for p in progress]
    assert sum(s["rows"] for s in seen) == m.rows == 600 and sum(s["results"] for s in seen) == m.results
    assert seen[-1]["watermark"] == m.watermark and seen[-1]["state_rows"] == m.state_rows
    jobs = spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    told = [d.get() for d in (jobs.apply(i).description() for i in range(jobs.size())) if d.isDefined()]
    assert any(d.startswith("muntin batch 0: j to memory, level 0 (") and "WindowJoin" in d for d in told)
