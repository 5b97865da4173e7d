"""The product's own shared joins: queries that differ in their windows, of time or of rows, together and each alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from random import Random

import pyarrow as pa

from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.graph import Graph, QueryPlan
from muntin.dataflow.planner import plan_queries, plan_query
from muntin.dataflow.sharing.slices import last_slices
from muntin.engine.meter import Meter
from muntin.local.runtime import LocalPipeline
from muntin.operators.joins.join_graph import GraphJoin
from muntin.operators.joins.narrow import Narrow
from muntin.operators.joins.slices import Slices, slices_of
from muntin.operators.joins.window_join import WindowJoin
from muntin.plan.catalog import Catalog, Stream
from muntin.scheduling.policies import POLICIES
from muntin.scheduling.slice_budget import share_done, within_budget
from muntin.scheduling.slices import sizes_of

SECOND = 1_000_000
SCHEMA = Schema.of(ts=pa.timestamp("us", "UTC"), k=pa.int64(), id=pa.int64())
CATALOG = Catalog(tuple(Stream(n, SCHEMA, "ts", order=i) for i, n in enumerate("AB")))
HASH, LOOPS = "a.k = b.k", "(a.k - b.k) * (a.k - b.k) < 1"
"""Conditions that a hash index serves, and none does."""

Batches = list[dict[str, pa.Table]]


TIME, ROWS = "[RANGE {} SECONDS]", "[ROWS {}]"


def text(window: int, on: str = HASH, of: str = TIME) -> str:
    """Pairs within so many seconds or rows, in the order in which they come."""
    source = f"FROM A {of.format(window)} a, B {of.format(window)} b"
    return f"Istream(SELECT a.id AS x, b.id AS y {source} WHERE {on})"


def plans_of(texts: Sequence[str], together: bool, schedule: str | None = None) -> list[QueryPlan]:
    """The plans of queries that run together, slice by slice under a ``schedule``, or each by itself."""
    bound = [bind(t, CATALOG) for t in texts]
    return plan_queries(bound, schedule) if together else [plan_query(b) for b in bound]


def draw_batches(rng: Random, batches: int, rows: int, keys: int) -> Batches:
    """Rows of both streams, two seconds a batch, each at a time of its own."""
    found, number = [], 0
    for low in range(0, 2 * batches, 2):
        times = sorted(rng.sample(range(low * SECOND, (low + 2) * SECOND), 2 * rows))
        sides = [rng.randint(0, 1) for _ in times]
        batch = {}
        for side, name in enumerate("AB"):
            own = [t for t, s in zip(times, sides, strict=True) if s == side]
            ids = list(range(number, number + len(own)))
            number += len(own)
            columns = {"ts": own, "k": [rng.randrange(keys) for _ in own], "id": ids}
            batch[name] = pa.table(columns, SCHEMA.to_arrow())
        found.append(batch)
    return found


def streams_of(
    plans: list[QueryPlan], batches: Batches, meter: Meter | None = None, budgets: Sequence[float] = ()
) -> list[list[tuple[object, ...]]]:
    """The rows of each query, in order of time (pairs that are there at once by their values). ``budgets``: how much of
    a shared join there is time for in each batch, in whole joins of one batch (none: as much as it takes)."""
    pipeline = LocalPipeline(plans, 1, meter)
    found: list[list[tuple[object, ...]]] = [[] for _ in plans]
    waits = [_waiting(pipeline.graph, b) for b in budgets] or [[]] * len(batches)
    steps = [pipeline.push_all(b, deferred=w) for b, w in zip(batches, waits, strict=True)]
    for tables in [*steps, pipeline.finish_all()]:
        for rows, table in zip(found, tables, strict=True):
            rows += sorted((tuple(r.values()) for r in table.to_pylist()), key=lambda r: (r[-1], r[:-1]))
    return found


def _sliced(graph: Graph) -> Iterator[tuple[int, Slices]]:
    """The joins that are done slice by slice."""
    for number, v in enumerate(graph.vertices):
        if (slices := slices_of(v.op)) is not None:
            yield number, slices


def _waiting(graph: Graph, budget: float) -> list[int]:
    """Whom a budget leaves no time, by the policies of the joins."""
    found: set[int] = set()
    for join, slices in _sliced(graph):
        last = last_slices(graph, join)
        users = sorted(last)
        ends = [last[u] for u in users]
        cost = partial(share_done, sizes_of(slices.ends), ends, waited=[0] * len(ends))
        served = within_budget(slices.order(), ends, cost, budget)
        found |= {u for place, u in enumerate(users) if place not in served}
    return sorted(found)


def differing_queries(cases: int, of: str, on: str) -> tuple[int, int, int]:
    """(queries, joins done slice by slice, queries that answer otherwise than alone) of random groups with windows
    ``of`` time or rows joined ``on`` a condition, under each policy within random budgets."""
    queries, joins, differing = 0, 0, 0
    for seed in range(cases):
        rng = Random(f"H1 product {seed}")
        texts = [text(w, on, of) for w in rng.sample(range(1, 20), rng.randint(2, 7))]
        batches = draw_batches(rng, 12, 8, 3)
        own = [streams_of(plans_of([t], False), batches)[0] for t in texts]
        for policy in POLICIES:
            plans = plans_of(texts, True, policy)
            together = streams_of(plans, batches, budgets=[rng.random() for _ in batches])
            queries += len(texts)
            joins += len(list(_sliced(Graph.of(plans))))
            differing += sum(a != b for a, b in zip(together, own, strict=True))
    return queries, joins, differing


def output_share(on: str, batches: Batches) -> tuple[float, int]:
    """(share of giving out results and telling whose they are in the operations of a shared join and its queries,
    rows of state looked at), as the meter counts them."""
    meter = Meter()
    plans = plans_of([text(w, on) for w in (2, 6, 12)], True)
    streams_of(plans, batches, meter)
    graph = Graph.of(plans)
    joins = [i for i, v in enumerate(graph.vertices) if isinstance(v.op, WindowJoin | GraphJoin)]
    narrows = [i for i, v in enumerate(graph.vertices) if isinstance(v.op, Narrow)]
    found = meter.of(joins[0])
    given = found.rows_out + sum(meter.of(i).work for i in narrows)
    return given / (found.work + sum(meter.of(i).work for i in narrows)), found.looked
