"""Shared joins that are done slice by slice: queries that wait answer later what they would have answered."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest
from test_shared_window_joins import CATALOG, SCHEMA, draw_batches, in_order

from muntin.cql.binder import bind
from muntin.dataflow.graph import QueryPlan
from muntin.dataflow.planner import plan_queries, plan_query
from muntin.local.runtime import LocalPipeline
from muntin.operators.joins.sliced_join import DONE, SlicedJoin
from muntin.plan.nodes import BoundQuery

FORMS = [
    "SELECT a.k, b.v {f}", "Istream(SELECT a.ts AS t, b.ts AS u, a.k {f})", "SELECT COUNT(*) AS n, SUM(a.v) AS t {f}",
    "SELECT a.k, MAX(b.v) AS m {f} GROUP BY a.k", "SELECT DISTINCT b.v {f}", "SELECT a.v, b.j {f} AND a.v < b.v",
]  # fmt: skip


def draw_queries(rng: Random) -> list[BoundQuery]:
    lengths = rng.sample(range(1, 24), rng.randint(2, 6))
    part = "FROM A [RANGE {w} SECONDS] a, B [RANGE {w} SECONDS] b WHERE a.k = b.k{more}"
    found = []
    for w in lengths:
        text = part.format(w=w, more=rng.choice(("", "", " AND a.v > 1")))
        found.append(bind(rng.choice(FORMS).format(f=text), CATALOG))
    return found


def sliced(plans: list[QueryPlan]) -> list[SlicedJoin]:
    return [v.op for p in plans for v in p.vertices if isinstance(v.op, SlicedJoin)]


@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(s, marks=pytest.mark.slow) for s in range(6, 100))])
def test_queries_that_wait_answer_what_they_would_have(seed: int) -> None:
    """Some queries wait in some batches; what each answers in the end is what it answers alone."""
    rng = Random(f"slices {seed}")
    queries = draw_queries(rng)
    batches, policy = draw_batches(rng, SCHEMA, 9, 10), rng.choice(("lwo", "swf", "greedy"))
    plans = plan_queries(queries, policy)
    together = LocalPipeline(plans, rng.choice((1, 2)))
    parts = []
    for batch in batches:
        wait = [n for n in range(len(queries)) if rng.random() < rng.choice((0.0, 0.5, 0.9))]
        parts.append(together.push_all(batch, deferred=wait))
    parts.append(together.finish_all())
    for query, tables in zip(queries, zip(*parts, strict=True), strict=True):
        alone, found = LocalPipeline(plan_query(query)), pa.concat_tables(tables)
        expected = [alone.push(b) for b in batches] + [alone.finish()]
        assert in_order(found) == in_order(pa.concat_tables(expected)), query.text
        times = found["ts"].cast(pa.int64()).to_pylist()
        assert times == sorted(times)


WIDE = "SELECT COUNT(*) AS n FROM A [RANGE {w} SECONDS] a, B [RANGE {w} SECONDS] b WHERE a.k = b.k"


def test_slices_that_nobody_needs_are_left_for_later() -> None:
    """While the wide query waits only the narrow one's slice is done; rows stay that the other slice still needs."""
    plans = plan_queries([bind(WIDE.format(w=w), CATALOG) for w in (2, 20)], "swf")
    assert {op.ends for op in sliced(plans)} == {(2_000_000, 20_000_000)}
    assert all(op.schedule == "swf" and op.order() == (0, 1) for op in sliced(plans))
    pipeline, batches = LocalPipeline(plans), draw_batches(Random(4), SCHEMA, 9, 12)
    join = next(i for i, v in enumerate(pipeline.graph.vertices) if isinstance(v.op, SlicedJoin))
    alone = [LocalPipeline(plan_query(bind(WIDE.format(w=w), CATALOG))) for w in (2, 20)]
    looked = []
    for batch in batches[:7]:
        narrow, wide = pipeline.push_all(batch, deferred=[1])
        assert in_order(narrow) == in_order(alone[0].push(batch)) and len(wide) == 0
        state = pipeline.states[0][join]
        looked.append(state.looked)
        assert state.heads[DONE][0] > state.heads[DONE][1]
    assert any(c.meta["max_exp"] < state.heads[DONE][0] for c in state.list("in0"))
    _, wide = pipeline.push_all(batches[7])
    assert in_order(wide) == in_order(pa.concat_tables([alone[1].push(b) for b in batches[:8]])) and len(wide) > 20
    assert len(set(pipeline.states[0][join].heads[DONE])) == 1


def test_windows_of_two_lengths_are_joined_whole() -> None:
    text = "SELECT COUNT(*) AS n FROM A [RANGE {a} SECONDS] a, B [RANGE {b} SECONDS] b WHERE a.k = b.k"
    plans = plan_queries([bind(text.format(a=a, b=b), CATALOG) for a, b in ((2, 9), (9, 2))], "greedy")
    assert not sliced(plans)
