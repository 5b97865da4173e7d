"""Steps that are cut because their output has no room: the answers are the same, and no operator gives more than it
may, except at one instant."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from generate_further import draw_further_case
from test_local_matches import check as check_plain
from test_local_matches_wide import check as check_wide

import muntin
import muntin.engine.substeps as substeps
import muntin.operators.joins.room as room
from muntin.core.batch import Batch
from muntin.core.errors import BudgetError
from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_query
from muntin.engine.meter import Meter
from muntin.local.runtime import LocalPipeline
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.windows import QueryOptions
from muntin.state.shard_state import ShardState


@pytest.mark.parametrize("most", [1, 4])
def test_answers_do_not_depend_on_where_steps_are_cut(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(substeps, "MOST", most)
    for seed in range(7_000 + most, 7_008 + most):
        check_plain(seed, size=2, cuts=1)
        check_wide(seed)
        check_wide(seed, draw_further_case)


STREAMS = tuple(
    Stream(n, Schema.of(ts=pa.int64(), k=pa.int64(), v=pa.int64()), "ts", ts_unit=1_000_000, order=i)
    for i, n in enumerate("AB")
)
WINDOW = "[RANGE 60 SECONDS SLIDE 1 SECOND]"


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT k, v FROM A {WINDOW}",
        f"SELECT k, COUNT(*) AS n FROM A {WINDOW} GROUP BY k",
        f"SELECT k, LAST(v) AS l FROM A {WINDOW} GROUP BY k",
        "SELECT k, v FROM A [PARTITION BY k ROWS 2 SLIDE 1 SECOND]",
        f"SELECT A.k AS k, B.v AS v FROM A {WINDOW} LEFT JOIN B {WINDOW} ON A.k = B.k",
        f"SELECT A.k AS k, B.v AS v FROM A {WINDOW}, B {WINDOW} WHERE A.k = B.k",
        "SELECT A.v AS v, B.v AS w FROM A [RANGE 60 SECONDS], B [RANGE 60 SECONDS] WHERE A.k = B.k",
        "SELECT A.v AS v, B.v AS w FROM A [RANGE 60 SECONDS], B [RANGE 60 SECONDS] WHERE A.k < B.k",
        "SELECT A.v AS v, B.v AS w, C.v AS x FROM A [RANGE 60 SECONDS], B [RANGE 60 SECONDS], A [RANGE 9 SECONDS] AS C "
        "WHERE A.k = B.k AND B.k = C.k",
    ],
)
def test_no_operator_gives_more_than_it_may(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole history in one batch: 1,000 rows a stream, up to 60 answers a row."""
    most, watch = 600, Watch()
    rows = pa.table({"ts": range(1_000), "k": [i * 7 % 20 for i in range(1_000)], "v": range(1_000)})
    query = plan_query(bind(text, Catalog(STREAMS), QueryOptions()))
    whole = _answers(query, rows)
    monkeypatch.setattr(substeps, "MOST", most)
    assert _answers(query, rows, watch) == whole
    assert max(watch.given) <= 4 * most < len(whole)  # rows come and go, also those that earlier pieces gave


class Watch(Meter):
    """How many rows each step of an operator gave."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[int] = [0]

    def count(self, vertex: int, shard: int, rows_in: int, out: Batch, state: ShardState, seconds: float) -> None:
        self.given.append(len(out))


def _answers(query: Any, rows: pa.Table, meter: Meter | None = None) -> list[Any]:
    pipeline = LocalPipeline(query, meter=meter)
    tables = [pipeline.push({s.name: rows for s in query.streams}), pipeline.finish()]
    return sorted(tuple(r.values()) for t in tables for r in t.to_pylist())


def test_an_instant_with_more_combinations_than_memory_holds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two streams by their number, before they are made; of more by what runs out."""
    rows = [{"ts": n + 1, "k": 1} for n in range(100)]
    given: dict[str, Any] = {"ts": "ts", "ts_unit": "ms", "a": rows, "b": rows}
    pairs = "SELECT COUNT(*) AS n FROM a [RANGE 1 MINUTE SLIDE 1 MINUTE], b [RANGE 1 MINUTE] WHERE a.k = b.k"
    monkeypatch.setattr(substeps, "MOST", 1000)
    assert muntin.query(pairs, **given)["n"].to_pylist() == [10_000, 0]
    monkeypatch.setattr(room, "memory_limit", lambda: 100_000)
    with pytest.raises(BudgetError, match=r"10,000 combinations .* hold no more than 6,250: take shorter windows"):
        muntin.query(pairs, **given)

    def full(*_: Any) -> Any:
        raise MemoryError("malloc failed")

    monkeypatch.setattr(substeps, "run_level", full)
    with pytest.raises(BudgetError, match=r"memory ran out .*malloc failed"):
        muntin.query(pairs, **given)
