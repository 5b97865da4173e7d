"""What the plan says is never NULL is never NULL: over random queries of the whole language, and case by case."""

from __future__ import annotations

import pyarrow as pa
import pytest
from generate_further import draw_further_case
from generate_joins import draw_join_case
from generate_wide import draw_wide_case
from user_aggregates import PLAIN

from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.optimizer.presence import never_null
from muntin.plan.catalog import Catalog, Stream
from muntin.reference import run

A = Stream("A", Schema.of(ts=pa.timestamp("us", "UTC"), k=pa.int64(), v=pa.int64()), "ts")
B = Stream("B", Schema.of(ts=pa.timestamp("us", "UTC"), k=pa.int64(), v=pa.int64()), "ts", order=1)


@pytest.mark.parametrize("draw", [draw_wide_case, draw_join_case, draw_further_case])
def test_no_result_has_a_null_where_the_plan_excludes_it(draw) -> None:  # type: ignore[no-untyped-def]
    claims = rows = 0
    for seed in range(40_000, 40_060):
        case = draw(seed)
        query = bind(case.text, case.catalog, case.options)
        names = never_null(query.root)
        found = run(query, case.streams, None, case.tables, PLAIN)
        place = [query.root.schema.names.index(n) for n in query.root.schema.names if n in names]
        claims, rows = claims + len(place), rows + len(found)
        for row in found:
            assert all(row[2][i] is not None for i in place), f"seed {seed}: {sorted(names)}\n{case.text}\n{row}"
    assert claims > 20 and rows > 300


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("SELECT A.ts AS t, A.k AS k, A.v AS v FROM A [NOW]", {"t"}),
        ("SELECT A.k AS k, B.k AS l, A.v AS v FROM A [NOW], B [NOW] WHERE A.k = B.k", {"k", "l"}),
        ("SELECT A.v AS v FROM A [NOW] WHERE A.v + 1 > 3", {"v"}),
        ("SELECT A.v AS v FROM A [NOW] WHERE A.v > 3 OR A.k > 3", set()),
        ("SELECT A.v AS v FROM A [NOW] WHERE COALESCE(A.v, 1) > 0", set()),
        ("SELECT A.v / 2 AS h, A.v + 2 AS p FROM A [NOW] WHERE A.v IS NOT NULL", {"p"}),
        ("SELECT COUNT(*) AS n, SUM(A.v) AS s, MAX(A.ts) AS m FROM A [NOW]", {"n"}),
        ("SELECT A.k AS k, MAX(A.ts) AS m, MIN(A.v) AS l FROM A [NOW] GROUP BY A.k", {"m"}),
        ("SELECT A.ts AS a, B.ts AS b FROM A [NOW] LEFT JOIN B [NOW] ON A.k = B.k", {"a"}),
        ("SELECT A.ts AS a, B.ts AS b FROM A [NOW] FULL JOIN B [NOW] ON A.k = B.k", set()),
        ("SELECT A.ts AS t FROM A [NOW] UNION ALL SELECT B.ts AS t FROM B [NOW]", {"t"}),
    ],
)
def test_cases(text: str, names: set[str]) -> None:
    assert never_null(bind(text, Catalog((A, B))).root) == names
