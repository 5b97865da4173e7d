"""Joins on bands and inequalities of one signature come together where that costs less: the rule's choice beside the
work that both ways count when they run. What would save less than a tenth of that stays apart: putting results in order
of windows is not counted, and takes that up."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest
from test_shared_window_joins import SCHEMA, SECOND, Batches, shared_joins

from muntin.cql.binder import bind
from muntin.dataflow.graph import QueryPlan
from muntin.dataflow.planner import plan_queries, plan_query
from muntin.dataflow.sharing import window_joins
from muntin.engine.meter import Meter
from muntin.local.runtime import LocalPipeline
from muntin.plan.catalog import Catalog, Stream

CATALOG = Catalog(tuple(Stream(n, SCHEMA, "ts", ts_unit=SECOND, order=i) for i, n in enumerate("AB")))
JOIN = "SELECT a.k, b.v FROM A [RANGE {n} SECONDS] a, B [RANGE {n} SECONDS] b WHERE {on}"
BAND, LESS = "a.v BETWEEN b.v - 1 AND b.v + 1", "a.v < b.v"


def feed(rng: Random, values: int) -> Batches:
    """A batch a second, 20 rows each."""

    def rows(t: int) -> pa.Table:
        columns = {c: [rng.randrange(values) for _ in range(20)] for c in ("k", "j", "v")}
        return pa.table({"ts": [t] * 20, **columns, "s": ["x"] * 20}, SCHEMA.to_arrow())

    return [{n: rows(t) for n in "AB"} for t in range(25)]


def done(plans: list[QueryPlan], batches: Batches) -> tuple[int, list[list[int]]]:
    """(rows taken in, given and looked at by joins and by what takes a query's own out of a shared one; how many rows
    each query shows by batch)."""
    meter = Meter()
    pipe = LocalPipeline(plans, meter=meter)
    shown = [pipe.count_all(b) for b in batches]
    return sum(meter.of(v).work for v in pipe.graph.stateful), shown


@pytest.mark.parametrize(
    ("on", "lengths", "values", "shared"),
    [
        (BAND, (20, 10), 10, True),
        (LESS, (20, 17, 14, 11, 8), 100, True),
        (LESS, (20, 2), 100, False),
    ],
)
def test_the_cheaper_way_is_taken(
    on: str, lengths: tuple[int, ...], values: int, shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = [bind(JOIN.format(n=n, on=on), CATALOG) for n in lengths]
    assert shared_joins(plan_queries(queries)) == shared
    batches = feed(Random(on), values)
    alone, shown = done([plan_query(q) for q in queries], batches)
    monkeypatch.setattr(window_joins, "joining_cost", lambda shared, own: -1e12)
    plans = plan_queries(queries)
    assert shared_joins(plans) == 1
    at_once, same = done(plans, batches)
    assert same == shown and all(shown[-1])
    assert (at_once < 0.9 * alone) == shared, (at_once, alone)
