"""User-defined aggregates: what their author's code is called for, and that a group which empties starts anew."""

from __future__ import annotations

from bisect import insort
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from muntin.core.schema import Schema
from muntin.core.time import SECOND
from muntin.cql import bind
from muntin.dataflow.planner import plan_query
from muntin.local.runtime import LocalPipeline
from muntin.plan.aggregates import evaluator
from muntin.plan.catalog import AggregateFunction, Catalog, Stream

TS = pa.timestamp("us", "UTC")
CALLS: Counter[str] = Counter()
"""Not in the object: its copies count too."""


class Total:
    """SUM by hand, counting how often each step is asked for."""

    def init(self) -> list[int]:
        return [0]

    def add(self, state: list[int], value: int) -> list[int]:
        CALLS["add"] += 1
        state[0] += value
        return state

    def merge(self, a: list[int], b: list[int]) -> list[int]:
        CALLS["merge"] += 1
        a[0] += b[0]
        return a

    def finish(self, state: list[int]) -> int:
        return state[0]


class Moving(Total):
    def subtract(self, state: list[int], value: int) -> list[int]:
        CALLS["subtract"] += 1
        state[0] -= value
        return state


class Drifting(Moving):
    """A state that subtraction does not bring back to what it was."""

    def subtract(self, state: list[int], value: int) -> list[int]:
        return [super().subtract(state, value)[0] + 1000]


class HandingOn(Total):
    """Merging with the state of no values is handing on the other one."""

    def merge(self, a: list[int], b: list[int]) -> list[int]:
        return b if a == [0] else super().merge(a, b)


class Kept:
    """Hands out the very list that is its state."""

    def init(self) -> list[int]:
        return []

    def add(self, state: list[int], value: int) -> list[int]:
        insort(state, value)
        return state

    def merge(self, a: list[int], b: list[int]) -> list[int]:
        return sorted(a + b)

    def subtract(self, state: list[int], value: int) -> list[int]:
        state.remove(value)
        return state

    def finish(self, state: list[int]) -> list[int]:
        return state


def run(
    aggregate: type[Any],
    window: str,
    rows: int = 400,
    batches: int = 8,
    every: int = 0,
    same: str = "SUM",
    result: pa.DataType | None = None,
) -> tuple[pa.Table, pa.Table]:
    """The answers of the user's aggregate, and of the one that does the ``same``. ``every``: microseconds from row to
    row, 0 for random instants."""
    CALLS.clear()
    schema = Schema.of(ts=TS, k=pa.int64(), v=pa.int64())
    code = evaluator("total", aggregate)
    known = AggregateFunction("total", pa.int64(), result or pa.int64(), code.invertible)
    catalog = Catalog((Stream("s", schema, "ts"),), functions=(known,))
    rng = np.random.default_rng(5)
    ts = np.arange(rows) * every if every else np.sort(rng.integers(0, 100 * SECOND, rows))
    whole = pa.table({"ts": pa.array(ts, TS), "k": rng.integers(0, 3, rows), "v": rng.integers(0, 9, rows)})
    found = []
    for call in ("total", same):
        query = plan_query(bind(f"SELECT k, {call}(v) AS x FROM s {window} GROUP BY k", catalog))
        object.__setattr__(query, "functions", (("total", code),))
        pipeline = LocalPipeline(query, shards=2)
        cut = rows // batches
        tables: list[Any] = [pipeline.push({"s": whole.slice(i * cut, cut)}) for i in range(batches)]
        table = pa.concat_tables([*tables, pipeline.finish()])
        found.append(table.sort_by([(n, "ascending") for n in table.column_names if n != "x"]))
    return found[0], found[1]


def test_values_are_taken_away_where_that_can_be_done() -> None:
    mine, wanted = run(Moving, "[RANGE 30 SECONDS]")
    assert mine.equals(wanted)
    assert CALLS == {"add": 400, "subtract": 400}


@pytest.mark.parametrize("window", ["[RANGE 9 SECONDS SLIDE 3 SECONDS]", "[RANGE 2 SECONDS]"])
def test_an_answer_is_not_changed_by_what_comes_after(window: str) -> None:
    mine, wanted = run(Kept, window, rows=90, same="COLLECT", result=pa.list_(pa.int64()))
    assert mine.to_pylist() == wanted.to_pylist() and len(mine) > 30


def test_panes_are_added_up_once_and_merged() -> None:
    mine, wanted = run(Total, "[RANGE 30 SECONDS SLIDE 10 SECONDS]")
    assert mine.equals(wanted) and len(mine) > 30
    assert CALLS["add"] == 400
    assert CALLS["merge"] <= 3 * len(mine) * 9  # panes of 3 groups, some cut by batches


def test_a_merge_may_hand_on_its_second_state() -> None:
    mine, wanted = run(HandingOn, "[RANGE 30 SECONDS SLIDE 10 SECONDS]")
    assert mine.equals(wanted)


def test_a_short_slide_does_not_go_through_the_window_again() -> None:
    mine, wanted = run(Moving, "[RANGE 30 SECONDS SLIDE 1 SECOND]")
    assert mine.equals(wanted)
    assert CALLS == {"add": 400, "subtract": 400}


def test_without_panes_or_subtraction_the_values_are_gone_through() -> None:
    mine, wanted = run(Total, "[ROWS 20]")
    assert mine.equals(wanted) and CALLS["merge"] == 0 and CALLS["add"] > 400


@pytest.mark.parametrize("window", ["[RANGE 1 SECOND]", "[RANGE 1 SECOND SLIDE 1 SECOND]"])
@pytest.mark.parametrize("batches", [1, 50])
def test_a_group_that_empties_starts_anew(window: str, batches: int) -> None:
    mine, wanted = run(Drifting, window, rows=50, batches=batches, every=2 * SECOND)
    assert mine.equals(wanted) and len(mine) >= 50
