"""The join of windows of rows of many sizes by itself, against a naive model: at each instant the pairs of rows that
are among the latest of their partitions then."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from muntin.core.batch import Batch
from muntin.core.time import FOREVER
from muntin.operators.context import Context, Cut
from muntin.operators.joins.counted_join import CountedJoin
from muntin.operators.joins.counted_rows import CountedInput
from muntin.operators.joins.slices import DONE, Slices
from muntin.plan.exprs import TRUE, Call, Column, Expr, Literal
from muntin.state.shard_state import ShardState

Row = tuple[Any, int, int]
"""Key, number of the row, instant."""

SIZES = [(1, 1), (2, 2), (3, 1), (1, 4), (5, 5)]
ODD = Call("ne", (Call("mod", (Column("c1", pa.int64()), Literal(3, pa.int64())), pa.int64()), Literal(0, pa.int64())),
           pa.bool_())  # fmt: skip


def join(
    partitioned: bool, sizes: list[tuple[int, int]] = SIZES, keep: Expr = TRUE, sliced: bool = False
) -> CountedJoin:
    longest = [max(s[i] for s in sizes) for i in (0, 1)]
    return CountedJoin(
        (
            CountedInput(("c0",), ("c0",) if partitioned else (), None, keep, longest[0]),
            CountedInput(("c2",), ("c2",) if partitioned else (), None, TRUE, longest[1]),
        ),
        tuple(sorted(sizes)),
        Slices(tuple(sorted({max(s) for s in sizes}))) if sliced else None,
    )


def batch(rows: list[Row], kind: pa.DataType) -> Batch:
    keys, numbers, at = ([r[i] for r in rows] for i in range(3))
    columns = pa.RecordBatch.from_arrays([pa.array(keys, kind), pa.array(numbers, pa.int64())], names=["c0", "c1"])
    return Batch(columns, np.array(at, np.int64), np.full(len(rows), FOREVER, np.int64))


def context(
    low: int, high: int, most: int | None = None, asked: int | None = None, shard: int = 0, shards: int = 1
) -> Context:
    return Context(low, high, FOREVER, 0, None, None, most=most, asked=asked, shard=shard, shards=shards)


def latest(rows: list[Row], at: int, count: int, partitioned: bool) -> list[Row]:
    by: dict[Any, list[Row]] = {}
    for r in rows:
        if r[2] <= at:
            by.setdefault(r[0] if partitioned else None, []).append(r)
    return [r for own in by.values() for r in own[-count:]]


def pairs(streams: tuple[list[Row], list[Row]], at: int, size: tuple[int, int], partitioned: bool, odd: bool) -> Any:
    left, right = (latest(s, at, n, partitioned) for s, n in zip(streams, size, strict=True))
    return Counter(
        (a[0], a[1], b[0], b[1]) for a in left for b in right if a[0] == b[0] and not (odd and a[1] % 3 == 0)
    )


def changes(out: Batch) -> list[tuple[int, int, int, tuple[Any, ...]]]:
    """(place, instant, weight, pair) of what comes and goes."""
    found = []
    assert out.sign is not None
    for row, ts, exp, sign in zip(out.columns.to_pylist(), out.ts.tolist(), out.exp.tolist(), out.sign, strict=True):
        *pair, place = row.values()
        assert ts < exp
        found += [(place, t, w, tuple(pair)) for t, w in ((ts, int(sign)), (exp, -int(sign))) if t < FOREVER]
    return found


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(s, marks=pytest.mark.slow) for s in range(3, 80))])
def test_every_window_has_the_pairs_of_its_latest_rows(seed: int) -> None:
    """Keys whose hashes prove them equal and texts; several rows of one instant, steps of any length, done whole or in
    slices of which the larger ones are behind: then in the end, and any window by when its slice has been done. At any
    instant since all were the join tells what its windows hold."""
    rng = Random(seed)
    partitioned, odd, text, sliced = (rng.random() < share for share in (0.5, 0.3, 0.3, 0.7))
    op, kind = join(partitioned, keep=ODD if odd else TRUE, sliced=sliced), pa.string() if text else pa.int64()
    keys = ["x", "y", "z"] if text else [1, 2, 3]
    streams: tuple[list[Row], list[Row]] = ([], [])
    state, found, low, number = ShardState(), [], 0, 0
    while low < 60:
        high, came = low + rng.choice((1, 2, 7, 15)), ([], [])
        for i in (0, 1):
            for at in sorted(rng.randrange(low, high) for _ in range(rng.choice((0, 1, 3, 12)))):
                number += 1
                came[i].append((rng.choice(keys), number, at))
            streams[i].extend(came[i])
        asked = rng.choice((None, 1, 2, 3, 4, 5)) if high < 60 else None
        out = op.step([batch(c, kind) for c in came], state, context(low, high, asked=asked))
        assert out.columns.column(4).to_pylist() == sorted(out.columns.column(4).to_pylist())
        found += changes(out)
        for place, size in enumerate(op.windows):
            if not sliced or asked is None or max(size) <= asked:
                assert held(found, place, high - 1) == pairs(streams, high - 1, size, partitioned, odd), size
        done = min(state.heads.get(DONE, [high]))
        at = rng.randrange(max(done - 1, 0), high)
        shown = changes(op.current([batch([], kind), batch([], kind)], state, at, context(high, high)))
        for place, size in enumerate(op.windows):
            assert held(shown, place, at) == pairs(streams, at, size, partitioned, odd), (size, at, done)
        low = high
    for place, size in enumerate(op.windows):
        for at in range(low):
            assert held(found, place, at) == pairs(streams, at, size, partitioned, odd), (size, at)


def held(found: list[tuple[int, int, int, tuple[Any, ...]]], place: int, at: int) -> dict[tuple[Any, ...], int]:
    """The pairs of a window at an instant, by what came and went."""
    count: Counter[tuple[Any, ...]] = Counter()
    for p, t, w, pair in found:
        if p == place and t <= at:
            count[pair] += w
    return {k: n for k, n in count.items() if n}


def steps(op: CountedJoin, count: int, keys: int, rows: int = 100) -> ShardState:
    rng, state = Random(3), ShardState()
    for number in range(count):
        low = 10 * number
        came = [[(rng.randrange(keys), 0, low + j // 10) for j in range(rows)] for _ in range(2)]
        op.step([batch(c, pa.int64()) for c in came], state, context(low, low + 10))
    return state


@pytest.mark.parametrize("partitioned", [False, True])
def test_rows_are_kept_once_for_all_windows_and_dead_ones_go(partitioned: bool) -> None:
    """What is kept is bounded by twice the largest window (the runs of ``state.runs``), however many rows came."""
    op = join(partitioned, [(n, n) for n in (1, 10, 100, 300)])
    held = [steps(op, count, 4).rows() for count in (10, 40)]
    live = 2 * 300 * (4 if partitioned else 1)
    assert all(n <= 2 * live + 1_200 for n in held), (held, live)


def test_a_pair_that_comes_and_goes_in_a_step_has_its_end() -> None:
    op, state = join(False, [(1, 1), (2, 2)]), ShardState()
    out = op.step([batch([(1, 1, 0), (1, 3, 4)], pa.int64()), batch([(1, 2, 1)], pa.int64())], state, context(0, 5))
    assert sorted(zip(*(x.tolist() for x in (out.ts, out.exp, out.sign)), strict=True)) == [
        (1, 4, 1), (1, FOREVER, 1), (4, FOREVER, 1), (4, FOREVER, 1),
    ]  # fmt: skip


def test_rows_of_one_instant_count_together_and_a_pair_that_both_leave_goes_once() -> None:
    op, state = join(False, [(2, 2)]), ShardState()
    out = op.step([batch([(1, n, 0) for n in (1, 2, 3)], pa.int64()), batch([(1, 4, 0)], pa.int64())], state,
                  context(0, 1))  # fmt: skip
    assert [r["c1"] for r in out.columns.to_pylist()] == [2, 3]  # the first is never seen
    both = [batch([(2, n, 5) for n in (5, 6)], pa.int64()), batch([(2, n, 5) for n in (7, 8)], pa.int64())]
    out = op.step(both, state, context(1, 6))
    gone = [r["c1"] for r, s in zip(out.columns.to_pylist(), out.sign, strict=True) if s < 0]
    assert sorted(gone) == [2, 3]


def test_a_step_that_would_give_too_much_is_cut_where_rows_come() -> None:
    op = join(False, [(50, 50)])
    came = [batch([(1, n, n) for n in range(40)], pa.int64()) for _ in range(2)]
    with pytest.raises(Cut) as cut:
        op.step(came, ShardState(), context(0, 40, most=100))
    assert 0 < cut.value.at < 40
