"""A run with a budget: queries wait for their turn, and answer what they would have answered; its decisions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest_spark import Feed, bag, events, until
from test_adding import COUNTS, END, KEPT, NEWS, SLIDE, alone

from muntin.core.errors import ConfigError
from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.graph import Graph
from muntin.dataflow.planner import plan_queries
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.windows import QueryOptions
from muntin.session import Session
from muntin.spark.due import OWES, Budget, decision, groups_of
from muntin.spark.metrics import PIPELINE
from muntin.spark.pipeline import plan_pipeline
from muntin.spark.prepare import _check_nobody_waits as check_nobody_waits
from muntin.spark.spec import PipelineSpec

STREAM = Stream("A", Schema.of(ts=pa.int64(), k=pa.int64(), j=pa.int64(), v=pa.int64()), "ts", ts_unit=1_000_000)

APART = (
    "SELECT k, COUNT(*) AS n FROM A [RANGE 9 SECONDS] GROUP BY k",
    "SELECT DISTINCT j FROM A [RANGE 5 SECONDS]",
    "SELECT k, v FROM A [PARTITION BY k ROWS 3]",
)

TEXTS = {"slide": SLIDE, "kept": KEPT, "counts": COUNTS, "news": NEWS}


@pytest.mark.spark
def test_queries_wait_for_their_turn_and_lose_nothing(
    spark: Any, feed: Callable[[str], Feed], tmp_path: Path
) -> None:
    source = feed("a").put(events(0, 0, 10, 60))
    with pytest.raises(ConfigError, match="give a budget"):
        Session(spark, scheduling="edf")
    session = Session(spark, shards=2, budget="1 millisecond", scheduling="late")
    session.stream("a", source.live(), slack="2 seconds")
    for name, text in TEXTS.items():
        session.sql(text, name=name, priority=9 if name == "news" else 0).write("parquet", str(tmp_path / name))
    with pytest.raises(ConfigError, match="cannot be one that ends by itself"):
        session.start(str(tmp_path / "cp"), trigger="available_now")
    run = session.start(str(tmp_path / "cp"))
    run.process_all_available()
    seen: list[dict[str, int]] = []
    step = run._after

    def after(batch: int, began: float, waited: float) -> None:
        step(batch, began, waited)
        seen.append({n: m.waited for n, m in run.metrics().queries.items()})

    run._after = after  # type: ignore[method-assign]
    for i in range(1, 4):
        source.put(events(i, 10 * i, 10, 60, disorder_s=2))
    run.process_all_available()
    assert all(not any(s.values()) or min(s.values()) == 0 for s in seen), "one runs in any case"
    assert max(max(s.values()) for s in seen) >= 2 and not any(seen[-1].values()), "and all have had their turn"
    first = next(s for s in seen if any(s.values()))
    assert first["news"] == 0, "of equally late ones that of the greatest priority runs"
    assert {r.name for r in run.queries()} == set(TEXTS) and run.metrics("slide").lateness is not None
    source.put(events(4, 40, 10, 60))
    run.add(session.sql("SELECT k, MAX(v) AS m FROM a [RANGE 4 SECONDS] GROUP BY k", name="more").write("blackhole"))
    run.process_all_available()
    run.heartbeat(END)
    run.process_all_available()
    run.stop()
    for name, text in TEXTS.items():
        wrote = pq.read_table(tmp_path / name, partitioning=None)
        assert bag(wrote) == bag(until(alone(session, source.table(), text), END)), name
    assert run.metrics().rows == 300 and run.metrics("more").results > 0


def spec_of(tmp_path: Path, priorities: tuple[int, ...] = (0, 0, 0)) -> PipelineSpec:
    bound = [bind(t, Catalog((STREAM,)), QueryOptions(priority=p)) for t, p in zip(APART, priorities, strict=True)]
    plans = {f"q{i}": p for i, p in enumerate(plan_queries(bound))}
    spec, _ = plan_pipeline([STREAM], plans, 2, 1)
    return replace(spec, store=str(tmp_path), budgeted=True)


def took(spec: PipelineSpec, *seconds: float) -> dict[str, float]:
    """By id what the operators took where those of each query took so long."""
    own = [[v for v in spec.graph.stateful if q in spec.graph.used_by[v]] for q in range(len(seconds))]
    return {spec.graph.vertices[v].id: s / len(vs) for s, vs in zip(seconds, own, strict=True) for v in vs}


def waited(spec: PipelineSpec, budget: Budget) -> list[bool]:
    return [s in budget.waits for s in spec.signatures]


def owing(spec: PipelineSpec, *queries: int) -> list[dict[str, dict[str, int]]]:
    """A report of a batch in which these waited, and owe answers."""
    return [{PIPELINE: {"rows": 5, **{f"{OWES} {spec.signatures[q]}": 1 for q in queries}}}]


def test_equal_queries_have_the_greatest_priority_among_them() -> None:
    bound = [bind(APART[0], Catalog((STREAM,)), QueryOptions(priority=p)) for p in (1, 3, 2)]
    spec, _ = plan_pipeline([STREAM], {f"q{i}": p for i, p in enumerate(plan_queries(bound))}, 2, 1)
    assert [q.options.priority for q in spec.queries] == [3] and spec.called == (("q0", "q1", "q2"),)


def test_who_waits(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, (0, 0, 1))
    budget = Budget(1.0, 1)
    budget.decide(spec, 0)
    assert not budget.waits and not decision(spec, 0), "nothing is known of what operators take"
    budget.note(spec, took(spec, 0.4, 0.4, 0.4), owing(spec), 1.25)
    assert budget._beside == pytest.approx(0.05)
    budget.decide(spec, 1)
    assert waited(spec, budget) == [False, True, False], "the one that came first, and the one of the greater priority"
    assert decision(spec, 1) == {1}
    again = Budget(1.0, 1)
    again.decide(spec, 1)
    assert again.waits == budget.waits, "a batch that is repeated decides the same"
    budget.note(spec, took(spec, 0.4, 0.0, 0.4), owing(spec, 1), 0.85)
    assert budget.left == {spec.signatures[1]: 1}
    budget.decide(spec, 2)
    assert waited(spec, budget) == [True, False, True], "it owes two batches, which leaves no time for another"
    budget.note(spec, took(spec, 0.0, 0.8, 0.0), owing(spec), 0.85)
    assert not budget.left and len(budget.held) == 2, "no rows came, so nothing is owed"
    budget.everybody = True
    budget.decide(spec, 3)
    assert not budget.waits and budget.held and not decision(spec, 3)


def test_a_new_query_is_refused_where_somebody_waits() -> None:
    """The next run would share with it what is behind; one of the same queries lets them catch up first."""
    before = SimpleNamespace(queries={"one": None})
    same = SimpleNamespace(on_change="refuse", asked={"one": None})
    check_nobody_waits(same, before, ["signature"])
    more = SimpleNamespace(on_change="refuse", asked={"one": None, "two": None})
    check_nobody_waits(more, before, [])
    for job in (more, SimpleNamespace(on_change="refill", asked={"one": None})):
        with pytest.raises(ConfigError, match=r"1 queries waited for their turn.*add the new one to it with run.add"):
            check_nobody_waits(job, before, ["signature"])


def test_periods_of_a_session_and_of_a_query() -> None:
    conf = SimpleNamespace(get=lambda key, *default: "UTC")
    spark: Any = SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=2), conf=conf)
    flexible, plain = Session(spark, periods="flexible"), Session(spark)
    flexible.catalog = plain.catalog = Catalog((STREAM,))
    slide = "SELECT k, COUNT(*) AS n FROM A [RANGE 9 SECONDS SLIDE 3 SECONDS] GROUP BY k"

    def of(session: Session, text: str, **options: Any) -> str:
        return session.sql(text, **options).physical.options.periods

    assert [of(flexible, t) for t in (slide, APART[0])] == ["flexible", "exact"], "where it can be"
    assert of(flexible, slide, periods="exact") == "exact" == of(plain, slide)
    assert of(plain, slide, periods="flexible", priority=3) == "flexible"
    with pytest.raises(ConfigError, match="its period cannot be flexible, since it has no SLIDE in time"):
        of(plain, APART[0], periods="flexible")
    with pytest.raises(ConfigError, match="periods is \"exact\" or \"flexible\", not 'often'"):
        Session(spark, periods="often")  # type: ignore[arg-type]


def test_who_shares_operators_is_of_one_group(tmp_path: Path) -> None:
    assert groups_of(spec_of(tmp_path).graph) == [0, 1, 2]
    texts = [APART[0], APART[1], f"{APART[0]} HAVING COUNT(*) > 1"]
    graph = Graph.of(plan_queries(bind(t, Catalog((STREAM,))) for t in texts))
    assert groups_of(graph) == [0, 1, 0]
