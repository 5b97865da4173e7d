"""Multisets in sorted runs against sorted lists: the rows around a rank, and no more than those."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from muntin.kernels.coarse import coarse_keys
from muntin.state import runs
from muntin.state.shard_state import ShardState
from muntin.state.sorted_runs import Found, around, count_rows


@pytest.fixture(params=["usual", "small runs"])
def sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if request.param == "small runs":
        monkeypatch.setattr(runs, "SMALL", 2)
        monkeypatch.setattr(runs, "TIER", 3)
    yield


def add(state: ShardState, groups: list[int], values: list[object], counts: list[int], type: pa.DataType) -> None:
    column = pa.array(values, type)
    rows = pa.RecordBatch.from_arrays([column], names=["v"])
    count_rows(state, "m", rows, np.array(groups, np.int64), coarse_keys(column), np.array(counts, np.int64))


def contents(found: Found, asked: int) -> list[object]:
    """The values of a group that were found, with their counts added up."""
    held: dict[object, int] = {}
    if found.rows is not None:
        for value, i, n in zip(found.rows["v"].to_pylist(), found.asked.tolist(), found.count.tolist(), strict=True):
            if i == asked:
                held[value] = held.get(value, 0) + n
    assert all(n >= 0 for n in held.values())
    return sorted(v for v, n in held.items() for _ in range(n))


VALUES = {
    pa.int64(): lambda rng: rng.choice([rng.randint(-5, 5), rng.randint(-(2**63), 2**63 - 1), 2**63 - 1, -(2**63)]),
    pa.float64(): lambda rng: rng.choice([rng.uniform(-1, 1), rng.uniform(-1e300, 1e300), 0.0, float("inf")]),
    pa.string(): lambda rng: rng.choice(["", "a", "same eight", "same eighty", "é", "z\0", "z"]) * rng.randint(1, 2),
    pa.decimal128(38, 2): lambda rng: rng.choice([rng.randint(-9, 9), rng.randint(-(10**35), 10**35)]),
}


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("type", list(VALUES), ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_what_is_found_is_what_a_rank_can_reach(seed: int, type: pa.DataType) -> None:
    rng, state = Random(seed), ShardState()
    truth: dict[int, list[object]] = {g: [] for g in range(1, 5)}
    for _ in range(60):
        groups, values, counts = [], [], []
        for _ in range(rng.randint(0, 10)):
            g = rng.randint(1, 4)
            if truth[g] and rng.random() < 0.45:
                value, count = truth[g].pop(rng.randrange(len(truth[g]))), -1
            else:
                (value,) = pa.array([VALUES[type](rng)], type).to_pylist()
                insort(truth[g], value)
                count = 1
            groups, values, counts = [*groups, g], [*values, value], [*counts, count]
        add(state, groups, values, counts, type)
        asked = sorted(rng.sample(range(1, 6), rng.randint(1, 5)))
        more, fewer = (np.array([rng.randint(0, 2) for _ in asked]) for _ in range(2))
        q = rng.choice((0.0, 0.3, 0.5, 1.0))
        found = around(state, "m", np.array(asked), (more, fewer), q)
        for i, g in enumerate(asked):
            whole, got = truth.get(g, []), contents(found, i)
            assert found.size[i] == len(whole)
            below = int(found.below[i])
            assert whole[below : below + len(got)] == got
            low = int(np.floor(q * (len(whole) - fewer[i] - 1))) - more[i]
            high = int(np.ceil(q * (len(whole) + more[i] - 1))) + fewer[i]
            assert below <= max(low, 0) and below + len(got) >= min(high + 1, len(whole))


def test_no_more_is_read_than_a_rank_can_reach() -> None:
    """Ten changes around the median of 200,000 values: some twenty rows of each of the two runs."""
    state = ShardState()
    for part in (0, 1):
        values = list(range(part, 200_000, 2))
        add(state, [1] * len(values), values, [1] * len(values), pa.int64())
    found = around(state, "m", np.array([1]), (np.array([10]), np.array([10])), 0.5)
    assert found.rows is not None and found.rows.num_rows <= 48
    assert bisect_left(range(200_000), 100_000) in contents(found, 0)


def test_what_cancelled_is_gone() -> None:
    """In FIFO order, at a constant rate: about twice what is live is held."""
    state, rng = ShardState(), Random(3)
    live: list[list[int]] = []
    for _ in range(400):
        new = [rng.randint(0, 10**6) for _ in range(500)]
        add(state, [1] * 500, list(new), [1] * 500, pa.int64())
        live.append(new)
        if len(live) > 20:
            add(state, [1] * 500, list(live.pop(0)), [-1] * 500, pa.int64())
        assert sum(c.meta["n"] for c in state.list("m")) <= 2 * 11_000 + 2 * runs.SMALL * runs.TIER
