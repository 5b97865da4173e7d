"""Aggregates over values read counts together where that costs less: the rule's choice beside the work that both ways
do when they run, and the same answers either way."""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from test_shared_aggregates import shown

from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.durable import Asked, from_json, take_up, to_json
from muntin.dataflow.graph import QueryPlan
from muntin.dataflow.planner import plan_query
from muntin.dataflow.sharing.rules import shared_graph
from muntin.dataflow.sharing.value_costs import STEP, different, settled_by_cost
from muntin.engine.meter import Meter
from muntin.local.contents import Running
from muntin.local.runtime import LocalPipeline
from muntin.operators.synopsis import Synopsis
from muntin.optimizer.statistics import Statistics
from muntin.plan.catalog import Catalog, Stream

SCHEMA = Schema.of(ts=pa.int64(), k=pa.int64(), v=pa.int64())
CATALOG = Catalog((Stream("s", SCHEMA, "ts", ts_unit=1_000_000),))
RATE, SECONDS = 4_000, 40


def known(kinds: int, rate: float = RATE) -> Statistics:
    return Statistics({"s": rate}, distinct={("s", "k"): 1.0, ("s", "v"): float(kinds)})


def plans(functions: list[str], slide: int, length: int = 30) -> list[QueryPlan]:
    """A query a function, each over a window of its own."""
    texts = (
        f"SELECT k, {f} AS a FROM s [RANGE {length - 3 * i} SECONDS SLIDE {slide} SECONDS] GROUP BY k"
        for i, f in enumerate(functions)
    )
    return [plan_query(bind(t, CATALOG)) for t in texts]


def apart(given: list[QueryPlan]) -> list[QueryPlan]:
    return [replace(p, sharing=tuple((v.id, False) for v in p.vertices)) for p in given]


def together(given: list[QueryPlan]) -> bool:
    return any(isinstance(v.op, Synopsis) for v in shared_graph(given).vertices)


def feed(kinds: int, rate: int = RATE) -> list[dict[str, pa.Table]]:
    """A batch a second."""
    rng = np.random.default_rng(5)
    zeros = np.zeros(rate, np.int64)
    made = ({"ts": zeros + t, "k": zeros, "v": rng.integers(0, kinds, rate)} for t in range(SECONDS))
    return [{"s": pa.table(columns)} for columns in made]


def done(given: list[QueryPlan], batches: list[dict[str, pa.Table]]) -> tuple[float, list[object]]:
    """(work of what keeps state, in units of the rule: a count that a synopsis goes through is looked at twice, as it
    is read and as it is added up; answers)."""
    meter = Meter()
    pipe = LocalPipeline(given, meter=meter)
    parts = [pipe.push_all(b) for b in batches]
    kept = [meter.of(v) for v in pipe.graph.stateful]
    rows = [shown(pa.concat_tables(own)) for own in zip(*parts, strict=True)]
    return sum(c.work + STEP * c.calls for c in kept), rows


@pytest.mark.parametrize(
    ("functions", "slide", "kinds", "shared"),
    [
        (["COUNT(DISTINCT v)"] * 2, 1, 1_000_000, False),
        (["COUNT(DISTINCT v)", "MEDIAN(v)", "QUANTILE(v, 0.9)", "COUNT(DISTINCT v)", "MEDIAN(v)"], 10, 1_000_000, True),
        (["FREQUENT(v, 3)"] * 2, 1, 1_000_000, True),
        (["MEDIAN(v)"] * 2, 1, 20, True),
    ],
)
def test_the_cheaper_way_is_taken(functions: list[str], slide: int, kinds: int, shared: bool) -> None:
    given, batches = plans(functions, slide), feed(kinds)
    assert together(settled_by_cost(given, known(kinds))) == shared
    at_once, rows = done(given, batches)
    alone, same = done(apart(given), batches)
    assert rows == same
    assert (at_once < alone) == shared, (at_once, alone)


def test_who_reports_often_stays_apart_from_those_that_do_not() -> None:
    """Each second over many values all counts held would be gone through; every 30 seconds they may."""
    slow = plans(["COUNT(DISTINCT v)"] * 6, 30, 600)
    (fast,) = plans(["MEDIAN(v)"], 1, 600)
    chosen = settled_by_cost([fast, *slow], known(1_000_000, 20_000.0))
    (note,) = shared_graph(chosen).shared
    assert note.plans == (1, 2, 3, 4, 5, 6)


def test_form_stays_over_restarts_and_new_queries_heed_what_was_measured() -> None:
    """Two that cost less apart stay apart with other statistics; what runs is told in this form."""
    texts = [f"SELECT k, COUNT(DISTINCT v) AS a FROM s [RANGE {r} SECONDS SLIDE 1 SECOND] GROUP BY k" for r in (60, 50)]
    asked = {f"q{i}": _asked(t) for i, t in enumerate(texts)}
    first = take_up(None, asked, 0, "test", known=known(1_000_000, 50_000.0))
    assert not together(list(first.plans.values()))
    stored = from_json(json.loads(json.dumps(to_json(first.durable))))
    assert not any(isinstance(v.op, Synopsis) for v in Running.of(stored).graph.vertices)
    again = take_up(stored, asked, 5, "test", known=known(5, 1.0))
    assert not together(list(again.plans.values()))
    assert together(list(take_up(None, asked, 0, "test", known=known(5, 1.0)).plans.values()))


def _asked(text: str) -> Asked:
    bound = bind(text, CATALOG)
    return Asked(bound, lambda places, known: plan_query(bound, places, known))


def test_different_values_of_random_rows() -> None:
    rng = Random(2)
    for rows, kinds in ((100, 50), (40, 1_000)):
        mean = sum(len({rng.randrange(kinds) for _ in range(rows)}) for _ in range(300)) / 300
        assert abs(different(rows, kinds) - mean) < 1
    assert different(10, 1) == 1 and different(0.5, 1) == 0.5
