"""The present answer of a query that shows changes: equal to the definition at that instant."""

from __future__ import annotations

from collections import Counter
from random import Random

import pyarrow as pa
import pytest
from generate import draw_case
from test_local_matches_wide import batches_of

from muntin.core.errors import ConfigError, DataError, UnsupportedError
from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_query
from muntin.engine.answer import present_answer
from muntin.local.runtime import LocalPipeline
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.windows import QueryOptions

SECOND = 1_000_000
STREAM = Stream("S", Schema.of(ts=pa.int64(), k=pa.int64(), v=pa.int64()), "ts", ts_unit=SECOND)


def pipeline_of(text: str, **options: object) -> LocalPipeline:
    return LocalPipeline(plan_query(bind(text, Catalog((STREAM,)), QueryOptions(**options))))  # type: ignore[arg-type]


@pytest.mark.parametrize("strategy", ["upa", "nt", "direct"])
def test_it_is_the_window_s_answer_at_the_watermark(strategy: str) -> None:
    rows = [(t, t % 3, v) for t, v in enumerate([5, 5, 1, 7, 5, 2, 9, 1, 5, 5])]
    table = pa.table({n: [r[i] for r in rows] for i, n in enumerate(("ts", "k", "v"))})
    for text, wanted in {
        "SELECT v FROM S [RANGE 5 SECONDS]": lambda live: Counter((v,) for _, _, v in live),
        "SELECT k, MAX(v) AS m FROM S [RANGE 5 SECONDS] GROUP BY k": lambda live: Counter(
            (k, max(v for _, j, v in live if j == k)) for k in {k for _, k, _ in live}
        ),
    }.items():
        pipeline = pipeline_of(text, strategy=strategy, exp=True)
        changes = [pipeline.push({"S": table})]
        for at in range(9, 16):
            changes.append(pipeline.heartbeat((at + 1) * SECOND))
            found = present_answer(pipeline.query, pa.concat_tables(changes))
            assert found.column_names == [*pipeline.query.schema.names]
            live = [r for r in rows if at - 5 < r[0] <= at]
            assert Counter(tuple(r.values()) for r in found.to_pylist()) == wanted(live), (text, at)


def test_what_is_not_all_changes_is_told() -> None:
    pipeline = pipeline_of("SELECT v FROM S [RANGE 5 SECONDS]")
    first = pipeline.push({"S": pa.table({"ts": [0, 3], "k": [1, 1], "v": [1, 2]})})
    rest = pipeline.heartbeat(100 * SECOND)
    assert present_answer(pipeline.query, pa.concat_tables([first, rest])).num_rows == 0
    with pytest.raises(DataError, match="never brought"):
        present_answer(pipeline.query, rest)
    rising = pipeline_of("Istream(SELECT v FROM S [RANGE 5 SECONDS])")
    with pytest.raises(ConfigError, match="leave out Istream"):
        present_answer(rising.query, rising.finish())
    assert present_answer(pipeline.query, first.slice(0, 0)).num_rows == 0


def test_drawn_queries_end_with_what_they_did_not_take_away() -> None:
    seen = 0
    for seed in range(60):
        case = draw_case(seed)
        try:
            query = plan_query(bind(case.text, case.catalog, case.options))
        except UnsupportedError:
            continue
        if not query.shows_op:
            continue
        pipeline = LocalPipeline(query)
        tables = [pipeline.push(b) for b in batches_of(case, query, Random(seed), 4)]
        changes = pa.concat_tables(tables)
        width = len(query.schema)
        balance: Counter[str] = Counter()
        for row in changes.to_pylist():
            values = list(row.values())
            balance[repr(values[:width])] += 1 if values[width + 1] == "+" else -1
        found = Counter(repr(list(r.values())) for r in present_answer(query, changes).to_pylist())
        assert found == +balance, case.text
        seen += 1
    assert seen > 5
