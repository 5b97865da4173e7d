"""What a join keeps: its windows, not its intermediate results (Golab & Ozsu, section 3).

A and B have a thousand rows each in one key value, so A join B has a million results; C is empty.
"""

from __future__ import annotations

import pyarrow as pa
import pytest

from muntin.core.schema import Schema
from muntin.core.time import SECOND
from muntin.cql.binder import bind
from muntin.dataflow.lowering import join_layout
from muntin.dataflow.planner import plan_query
from muntin.local.runtime import LocalPipeline
from muntin.operators.joins.window_join import WindowJoin
from muntin.operators.operator import Described
from muntin.plan.catalog import Catalog, Stream

SIZE = 1_000
ONE_ATTRIBUTE = "a.k = b.k AND b.k = c.k"
TWO_ATTRIBUTES = "a.k = b.k AND b.j = c.j"
WINDOWS = "A [RANGE 1 HOUR] AS a, B [RANGE 1 HOUR] AS b, C [RANGE 1 HOUR] AS c"


RELAYED = 10**9
"""Shards that a broadcast row is taken to go to: so many that the planner relays instead."""


def started(where: str, shards: int) -> LocalPipeline:
    schema = Schema.of(ts=pa.int64(), k=pa.int64(), j=pa.int64())
    streams = tuple(Stream(n, schema, "ts", ts_unit=SECOND, order=i) for i, n in enumerate("ABC"))
    query = bind(f"SELECT a.j AS x, b.j AS y, c.j AS z FROM {WINDOWS} WHERE {where}", Catalog(streams))
    return LocalPipeline(plan_query(query), shards)


def rows(low: int, high: int, key: int = 1) -> pa.Table:
    """Rows at the seconds from ``low`` on, with their second as ``j``."""
    ts = pa.array(range(low, high), pa.int64())
    return pa.table({"ts": ts, "k": pa.array([key] * (high - low), pa.int64()), "j": ts})


def held(pipeline: LocalPipeline, kind: type[Described] = Described) -> int:
    """Rows in the state of all vertices with such an operator, over all shards."""
    ops = [v.op for v in pipeline.graph.vertices]
    return sum(s.rows() for states in pipeline.states for v, s in states.items() if isinstance(ops[v], kind))


def most_held(pipeline: LocalPipeline) -> int:
    """Feeds A and B in ten batches, every instant of each complete; the most rows that were held after one."""
    step = SIZE // 10
    most = 0
    for low in range(0, SIZE, step):
        part = rows(low, low + step)
        pipeline.push({"A": part, "B": part})
        assert len(pipeline.heartbeat((low + step) * SECOND)) == 0
        most = max(most, held(pipeline))
    return most


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("where", [ONE_ATTRIBUTE, TWO_ATTRIBUTES])
def test_a_join_keeps_its_windows_alone(where: str, shards: int) -> None:
    assert most_held(started(where, shards)) <= 2 * SIZE


def test_relayed_stages_keep_windows_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A and B for the pairs, B once more for the way there, A for the way back; no pair."""
    monkeypatch.setattr(join_layout, "SHARDS", RELAYED)
    pipeline = started(TWO_ATTRIBUTES, 2)
    assert pipeline.graph.depth == 4
    assert most_held(pipeline) <= 4 * SIZE


@pytest.mark.parametrize(("where", "found"), [(ONE_ATTRIBUTE, 0), (TWO_ATTRIBUTES, SIZE)])
def test_a_late_partner_meets_every_pair(where: str, found: int) -> None:
    """The answer once C has a row: it fits no key on one attribute, and the j of a single row of B on two."""
    pipeline = started(where, 2)
    most_held(pipeline)
    pipeline.push({"C": pa.table({"ts": [SIZE], "k": [2], "j": [5]})})
    answer = pipeline.heartbeat((SIZE + 1) * SECOND)
    assert sorted(answer.select(["x", "y", "z"]).to_pylist(), key=lambda r: r["x"]) == [
        {"x": x, "y": 5, "z": 5} for x in range(found)
    ]


@pytest.mark.parametrize("shards", [1, 3])
def test_of_a_batch_longer_than_the_window_a_join_keeps_the_rows_of_the_window(shards: int) -> None:
    """Ten windows of a hundred seconds in each batch: what has left is not kept until all of a chunk has."""
    schema = Schema.of(ts=pa.int64(), k=pa.int64(), j=pa.int64())
    streams = tuple(Stream(n, schema, "ts", ts_unit=SECOND, order=i) for i, n in enumerate("AB"))
    windows = "A [RANGE 100 SECONDS] AS a, B [RANGE 100 SECONDS] AS b"
    query = bind(f"Istream(SELECT a.ts AS x, b.ts AS y FROM {windows} WHERE a.k = b.k)", Catalog(streams))
    pipeline = LocalPipeline(plan_query(query), shards)
    pairs = 0
    for low in (0, SIZE):
        part = pa.concat_tables([rows(low, low + SIZE, key) for key in range(3)])
        pairs += len(pipeline.push({"A": part, "B": part}))
        assert 2 * 3 * 99 <= held(pipeline, WindowJoin) <= 2 * 3 * 101
    pairs += len(pipeline.heartbeat(2 * SIZE * SECOND))
    assert pairs == 3 * sum(min(2 * SIZE, x + 100) - max(0, x - 99) for x in range(2 * SIZE))
