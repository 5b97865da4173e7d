"""Windows that count rows keep what is read of them, and are over the same rows as with all columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from test_local_matches import difference, rows_of

from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.graph import QueryPlan
from muntin.dataflow.lowering.query import lower
from muntin.dataflow.planner import optimized, plan_query
from muntin.local.runtime import LocalPipeline
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.nodes import BoundQuery
from muntin.reference import run
from muntin.verify.arrow import to_table

SCHEMA = Schema.of(ts=pa.int64(), k=pa.int64(), v=pa.int64(), text=pa.string(), n=pa.int64())
STREAMS = tuple(Stream(n, SCHEMA, "ts", ts_unit=1_000_000, order=i) for i, n in enumerate("AB"))
TEXTS = {
    "count": "SELECT COUNT(*) AS n FROM A [ROWS 40]",
    "partitions": "SELECT v FROM A [PARTITION BY k ROWS 20]",
    "values": "SELECT DISTINCT k FROM A [ROWS 40]",
    "values of some": "SELECT DISTINCT q.k FROM (SELECT k, v FROM A [ROWS 40]) AS q WHERE q.v > 1",
    "negation": "SELECT k FROM A [ROWS 40] WHERE NOT EXISTS (SELECT 1 FROM B [ROWS 2] WHERE B.k = A.k)",
    "difference": "SELECT k FROM A [ROWS 40] EXCEPT ALL SELECT k FROM B [ROWS 5]",
    "first rows": "SELECT v FROM A [ROWS 40] ORDER BY k, v LIMIT 2",
    "join": "SELECT A.v AS v, B.v AS w FROM A [ROWS 40], B [ROWS 2] WHERE A.k = B.k",
    "last": "SELECT k, LAST(v) AS l FROM A [ROWS 40] GROUP BY k",
    "snapshots": "Rstream(SELECT k, COUNT(*) AS n FROM A [ROWS 40 SLIDE 3 SECONDS] GROUP BY k)",
    "time moved by rows": "SELECT COUNT(*) AS n FROM A [RANGE 30 SECONDS SLIDE 3]",
}


WHOLE = {
    "internal": "SELECT A.v AS v, B.v AS w FROM A [ROWS 9], B [ROWS 2 INTERNAL] WHERE A.k = B.k",
    "internal alone": "SELECT k FROM A [ROWS 9 INTERNAL]",
    "outer join": "SELECT A.v AS v, B.v AS w FROM A [ROWS 9] LEFT JOIN B [ROWS 2] ON A.k = B.k",
    "scalar": "SELECT A.v AS v FROM A [ROWS 9] WHERE A.v > (SELECT AVG(B.v) FROM B [ROWS 4] WHERE B.k = A.k)",
}
"""As they are written their rows are handed on whole; planned, the outer ones are cut before."""


def draw(seed: str, count: int = 60) -> dict[str, list[dict[str, Any]]]:
    """Rows of which several are equal but for what no query reads; ``n`` turns the order of an instant round."""
    rng = Random(seed)
    return {
        name: [
            {"ts": t, "k": rng.randint(0, 2), "v": rng.randint(0, 3), "text": f"{i} {'x' * 100}", "n": -i}
            for i, t in enumerate(sorted(rng.randint(0, 30) for _ in range(count)))
        ]
        for name in "AB"
    }


@pytest.mark.parametrize("plan", [lower, plan_query])
@pytest.mark.parametrize("case", WHOLE)
def test_rows_that_are_handed_on_whole(case: str, plan: Callable[[BoundQuery], QueryPlan]) -> None:
    bound, rows = bind(WHOLE[case], Catalog(STREAMS)), draw(case)
    pipeline = LocalPipeline(plan(bound), 3)
    tables = [pipeline.push({s.name: to_table(s, rows[s.name]) for s in STREAMS}), pipeline.finish()]
    got = sorted(rows_of(pipeline, tables), key=lambda r: r[0])
    assert not (problem := difference(run(bound, rows), got)), problem


@pytest.mark.parametrize("ordered", [None, "n"])
@pytest.mark.parametrize("case", TEXTS)
def test_answers_and_bytes(case: str, ordered: str | None) -> None:
    streams = tuple(replace(s, order_by=ordered) for s in STREAMS)
    bound, rows = bind(TEXTS[case], Catalog(streams)), draw(case)
    sizes = []
    for keep_unread in (False, True):
        pipeline = LocalPipeline(lower(optimized(bound), keep_unread=keep_unread), 3)
        cuts = [{s.name: to_table(s, rows[s.name][low : low + 20]) for s in streams} for low in (0, 20, 40)]
        tables = [pipeline.push(cut) for cut in cuts]
        sizes.append(sum(s.size() for s in pipeline.cells().values()))
        got = sorted(rows_of(pipeline, [*tables, pipeline.finish()]), key=lambda r: r[0])
        assert not (problem := difference(run(bound, rows), got)), problem
    assert sizes[0] < sizes[1] - 40 * 100, sizes
