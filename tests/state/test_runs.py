"""When runs are merged: few at a time, rows seldom rewritten, and all once the young ones outgrow the oldest."""

from __future__ import annotations

import pyarrow as pa
import pytest

from muntin.state.runs import SMALL, TIER, add_run, due
from muntin.state.shard_state import ShardState

LEAST = SMALL * TIER


@pytest.mark.parametrize(
    ("sizes", "count"),
    [
        ([], 0),
        ([9], 0),
        ([1] * (TIER - 1), 0),
        ([1] * TIER, TIER),
        ([LEAST * 100] + [1] * TIER, TIER),
        ([LEAST * 100, LEAST] + [1] * (TIER - 1), 0),
        ([LEAST * 100, 1, 1, LEAST], 0),  # a greater run after smaller ones waits with them
        ([LEAST * 100] + [1] * (TIER - 1) + [LEAST], TIER),
        ([LEAST, LEAST], 0),
        ([LEAST, LEAST, 1], 3),  # the young ones have outgrown the oldest
        ([10, LEAST], 0),
    ],
)
def test_how_many_runs_are_due(sizes: list[int], count: int) -> None:
    assert due(sizes) == count


@pytest.mark.parametrize("size", [50, 700, 5_000])
def test_a_row_is_rewritten_a_logarithmic_number_of_times(size: int) -> None:
    state, written, most, count = ShardState(), 0, 0, 400

    def merge(runs: list[pa.RecordBatch], every: bool) -> pa.RecordBatch:
        nonlocal written
        assert every == (len(runs) == len(state.list("r")))
        whole = pa.Table.from_batches(runs).combine_chunks().to_batches()[0]
        written += whole.num_rows
        return whole

    for i in range(count):
        add_run(state, "r", pa.RecordBatch.from_pydict({"a": [i] * size}), merge)
        most = max(most, len(state.list("r")))
    rows = [v for c in state.list("r") for v in c.load()["a"].to_pylist()]
    assert rows == sorted(rows) and len(rows) == count * size  # older rows stay before newer ones
    assert most <= 4 * TIER and written <= 6 * count * size


def test_a_merge_may_leave_nothing() -> None:
    state = ShardState()
    for _ in range(TIER):
        add_run(state, "r", pa.RecordBatch.from_pydict({"a": [1]}), lambda runs, _: runs[0].slice(0, 0))
    assert state.list("r") == []
