"""What a harvested join tells of its own answer, beside the exact one, without Spark: streams whose partners are 12 s
apart, the driver and the join as they are there, seconds simulated from the rows that are looked at."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from muntin.bench.overload_rows import EXACT, TEXT, WINDOW, rows_at
from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.cql.options import query_options
from muntin.dataflow.harvestable import harvestable
from muntin.dataflow.planner import plan_query
from muntin.engine.boxes import Scanned
from muntin.engine.harvesting import Given, of_json
from muntin.engine.meter import Meter
from muntin.engine.pace import Pace
from muntin.engine.valve import Valve
from muntin.local.runtime import LocalPipeline
from muntin.operators.joins.harvest import added
from muntin.plan.catalog import Catalog, Stream
from muntin.spark.overload import HarvestedJoin, Overload, Policy, Traffic

COLUMNS = Schema.of(ts=pa.timestamp("us", "UTC"), n=pa.int64(), x=pa.float64())
STREAMS = Catalog(tuple(Stream(n, COLUMNS, "ts", order=i) for i, n in enumerate("lr")))
SCANS = (Scanned("l", WINDOW), Scanned("r", WINDOW))
INTERVAL, FIXED, RATE = 3.0, 0.3, 80
"""Seconds from batch to batch, and of one without rows; rows a second of each stream."""


@dataclass(frozen=True)
class Batch:
    """``given`` as the driver tells it, the ``exact`` number of results, and how many the join gave."""

    given: Given
    exact: int
    results: int


def simulated(store: Path, load: float, batches: int, seed: int) -> list[Batch]:
    """A run at ``load`` times what there is time for, from empty windows on."""
    pipeline = LocalPipeline(plan_query(bind(TEXT, STREAMS, query_options({"shed": "harvest"}))), 2)
    whole = LocalPipeline(plan_query(bind(EXACT, STREAMS, query_options({}))), 2)
    (join,) = (v for v in range(len(pipeline.graph.vertices)) if harvestable(pipeline.graph, v))
    policy = Policy(SCANS, "harvest", 0.0, 0)
    driver = Overload(str(store), {"q": policy}, Pace(INTERVAL, warm=0), {"v": HarvestedJoin(2, ("q",))})
    each = (0.8 * INTERVAL - FIXED) / (2 * (RATE / load) ** 2 * INTERVAL * WINDOW)
    rows, noise, at, before, found = np.random.default_rng(seed), random.Random(seed), 0.0, -INTERVAL, []
    for batch in range(batches):
        driver.decide(batch)
        decided = driver.current
        came = {s: rows_at(rows, s, 1000 + before, at - before, RATE, 0) for s in "lr"}
        parts = of_json(decided.harvest["v"])
        pipeline.valve = Valve({}, [decided.of("q")], {join: parts}, decided.explored)
        pipeline.meter = meter = Meter()
        results, exact = pipeline.push(came).num_rows, whole.push(came).num_rows
        looked = sum(c.looked for c in meter.counters.values())
        counts = added(c for _, c in pipeline.harvested)
        pipeline.harvested.clear()
        took = (FIXED + each * looked) * noise.uniform(0.9, 1.1)
        rates = {s: float(came[s].num_rows) for s in "lr"}
        traffic = Traffic({"q": sum(map(int, rates.values()))}, rates, {"q": results})
        driver.done(batch, at, at + took, traffic, {"v": counts})
        found.append(Batch(driver.given("q", results), exact, results))
        before, at = at, at + max(INTERVAL, took)
    return found


def share(batches: list[Batch]) -> float:
    return sum(b.results for b in batches) / sum(b.exact for b in batches)


def told(batches: list[Batch]) -> Given:
    return sum((b.given for b in batches), Given())


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_share_that_is_told_is_that_which_is_given(tmp_path: Path, seed: int) -> None:
    settled = simulated(tmp_path, 3.0, 50, seed)[30:]
    assert share(settled) > 0.6, "a ninth of the work finds most partners"
    assert told(settled).share == pytest.approx(share(settled), abs=0.06)
    assert abs(told(settled).share - share(settled)) <= told(settled).share_error < 0.3


def test_a_join_that_has_time_tells_that_it_gave_all(tmp_path: Path) -> None:
    ran = simulated(tmp_path, 0.7, 15, 1)
    assert all(b.results == b.exact for b in ran)
    assert told(ran) == Given(sum(b.exact for b in ran), sum(b.exact for b in ran), 0.0)
