"""What a step reads and writes of its state does not follow the window: rows and bytes are counted, not timed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from muntin.aggregates.state_runs import _Tail
from muntin.bench.window_length import CASES, GROWING, RATE, query_of, rows
from muntin.local.runtime import LocalPipeline
from muntin.state import sorted_runs
from muntin.state.keyed_table import KeyedTable
from muntin.state.shard_state import ShardState

BATCH, STEPS = 200, 32
SHORT, LONG = 2, 32
"""Windows in seconds: 2,000 and 32,000 rows."""

APART = {"join", "left-join", "except", "not-exists"} | {"avg", "sum", "median-by-key", "quantile", "distinct"}
"""Joins keep rows in other structures; the others keep theirs as a case here does."""
MOST = {"user-panes": 4.0, "user-values": 4.0, "first-last": 2.0}
"""How much more may be read beside the long window; states of blocks: one for each power of the block."""


@dataclass
class Counted:
    """Rows that are taken out of structures, merges apart, and bytes of the chunks that are made, merges too."""

    read: int = 0
    written: int = 0


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    count = Counted()
    gathered, fill, states = sorted_runs.gathered, KeyedTable._fill, _Tail.states

    def counted_gathered(runs: Any, run: Any, place: Any) -> Any:
        count.read += len(place)
        return gathered(runs, run, place)

    def counted_fill(self: Any, found: pa.RecordBatch, place: np.ndarray, ids: np.ndarray) -> None:
        count.read += len(place)
        fill(self, found, place, ids)

    def counted_states(self: Any, now: int) -> Any:
        for state in states(self, now):
            count.read += 1
            yield state

    monkeypatch.setattr(sorted_runs, "gathered", counted_gathered)
    monkeypatch.setattr(KeyedTable, "_fill", counted_fill)
    monkeypatch.setattr(_Tail, "states", counted_states)
    for name in ("append", "replace"):
        monkeypatch.setattr(ShardState, name, weighed(getattr(ShardState, name), count))
    return count


def weighed(change: Any, count: Counted) -> Any:
    def changed(self: ShardState, structure: str, *given: Any, **meta: int) -> Any:
        made = given[-1]
        count.written += made.nbytes if made is not None else 0
        return change(self, structure, *given, **meta)

    return changed


def measure(case: str, seconds: int, count: Counted) -> tuple[float, float]:
    """Rows read and bytes written a step, beside a full window."""
    pipeline = LocalPipeline(query_of(case, seconds))
    known, position = {s.name for s in pipeline.query.streams}, 0
    for size in [2_000] * (seconds // 2) + [BATCH] * (8 + STEPS):
        if position == seconds * RATE + 8 * BATCH:
            count.read = count.written = 0
        given = {n: rows(position, size, i, seconds * RATE // 2) for i, n in enumerate("AB") if n in known}
        pipeline.push(given)
        position += size
    return count.read / STEPS, count.written / STEPS


@pytest.mark.parametrize("case", sorted(CASES.keys() - APART - GROWING.keys()))
def test_rows_read_and_bytes_written_do_not_follow_the_window(case: str, counted: Counted) -> None:
    """Sixteen times the window: a few more runs to look into, a tier more of merges."""
    (read, written), (much_read, much_written) = (measure(case, s, counted) for s in (SHORT, LONG))
    assert much_read <= MOST.get(case, 1.5) * read + 50, f"rows read a step: {read}, {much_read}"
    assert much_written <= 3 * written, f"bytes written a step: {written}, {much_written}"
