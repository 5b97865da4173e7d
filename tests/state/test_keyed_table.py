"""The table of counters by key against a dict: whatever is cut into steps, merged, hashed alike or absent."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from muntin.core.errors import StoreError
from muntin.state import keyed_table, runs
from muntin.state.keyed_table import KeyedTable
from muntin.state.shard_state import ShardState

KEYS = pa.schema([("k", pa.int64()), ("s", pa.string())])


@pytest.fixture(params=["usual", "small runs"])
def sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if request.param == "small runs":
        monkeypatch.setattr(runs, "SMALL", 1)
        monkeypatch.setattr(runs, "TIER", 2)
    yield


def batch(keys: list[tuple[int | None, str | None]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"k": [k for k, _ in keys], "s": [s for _, s in keys]}, schema=KEYS)


def drawn(rng: Random) -> tuple[int | None, str | None]:
    return rng.choice([None, *range(30)]), rng.choice([None, "", "a", "b" * 40])


def steps(seed: int, count: int = 60) -> None:
    """Random steps on a table and on a dict; a key without live rows is forgotten with all that it counted."""
    rng, state = Random(seed), ShardState()
    truth: dict[tuple[int | None, str | None], tuple[int, int, bytes | None]] = {}
    for step in range(count):
        table = KeyedTable(state, "t", KEYS)
        assert table.alive == len(truth)
        picked = [drawn(rng) for _ in range(rng.randint(0, 12))]
        if rng.random() < 0.2:
            table.load_all()
            assert {(k, s) for k, s in zip(*table.keys.to_pydict().values(), strict=True)} >= set(truth)
        ids = table.ids_of(batch(picked), len(picked))
        counter = "early" if step < 20 else "late"
        for key, i in zip(picked, ids.tolist(), strict=True):
            live, early, blob = truth.get(key, (0, 0, None))
            assert (table.live[i], table.counter("early")[i], table.blob("b")[i]) == (live, early, blob), key
        touched = np.unique(ids)
        for i in touched.tolist():
            key = picked[ids.tolist().index(i)]
            live = rng.choice((0, 0, 1, 5))
            table.live[i] = live
            if live == 0:
                table.counter("early")[i], table.counter("late")[i], table.blob("b")[i] = 0, 0, None
                truth.pop(key, None)
                continue
            table.counter(counter)[i] += step
            table.blob("b")[i] = b"x" * live
            truth[key] = (live, int(table.counter("early")[i]), b"x" * live)
        table.save(touched)


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("seed", range(12))
def test_a_table_equals_a_dict(seed: int) -> None:
    steps(seed)


@pytest.mark.parametrize("seed", range(4))
def test_keys_that_hash_alike_are_told_apart(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def few(columns: list[pa.Array], rows: int) -> np.ndarray:
        return hashed(columns, rows) & 3

    hashed = keyed_table.hash_columns
    monkeypatch.setattr(keyed_table, "hash_columns", few)
    monkeypatch.setattr("muntin.kernels.keys.hash_columns", few)
    steps(seed, 30)


@pytest.mark.usefixtures("sizes")
def test_a_table_without_key_columns_has_one_key() -> None:
    state = ShardState()
    for step in range(20):
        table = KeyedTable(state, "t", pa.schema([]))
        ids = table.ids_of(pa.RecordBatch.from_arrays([], names=[]), 0)
        assert len(ids) == 0 and len(table) == 1
        assert table.counter("n")[0] == step
        table.counter("n")[0] += 1
        table.live[0] = 1
        table.save(np.array([0]))


@pytest.mark.usefixtures("sizes")
def test_numbers_stay_with_their_keys_and_are_never_shared() -> None:
    rng, state = Random(1), ShardState()
    known: dict[tuple[int | None, str | None], int] = {}
    for _ in range(60):
        table = KeyedTable(state, "t", KEYS)
        picked = [drawn(rng) for _ in range(6)]
        ids = table.ids_of(batch(picked), len(picked))
        for key, number in zip(picked, table.numbers()[ids].tolist(), strict=True):
            assert known.setdefault(key, number) == number
        table.live[:] = 1
        table.save(np.unique(ids))
    assert len(set(known.values())) == len(known)


def test_runs_are_few_and_rows_are_rewritten_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand keys come and a thousand go in each of 600 steps: what is held follows what is live, what is written
    what is changed."""
    state, written = ShardState(), 0
    append, replace = ShardState.append, ShardState.replace

    def counted(self: ShardState, structure: str, rows: pa.RecordBatch, **meta: int) -> object:
        nonlocal written
        written += rows.num_rows
        return append(self, structure, rows, **meta)

    def recounted(self: ShardState, structure: str, old: list, rows: pa.RecordBatch, **meta: int) -> None:
        nonlocal written
        written += rows.num_rows
        replace(self, structure, old, rows, **meta)

    monkeypatch.setattr(ShardState, "append", counted)
    monkeypatch.setattr(ShardState, "replace", recounted)
    schema, live, each = pa.schema([("k", pa.int64())]), 20_000, 1_000
    for step in range(600):
        table = KeyedTable(state, "t", schema)
        keys = np.arange(step * each, (step + 1) * each)
        both = np.append(keys, keys - live)
        ids = table.ids_of(pa.RecordBatch.from_arrays([pa.array(both)], schema=schema), 2 * each)
        table.live[ids[:each]] += 1
        table.live[ids[each:]] = 0
        table.save(np.unique(ids))
        assert len(state.list("t")) <= runs.TIER * 4
        assert sum(c.meta["n"] for c in state.list("t")) <= 3 * live + runs.SMALL * runs.TIER * 2
    assert written <= 600 * 2 * each * 6


def test_a_table_of_another_layout_is_refused() -> None:
    state = ShardState()
    state.append("t", pa.RecordBatch.from_pydict({"k": [1], "s": ["a"], "__live": [1]}, schema=None))
    with pytest.raises(StoreError, match="the table t was written by another release"):
        KeyedTable(state, "t", KEYS)
