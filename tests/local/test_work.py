"""Work follows rows and results: every construct at n, 2n and 4n rows of one batch, and over many batches.

What is counted is rows: those that operators take, give, look at in state, give ids to, pick out and put together.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from muntin.core.batch import Batch, concat_rows
from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_query
from muntin.kernels.hashing import hash_columns
from muntin.kernels.joining import between
from muntin.kernels.schedule import at_changes, at_instants, spread
from muntin.kernels.spans import probe_spans
from muntin.local.runtime import LocalPipeline
from muntin.operators.operator import Described
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.windows import QueryOptions
from muntin.state.shard_state import ShardState

SCHEMA = Schema.of(ts=pa.int64(), k=pa.int64(), v=pa.int64())
STREAMS = tuple(Stream(n, SCHEMA, "ts", ts_unit=1_000_000, order=i) for i, n in enumerate("AB"))
W, T = "[RANGE 1 MINUTE SLIDE 1 SECOND]", "[RANGE 10 SECONDS SLIDE 1 SECOND]"
COUNTS = "SELECT {n}.k AS k, COUNT(*) AS n FROM {n} " + W + " GROUP BY {n}.k"

CONSTRUCTS = {
    "MAX": f"SELECT MAX(v) FROM A {W}",
    "FIRST": f"SELECT FIRST(v) FROM A {W}",
    "LAST by key": f"SELECT k, LAST(v) FROM A {W} GROUP BY k",
    "FIRST by key, reported at every change": "Rstream(SELECT k, FIRST(v) FROM A [RANGE 10 SECONDS] GROUP BY k)",
    "MEDIAN by key": f"SELECT k, MEDIAN(v) FROM A {W} GROUP BY k",
    "COUNT DISTINCT by key": f"SELECT k, COUNT(DISTINCT v) FROM A {W} GROUP BY k",
    "AVG of rows": "SELECT AVG(v) FROM A [ROWS 100 SLIDE 1 SECOND]",
    "rows": "SELECT k, v FROM A [ROWS 20 SLIDE 1 SECOND]",
    "rows of partitions": "SELECT k, v FROM A [PARTITION BY k ROWS 2 SLIDE 1 SECOND]",
    "top rows": f"SELECT k, v FROM A {W} ORDER BY v DESC LIMIT 5",
    "EXCEPT": f"SELECT k FROM A {W} EXCEPT SELECT k FROM B {W}",
    "EXCEPT ALL": f"SELECT k FROM A {W} EXCEPT ALL SELECT k FROM B {W}",
    "INTERSECT": f"SELECT k FROM A {W} INTERSECT SELECT k FROM B {W}",
    "DISTINCT": f"SELECT DISTINCT k FROM A {W}",
    "DISTINCT, changes": "SELECT DISTINCT k FROM A [RANGE 1 MINUTE]",
    "EXISTS": f"SELECT k, v FROM A {T} WHERE EXISTS (SELECT 1 FROM B {T} WHERE B.k = A.k)",
    "NOT EXISTS": f"SELECT k, v FROM A {T} WHERE NOT EXISTS (SELECT 1 FROM B {T} WHERE B.k = A.k)",
    "NOT IN": f"SELECT k, v FROM A {T} WHERE k NOT IN (SELECT k FROM B {T})",
    "pairs NOT IN": f"SELECT k, v FROM A {T} WHERE (k, v) NOT IN (SELECT k, v FROM B {T})",
    "count over LEFT JOIN": f"SELECT COUNT(*) AS n, COUNT(B.v) AS m FROM A {T} LEFT JOIN B {T} ON A.k = B.k",
    "count over FULL JOIN": f"SELECT COUNT(*) AS n, COUNT(B.v) AS m FROM A {T} FULL JOIN B {T} ON A.k = B.k",
    "LEFT JOIN": f"SELECT A.k, A.v, B.v AS w FROM A {T} LEFT JOIN B {T} ON A.k = B.k",
    "LEFT JOIN of aggregates": f"SELECT a.k AS k, a.n AS n, b.n AS m FROM ({COUNTS.format(n='A')}) AS a LEFT JOIN "
    f"({COUNTS.format(n='B')}) AS b ON a.k = b.k",
    "grouped join, reported at every change": "Rstream(SELECT A.k AS k, COUNT(*) AS n FROM A [RANGE 10 SECONDS], B "
    "[RANGE 10 SECONDS] WHERE A.k = B.k GROUP BY A.k)",
    "grouped band join": f"SELECT A.k AS k, COUNT(*) AS n FROM A {T}, B {T} WHERE A.k < B.k GROUP BY A.k",
    "scalar sub-query": f"SELECT k, (SELECT COUNT(*) FROM B {T} WHERE B.k = A.k) AS n FROM A {T}",
    "short-lived groups": "SELECT ts, COUNT(*) AS n FROM A [RANGE 5 SECONDS SLIDE 1 SECOND] GROUP BY ts",
    "short-lived groups, FIRST": "SELECT ts, FIRST(v) AS n FROM A [RANGE 5 SECONDS SLIDE 1 SECOND] GROUP BY ts",
}

COUNTED: tuple[tuple[Callable[..., Any], Callable[[tuple[Any, ...], Any], int]], ...] = (
    (hash_columns, lambda args, _: args[1]),
    (concat_rows, lambda _, result: result.num_rows),
    (spread, lambda _, result: len(result[0])),
    (probe_spans, lambda _, result: result.looked),
    (between, lambda _, result: result[2]),
    (at_instants, lambda _, result: len(result[0].group)),
    (at_changes, lambda _, result: len(result.group)),
)
"""Functions that touch rows, wherever they are imported, and how many a call touches."""


@contextmanager
def counting() -> Iterator[list[int]]:
    """[rows touched] inside the block."""
    touched = [0]
    with pytest.MonkeyPatch.context() as patch:
        for plain, rows in COUNTED:
            _everywhere(patch, plain, _counter(plain, rows, touched))
        patch.setattr(Batch, "take", _counter(Batch.take, lambda _, r: len(r), touched))
        patch.setattr(ShardState, "append", _counter(ShardState.append, lambda args, _: args[2].num_rows, touched))
        for kind in Described.__subclasses__():
            given = _counter(kind.step, lambda args, r: len(r) + sum(map(len, args[1])), touched)
            patch.setattr(kind, "step", given)
        yield touched


def _counter(plain: Callable[..., Any], rows: Callable[[tuple[Any, ...], Any], int], touched: list[int]) -> Any:
    def counted(*args: Any, **named: Any) -> Any:
        result = plain(*args, **named)
        touched[0] += rows(args, result)
        return result

    return counted


def _everywhere(patch: pytest.MonkeyPatch, plain: Callable[..., Any], counted: Any) -> None:
    for name, module in list(sys.modules.items()):
        if name.startswith("muntin.") and getattr(module, plain.__name__, None) is plain:
            patch.setattr(module, plain.__name__, counted)


def stream(n: int, seed: int) -> pa.Table:
    """One row a second."""
    rng = np.random.default_rng(seed)
    return pa.table({"ts": np.arange(n), "k": rng.integers(0, 20, n), "v": rng.integers(0, 1_000, n)})


def work(text: str, n: int, batch: int) -> tuple[list[int], int]:
    """(rows touched up to each batch and to the end, result rows)."""
    query = plan_query(bind(text, Catalog(STREAMS), QueryOptions()))
    data = {"A": stream(n, 1), "B": stream(n, 2)}
    pipeline, results, found = LocalPipeline(query), 0, []
    with counting() as touched:
        for at in range(0, n, batch):
            results += len(pipeline.push({s.name: data[s.name].slice(at, batch) for s in query.streams}))
            found.append(touched[0])
        results += len(pipeline.finish())
    return [*found, touched[0]], results


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_twice_the_rows_are_twice_the_work(construct: str) -> None:
    """All of a stream in one step."""
    each = [work(CONSTRUCTS[construct], n, n) for n in (500, 1_000, 2_000)]
    found = [(touched[-1], results) for touched, results in each]
    for (before, fewer), (after, more) in pairwise(found):
        assert more > 1.3 * fewer > 0
        assert after < 2.4 * before, found
    assert found[-1][0] < 60 * (2 * 2_000 + found[-1][1]), found


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_work_does_not_grow_from_step_to_step(construct: str) -> None:
    """A batch every five seconds: as much again for as many more."""
    touched, _ = work(CONSTRUCTS[construct], 500, 5)
    assert touched[-1] < 2.6 * touched[49]


class Counted(list):  # type: ignore[type-arg]
    """A list that counts how often its items are read or written."""

    touched = 0

    def __getitem__(self, at: Any) -> Any:
        self.touched += 1
        return super().__getitem__(at)


def test_groups_that_are_gone_are_not_looked_at() -> None:
    """n groups of one instant each, at n instants: the loop itself, run as Python."""
    from muntin.kernels.schedule import _snapshots

    found = []
    for n in (100, 200, 400):
        events = sorted([(t, t, 1) for t in range(n)] + [(t + 1, t, -1) for t in range(n)])
        time, group, sign = (np.array(c) for c in zip(*events, strict=True))
        live = Counted([0] * n)
        members, place, at = np.empty(n, np.int64), np.full(n, -1, np.int64), np.zeros(6, np.int64)
        shown = [np.empty(n, np.int64) for _ in range(5)]
        _snapshots.py_func(time, group, sign, live, np.arange(n), np.zeros(3, np.int64), members, place, *shown, at)
        assert at[2] == n and at[0] == 2 * n - 1
        found.append(live.touched)
    assert found[2] < 4.2 * found[0]
