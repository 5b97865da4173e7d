"""Duplicate elimination by itself, against a naive model: a value is there while any of its rows is."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from draws import seeds

from muntin.core.batch import Batch
from muntin.core.time import FOREVER
from muntin.operators.context import Context
from muntin.operators.distinct import Distinct, distinct
from muntin.state.shard_state import ShardState

Row = tuple[Any, int, int]
"""Value, start, expiry."""


def context(low: int, high: int, pane: int | None = 10) -> Context:
    return Context(low, high, FOREVER, 0, None, pane)


def batch(rows: list[Row]) -> Batch:
    values, start, exp = ([r[i] for r in rows] for i in range(3))
    keys = pa.array([v[0] for v in values], pa.string()), pa.array([v[1] for v in values], pa.float64())
    columns = pa.RecordBatch.from_arrays(list(keys), names=["s", "x"])
    return Batch(columns, np.array(start, np.int64), np.array(exp, np.int64))


def step(state: ShardState, rows: list[Row], low: int, high: int, pane: int | None = 10) -> list[Row]:
    out = distinct(Distinct(), state, batch(rows), context(low, high, pane))
    assert out.sign is None
    assert ((out.ts >= low) & (out.ts < high) & (out.ts < out.exp)).all()
    assert (out.ts[1:] >= out.ts[:-1]).all()
    shown = out.columns.to_pylist()
    return [((r["s"], r["x"]), int(t), int(e)) for r, t, e in zip(shown, out.ts, out.exp, strict=True)]


def key(value: Any) -> Any:
    s, x = value
    return s, "NaN" if x is not None and math.isnan(x) else x  # -0.0 == 0.0, None == None


def union(rows: list[Row]) -> dict[Any, set[int]]:
    """The instants at which each value is there."""
    there: dict[Any, set[int]] = defaultdict(set)
    for value, start, exp in rows:
        there[key(value)] |= set(range(start, min(exp, 400)))
    return {v: t for v, t in there.items() if t}


VALUES = [(s, x) for s in ("a", None) for x in (0.0, -0.0, float("nan"), None, 1.5)]


def draw(rng: Random, fifo: bool) -> list[Row]:
    """Rows in order of start."""
    at, rows = 0, []
    for _ in range(rng.randint(1, 60)):
        at += rng.choice((0, 0, 1, 1, 2, 9))
        life = 12 if fifo else rng.choice((1, 2, 5, 12, 40, FOREVER - at if rng.random() < 0.1 else 7))
        rows.append((rng.choice(VALUES[: rng.choice((1, 3, 10))]), at, at + life))
    return rows


@pytest.mark.parametrize("fifo", [True, False])
@seeds(20, 300)
def test_a_value_is_there_while_any_of_its_rows_is(fifo: bool, seeds: range) -> None:
    for seed in seeds:
        rng = Random(seed)
        rows, state, low, out = draw(rng, fifo), ShardState(), 0, []
        waiting, pane = list(rows), rng.choice((None, 3, 10))
        while waiting or low < 380:
            high = FOREVER if low >= 370 else low + rng.choice((1, 2, 7, 30))
            ahead = high + rng.choice((0, 0, 3))  # rows that start in the future come early
            now = [r for r in waiting if r[1] < ahead]
            waiting = [r for r in waiting if r[1] >= ahead]
            out += step(state, rng.sample(now, len(now)), low, high, pane)
            low = high
        assert union(out) == union(rows), seed
        for value in {key(v) for v, *_ in out}:
            mine = sorted((t, e) for v, t, e in out if key(v) == value)
            assert all(e <= t for (_, e), (t, _) in pairwise(mine)), seed
        assert len(out) <= len(rows)


def test_the_duplicate_that_expires_last_comes_next_not_the_youngest() -> None:
    a = ("a", 1.0)
    state = ShardState()
    assert step(state, [(a, 0, 4), (a, 1, 20), (a, 2, 6)], 0, 3) == [(a, 0, 4)]
    assert step(state, [], 3, 30) == [(a, 4, 20)]


def test_a_row_that_starts_as_the_other_expires_follows_without_a_gap() -> None:
    a = ("a", 1.0)
    assert step(ShardState(), [(a, 0, 4), (a, 4, 9), (a, 4, 7)], 0, 9) == [(a, 0, 4), (a, 4, 9)]


def test_rows_that_never_expire_are_shown_once() -> None:
    a = ("a", 1.0)
    state = ShardState()
    assert step(state, [(a, 0, FOREVER), (a, 1, FOREVER)], 0, 5, None) == [(a, 0, FOREVER)]
    assert step(state, [(a, 5, FOREVER)], 5, 9, None) == []


def test_state_is_a_few_rows_a_value_and_a_step_touches_what_happens_in_it() -> None:
    """50 values, 20 rows an instant: neither the rows kept nor those opened in a step grow with the window."""
    found = []
    for length in (100, 400, 1_600):
        state, rng, touched = ShardState(), Random(1), []
        for low in range(2 * length):
            rows = [((str(rng.randrange(50)), None), low, low + length) for _ in range(20)]
            state, counter = counted(state)
            step(state, rows, low, low + 1, length // 16)
            touched.append(counter["candidates"])
        found.append((state.rows(), sum(touched[length:]) / length))
    assert max(rows for rows, _ in found) <= 50 * 6
    assert found[-1][1] <= 3 * max(20, found[0][1])


def counted(state: ShardState) -> tuple[ShardState, dict[str, int]]:
    """The state, and how many rows of candidates are opened from now on (merging included)."""
    from muntin.state.shard_state import Chunk

    counter = {"candidates": 0}

    def wrap(structure: str, chunk: Chunk) -> Chunk:
        rows = chunk.load()

        def load() -> pa.RecordBatch:
            if structure.endswith("candidates"):
                counter["candidates"] += rows.num_rows
            return rows

        return Chunk(chunk.meta, load)

    chunks = {name: [wrap(name, c) for c in cs] for name, cs in state.chunks.items()}
    return ShardState(chunks, state.heads), counter
