"""Sampled streams: which rows are admitted depends on them alone, answers are a part of the exact ones, and say so."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from test_history import snapshot

from muntin.core.batch import Batch
from muntin.core.errors import ConfigError, UnsupportedError
from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.durable import Asked, take_up
from muntin.dataflow.explain import explain, explain_as
from muntin.dataflow.graph import QueryPlan
from muntin.dataflow.planner import plan_query
from muntin.engine.valve import Valve
from muntin.local.analyze import analyze
from muntin.local.history import fill
from muntin.local.runtime import LocalPipeline
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.nodes import BoundQuery
from muntin.plan.windows import QueryOptions

SCHEMA = Schema.of(ts=pa.int64(), k=pa.int64(), v=pa.int64())
JOIN = "SELECT a.v AS x, b.v AS y FROM A [RANGE 9 SECONDS] a, B [RANGE 9 SECONDS] b WHERE a.k = b.k"
COUNT = "SELECT k, v FROM A [RANGE 9 SECONDS]"


def bound(text: str, sample: float | None = 0.5, **options: Any) -> BoundQuery:
    shares = {"A": sample}
    streams = [Stream(n, SCHEMA, "ts", ts_unit=1_000_000, order=i, sample=shares.get(n)) for i, n in enumerate("AB")]
    return bind(text, Catalog(tuple(streams)), QueryOptions(**options))


def plan(text: str, sample: float | None = 0.5, **options: Any) -> QueryPlan:
    return plan_query(bound(text, sample, **options))


def data(rows: int = 600) -> dict[str, pa.Table]:
    rng = Random(1)
    found = {}
    for name in "AB":
        columns = {"k": [rng.randrange(9) for _ in range(rows)], "v": range(rows)}
        found[name] = pa.table({"ts": sorted(rng.randrange(60) for _ in range(rows)), **columns})
    return found


def batches(cuts: int) -> list[dict[str, pa.Table]]:
    whole, found = data(), []
    for i in range(cuts):
        low, high = 60 * i / cuts, 60 * (i + 1) / cuts
        found.append({n: t.filter([low <= x < high for x in t.column("ts").to_pylist()]) for n, t in whole.items()})
    return found


def answer(query: QueryPlan, cuts: int, shards: int) -> tuple[Counter[Any], LocalPipeline]:
    pipeline = LocalPipeline(query, shards)
    tables = [pipeline.push(b) for b in batches(cuts)] + [pipeline.finish()]
    return Counter(tuple(r.values()) for t in tables for r in t.to_pylist()), pipeline


@pytest.mark.parametrize("text", [JOIN, COUNT])
def test_the_same_rows_are_admitted_however_batches_and_shards_cut_them(text: str) -> None:
    exact, _ = answer(plan(text, None), 5, 2)
    first, pipeline = answer(plan(text), 5, 2)
    assert first and all(n <= exact[row] for row, n in first.items()) and 0.3 < first.total() / exact.total() < 0.7
    for cuts, shards, options in ((1, 1, {}), (30, 3, {}), (6, 2, {"strategy": "nt"}), (6, 3, {"skew": "split"})):
        again, other = answer(plan(text, **options), cuts, shards)
        assert again == first and other.shed == pipeline.shed
    assert 200 < pipeline.shed < 400


def test_a_valve_that_is_open_costs_and_counts_nothing() -> None:
    rows = Batch(pa.record_batch({"c0": [1, 2]}), np.zeros(2, np.int64), np.zeros(2, np.int64))
    open_valve = Valve.of(plan(COUNT, 1.0).streams)
    assert open_valve == Valve() and open_valve.admitted("A", rows, ["c0"]) is None
    assert answer(plan(COUNT, 1.0), 3, 2)[0] == answer(plan(COUNT, None), 3, 2)[0]


def test_streams_are_not_sampled_alike_and_the_share_is_kept() -> None:
    n = 20_000
    rows = Batch(pa.record_batch({"c0": np.arange(n)}), np.arange(n), np.arange(n))
    valve = Valve({"A": 0.25, "B": 0.25})
    a, b = (valve.admitted(s, rows, ["c0"]) for s in "AB")
    assert a is not None and b is not None
    assert abs(a.mean() - 0.25) < 0.02 and abs(b.mean() - 0.25) < 0.02 and abs((a & b).mean() - 0.0625) < 0.01
    more = Valve({"A": 0.5}).admitted("A", rows, ["c0"])
    assert more is not None and not (a & ~more).any(), "what a smaller share admits, a larger one does"


def test_explain_and_its_run_say_that_answers_are_not_exact() -> None:
    assert "0.5 of its rows admitted, answers are not exact" in explain(bound(JOIN), plan(JOIN))
    assert "exact" not in explain(bound(JOIN, None), plan(JOIN, None))
    meter = analyze(plan(JOIN), data())
    text = explain_as("text", bound(JOIN), plan(JOIN), measured=meter)
    assert "more not admitted: answers are not exact" in text and "of the full answer is given" in text
    ((name, left),) = meter.left_out.items()
    assert name == "" and left.rows == sum(c.shed for c in meter.counters.values()) and 0.4 < left.share < 0.6
    assert analyze(plan(JOIN, None), data()).left_out == {}
    assert sum(c.shed for c in meter.counters.values()) == answer(plan(JOIN), 5, 2)[1].shed


def test_windows_of_rows_over_a_sampled_stream_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="stream A is sampled: a window of rows would count only"):
        plan("SELECT k FROM A [ROWS 5]")
    plan("SELECT k FROM B [ROWS 5]")
    plan("SELECT k FROM A [ROWS 5]", 1.0)
    for share in (0.0, 1.5, -1):
        with pytest.raises(ConfigError, match="sample is a share above 0 and up to 1"):
            bound(COUNT, share)


def test_state_goes_on_when_the_share_changes_and_what_was_sampled_is_no_history() -> None:
    sampled, whole = (bound(JOIN, s) for s in (0.5, None))
    assert plan_query(sampled).id == plan_query(whole).id
    asked = {"q": Asked(sampled, lambda p, known: plan_query(sampled, p, known))}
    begun = take_up(None, asked, 0, "1")
    pipeline = LocalPipeline(list(begun.plans.values()), 2)
    for b in batches(6)[:3]:
        pipeline.push(b)
    query = bound(JOIN.replace("RANGE 9", "RANGE 5"), None)
    now = {
        "q": Asked(whole, lambda p, known: plan_query(whole, p, known)),
        "new": Asked(query, lambda p, known: plan_query(query, p, known)),
    }
    taken = take_up(begun.durable, now, 3, "1")
    assert "q" not in taken.notes
    filled = fill(taken, now, begun.durable, lambda ids: snapshot(pipeline, 2), 2)
    assert not filled.cells and "stream A was sampled in an earlier run" in filled.taken.notes["new"]
