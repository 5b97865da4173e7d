"""The join of windows of rows on conditions: without equal columns (a nested loop, ranges of sorted columns), and of
windows whose partitions the joined columns do not tell; on several shards that all number all rows."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from test_counted_join import changes, context, held

from muntin.core.batch import Batch
from muntin.core.time import FOREVER
from muntin.operators.joins.bands import bands_of
from muntin.operators.joins.counted_join import CountedJoin
from muntin.operators.joins.counted_rows import CountedInput
from muntin.operators.joins.slices import Slices
from muntin.plan.exprs import TRUE, Call, Column, Expr, Literal
from muntin.state.shard_state import ShardState

Row = tuple[int, int, int | None, int]
"""Number of the row, key, value, instant."""

SIZES = [(1, 1), (2, 2), (4, 1), (1, 3), (6, 6)]
INT = pa.int64()
V, W = Column("c2", INT), Column("c5", INT)


def call(fn: str, *args: Expr) -> Expr:
    return Call(fn, args, pa.bool_())


def plus(e: Expr, n: int) -> Expr:
    return Call("add", (e, Literal(n, INT)), INT)


CONDITIONS: dict[str, tuple[Expr, Any]] = {
    "none": (TRUE, lambda v, w: True),
    "unequal": (call("ne", V, W), lambda v, w: None not in (v, w) and v != w),
    "less": (call("lt", V, W), lambda v, w: None not in (v, w) and v < w),
    "band": (
        call("and", call("ge", V, plus(W, -1)), call("le", V, plus(W, 1))),
        lambda v, w: None not in (v, w) and abs(v - w) <= 1,
    ),
}


def join(
    keyed: bool, by: tuple[str, str], kind: str, spread: bool, sliced: bool, slides: tuple[int, int] = (1, 1)
) -> CountedJoin:
    """``by``: the partitions of each input ("": none, "k": the key, "p": another column)."""
    condition = CONDITIONS[kind][0]
    parts = [condition] if kind != "band" else list(condition.args)  # type: ignore[union-attr]
    bands = () if keyed else bands_of([c for c in parts if c != TRUE], {"c2": 0, "c5": 1})
    inputs = []
    for i, first in enumerate((0, 3)):
        column = {"k": f"c{first + 1}", "p": f"c{first}"}
        inputs.append(
            CountedInput(
                (column["k"],) if keyed else (), (column[by[i]],) if by[i] else (), None, TRUE,
                max(s[i] for s in SIZES), (f"c{first + 1}",) if spread and (keyed or i == 0) else None,
                tuple(sorted({b.column for b in bands if b.input == i})), slides[i],
            )
        )  # fmt: skip
    slices = Slices(tuple(sorted({max(s) for s in SIZES}))) if sliced else None
    return CountedJoin((inputs[0], inputs[1]), tuple(sorted(SIZES)), slices, condition, bands)


def batch(rows: list[Row]) -> Batch:
    """c0: whether the number is odd, c1: the key, c2: the value."""
    columns = [pa.array([own(r) for r in rows], INT) for own in (lambda r: r[0] % 2, lambda r: r[1], lambda r: r[2])]
    named = pa.RecordBatch.from_arrays(columns, names=["c0", "c1", "c2"])
    return Batch(named, np.array([r[3] for r in rows], np.int64), np.full(len(rows), FOREVER, np.int64))


def latest(rows: list[Row], at: int, count: int, by: str, slide: int) -> list[Row]:
    """The last ones, as of the last row whose number is a multiple of the slide."""
    parts: dict[Any, list[Row]] = {}
    for r in rows:
        if r[3] <= at:
            parts.setdefault({"": None, "k": r[1], "p": r[0] % 2}[by], []).append(r)
    ends = {k: len(own) // slide * slide for k, own in parts.items()}
    return [r for k, own in parts.items() for r in own[max(ends[k] - count, 0) : ends[k]]]


def pairs(streams: tuple[list[Row], list[Row]], at: int, size: tuple[int, int], drawn: tuple[Any, ...]) -> Any:
    keyed, by, kind, slides = drawn
    left, right = (latest(s, at, n, *own) for s, n, *own in zip(streams, size, by, slides, strict=True))
    fulfil = CONDITIONS[kind][1]
    return Counter(
        (a[0] % 2, a[1], a[2], b[0] % 2, b[1], b[2])
        for a in left for b in right if (not keyed or a[1] == b[1]) and fulfil(a[2], b[2])
    )  # fmt: skip


@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(s, marks=pytest.mark.slow) for s in range(6, 200))])
def test_every_window_has_the_pairs_of_its_latest_rows(seed: int) -> None:
    """Whole or in slices of which the larger ones are behind, on one shard or several, against the naive model."""
    rng = Random(f"conditions {seed}")
    keyed, sliced, shards = rng.random() < 0.3, rng.random() < 0.6, rng.choice((1, 1, 3))
    by = rng.choice(("", "", "k", "p")), rng.choice(("", "k", "p"))
    kind = rng.choice(("less", "band") if keyed else ("none", "unequal", "less", "band", "band"))
    slides = rng.choice(((1, 1), (1, 1), (2, 2), (3, 1), (2, 5)))
    op, drawn = join(keyed, by, kind, shards > 1, sliced, slides), (keyed, by, kind, slides)
    states: list[ShardState] = [ShardState() for _ in range(shards)]
    streams: tuple[list[Row], list[Row]] = ([], [])
    found, low, number = [], 0, 0
    while low < 40:
        high, came = low + rng.choice((1, 2, 7, 15)), ([], [])
        for i in (0, 1):
            for at in sorted(rng.randrange(low, high) for _ in range(rng.choice((0, 1, 3, 9)))):
                number += 1
                came[i].append((number, rng.choice((1, 2)), rng.choice((None, 1, 2, 3, 4)), at))
            streams[i].extend(came[i])
        asked = rng.choice((None, 1, 2, 4, 6)) if high < 40 else None
        for shard, state in enumerate(states):
            ctx = context(low, high, asked=asked, shard=shard, shards=shards)
            found += changes(op.step([batch(c) for c in came], state, ctx))
        for place, size in enumerate(op.windows):
            if not sliced or asked is None or max(size) <= asked:
                assert held(found, place, high - 1) == pairs(streams, high - 1, size, drawn), size
        shown = [
            c for n, s in enumerate(states)
            for c in changes(op.current([batch([])] * 2, s, high - 1, context(high, high, shard=n, shards=shards)))
        ]  # fmt: skip
        if not sliced or asked is None:
            for place, size in enumerate(op.windows):
                assert held(shown, place, high - 1) == pairs(streams, high - 1, size, drawn), size
        low = high
    for place, size in enumerate(op.windows):
        for at in range(low):
            assert held(found, place, at) == pairs(streams, at, size, drawn), (size, at)


def test_a_range_is_looked_up_where_a_condition_gives_one() -> None:
    """Of windows of 400 rows with values far apart a step looks at few of those that it would go through otherwise."""
    looked = {}
    for kind in ("unequal", "band"):
        op, state, rng = join(False, ("", ""), kind, False, False), ShardState(), Random(7)
        wide = CountedJoin(
            tuple(CountedInput(i.keys, i.by, None, TRUE, 400, None, i.sorted_by) for i in op.inputs),  # type: ignore[arg-type]
            ((400, 400),), None, op.condition, op.bands,
        )  # fmt: skip
        for step in range(4):
            came = [[(n, 1, rng.randrange(10_000), 10 * step) for n in range(200)] for _ in range(2)]
            wide.step([batch(c) for c in came], state, context(10 * step, 10 * step + 10))
        looked[kind] = state.looked
    assert 20 * looked["band"] < looked["unequal"]
