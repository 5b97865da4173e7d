"""Candidates of MIN and MAX: whatever expires in whatever order, at every instant the best valid row is found."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pytest

from muntin.aggregates.accumulators import Events, Replay
from muntin.aggregates.extremes import Extreme
from muntin.kernels.schedule import at_changes
from muntin.state import runs
from muntin.state.keyed_table import KeyedTable
from muntin.state.shard_state import ShardState

KEYS = pa.schema([("k", pa.int64())])


@pytest.mark.parametrize("fn", ["min", "max"])
@pytest.mark.parametrize("order", ["fifo", "any expiry"])
@pytest.mark.parametrize("seed", range(3))
def test_the_best_valid_row_at_every_instant(seed: int, order: str, fn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "SMALL", 2)
    monkeypatch.setattr(runs, "TIER", 3)
    rng, state = Random(seed), ShardState()
    rows = []  # (start, exp, group, value)
    for start in range(0, 1200, 2):
        length = 100 if order == "fifo" else rng.randint(1, 300)
        drift = start if seed == 0 else -start if seed == 1 else rng.randint(0, 500)
        rows.append((start, start + length, rng.randint(0, 2), rng.choice((None, drift, drift + rng.randint(0, 9)))))
    for low in range(0, 1200, 60):
        step(state, fn, rows, low, low + 60)
    assert sum(c.meta["n"] for c in state.list("a.candidates")) < 500


def step(state: ShardState, fn: str, rows: list[tuple[int, int, int, int | None]], low: int, high: int) -> None:
    """Replay the instants of one step and compare each emission with all rows that are valid then."""
    events = [(e, -1, r) for r in rows if low <= (e := r[1]) < high]
    events += [(s, 1, r) for r in rows if low <= (s := r[0]) < high]
    events.sort(key=lambda e: (e[0], e[1]))
    keys = pa.RecordBatch.from_arrays([pa.array([r[2] for _, _, r in events], pa.int64())], schema=KEYS)
    table = KeyedTable(state, "groups", KEYS)
    group = table.ids_of(keys, len(events))
    time = np.array([t for t, _, _ in events], np.int64)
    sign = np.array([s for _, s, _ in events], np.int8)
    exp = np.array([r[1] for _, _, r in events], np.int64)
    values = pa.RecordBatch.from_arrays([pa.array([r[3] for _, _, r in events], pa.int64())], names=["v"])
    plan = at_changes(time, group, sign, table.live, [])
    replay = Replay(Events(values, keys, time, exp, group, sign, sign > 0), plan, table, state, low, high)
    found = Extreme("a", "v", fn).values(replay).to_pylist()
    table.save(np.unique(group))
    best = min if fn == "min" else max
    instants = plan.time[plan.instant_of_emission()]
    for now, g, value in zip(instants.tolist(), plan.group.tolist(), found, strict=True):
        key = table.keys["k"][g].as_py()
        valid = [v for s, e, k, v in rows if s <= now < e and k == key and v is not None]
        assert value == best(valid, default=None), f"at {now} of {key}"
