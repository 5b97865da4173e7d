"""A run with a budget and a schedule: queries with small windows run, slices that only others need are done later."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest_spark import SECOND, Feed, bag, events, until

from muntin.core.errors import ConfigError
from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_queries, plan_query
from muntin.dataflow.sharing.slices import last_slices, with_schedule
from muntin.local.runtime import LocalPipeline
from muntin.operators.joins.slices import slices_of
from muntin.plan.catalog import Catalog, Stream
from muntin.session import Session
from muntin.spark.due import OWES, Budget
from muntin.spark.metrics import PIPELINE
from muntin.spark.pipeline import plan_pipeline
from muntin.spark.spec import PipelineSpec

STREAMS = tuple(
    Stream(n, Schema.of(ts=pa.int64(), k=pa.int64(), v=pa.int64()), "ts", ts_unit=SECOND, order=i)
    for i, n in enumerate("AB")
)
JOIN = "SELECT COUNT(*) AS n FROM A [RANGE {w} SECONDS] a, B [RANGE {w} SECONDS] b WHERE a.k = b.k"
ROWS = "SELECT COUNT(*) AS n FROM A [ROWS {w}] a, B [ROWS {w}] b WHERE a.k = b.k"
LOOP = ROWS.replace("a.k = b.k", "a.v < b.v")
CHAIN = JOIN.replace("WHERE", ", A [RANGE {w} SECONDS] c WHERE") + " AND b.v = c.v"


def spec_of(tmp_path: Path, schedule: str, windows: tuple[int, ...], text: str = JOIN) -> PipelineSpec:
    plans = plan_queries([bind(text.format(w=w), Catalog(STREAMS)) for w in windows], schedule)
    spec, _ = plan_pipeline(STREAMS, {f"q{w}": p for w, p in zip(windows, plans, strict=True)}, 2, 1)
    return replace(spec, store=str(tmp_path), budgeted=True)


def waits(spec: PipelineSpec, budget: Budget) -> list[bool]:
    return [s in budget.waits for s in spec.signatures]


def report(spec: PipelineSpec, rows: int, *owing: int) -> list[dict[str, dict[str, int]]]:
    return [{PIPELINE: {"rows": rows, **{f"{OWES} {spec.signatures[q]}": 1 for q in owing}}}]


@pytest.mark.parametrize("text", [JOIN, ROWS, LOOP])
@pytest.mark.parametrize(
    ("schedule", "expected"), [("swf", [False, False, True]), ("greedy", [False, True, True]), ("lwo", [False] * 3)]
)
def test_who_waits_for_a_slice(tmp_path: Path, schedule: str, expected: list[bool], text: str) -> None:
    """Windows of 10, 60 and 100 seconds, or rows; there is time for six tenths of the join. Greedy does the last slice
    before the second, which is longer, and serves nobody with it."""
    spec = spec_of(tmp_path, schedule, (10, 60, 100), text)
    graph = spec.graph
    join = next(i for i, v in enumerate(graph.vertices) if slices_of(v.op) is not None)
    assert last_slices(graph, join) == {0: 0, 1: 1, 2: 2}
    budget = Budget(0.65, 1)
    budget.decide(spec, 0)
    assert not budget.waits
    took = {graph.vertices[v].id: 1.0 if v == join else 0.0 for v in graph.stateful}
    budget.note(spec, took, report(spec, 9), 1.0)
    budget.decide(spec, 1)
    assert waits(spec, budget) == expected
    if schedule == "swf":
        budget.note(spec, {**took, graph.vertices[join].id: 0.6}, report(spec, 9, 2), 0.6)
        assert budget._work[graph.vertices[join].id] == pytest.approx(1.0), "of all slices"
        budget.decide(spec, 2)
        assert waits(spec, budget) == [False, False, True] and budget.left == {spec.signatures[2]: 1}
        budget.note(spec, {**took, graph.vertices[join].id: 0.6}, report(spec, 0, 2), 0.6)
        budget.decide(spec, 3)
        assert not budget.waits, "nothing came: who waits has its turn"


def test_the_policy_is_no_part_of_what_a_join_is() -> None:
    for text in (JOIN, ROWS, LOOP):
        plans = plan_queries([bind(text.format(w=w), Catalog(STREAMS)) for w in (1, 30)], "swf")
        other = with_schedule(plans[0], "greedy")
        assert other.id == plans[0].id and with_schedule(other, None) is other
        assert [s.schedule for v in other.vertices if (s := slices_of(v.op)) is not None] == ["greedy"]


@pytest.mark.spark
def test_small_windows_run_while_large_ones_wait(
    spark: Any, feed: Callable[[str], Feed], tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match="schedule is one of lwo, swf, greedy"):
        Session(spark, schedule="fifo")  # type: ignore[arg-type]
    windows, end = (2, 9, 25), 1000 * SECOND
    tables = {n: [events(10 * i + s, 8 * i, 8, 60) for i in range(6)] for s, n in enumerate("AB")}
    feeds = {n: feed(n).put(tables[n][0]) for n in "AB"}
    session = Session(spark, shards=2, budget="1 millisecond", schedule="swf")
    for n, source in feeds.items():
        session.stream(n, source.live())
    texts = {f"q{w}": JOIN.format(w=w) for w in windows} | {f"chain{w}": CHAIN.format(w=w) for w in (7, 9)}
    texts |= {f"{n}{w}": t.format(w=w) for n, t in (("rows", ROWS), ("loop", LOOP)) for w in (4, 80)}
    for name, text in texts.items():
        session.sql(text, name=name).write("parquet", str(tmp_path / name))
    assert "in 3 slices (swf)" in session.explain() and "in 2 slices (swf)" in session.explain()
    run = session.start(str(tmp_path / "cp"))
    run.process_all_available()
    seen: list[dict[str, int]] = []
    step = run._after

    def after(batch: int, began: float, waited: float) -> None:
        step(batch, began, waited)
        seen.append({n: m.waited for n, m in run.metrics().queries.items()})

    run._after = after  # type: ignore[method-assign]
    for i in range(1, 6):
        for n, source in feeds.items():
            source.put(tables[n][i])
    run.process_all_available()
    run.heartbeat(end)
    run.process_all_available()
    run.stop()
    assert all(s["q2"] == s["chain7"] == s["rows4"] == s["loop4"] == 0 for s in seen)
    assert all(max(s[name] for s in seen) >= 2 for name in ("q25", "chain9", "rows80", "loop80"))
    for name, text in texts.items():
        pipeline = LocalPipeline(plan_query(bind(text, session.catalog)))
        whole = {n: pa.concat_tables(t) for n, t in tables.items()}
        expected = pa.concat_tables([pipeline.push(whole), pipeline.finish()])
        found = pq.read_table(tmp_path / name, partitioning=None)
        assert bag(until(found, end)) == bag(until(expected, end)) and len(expected) > 50, name
