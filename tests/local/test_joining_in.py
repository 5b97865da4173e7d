"""A query that asks what a running one asks begins with all that this one shows, and takes back nothing else."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pytest
from test_history import BANDED, JOINED, OVER_A, SHOWN, asked, continued, data, relation, snapshot, undisturbed

from muntin.core.batch import Batch, forever
from muntin.core.time import FOREVER
from muntin.dataflow.durable import from_json, take_up, to_json
from muntin.dataflow.joining_in import never_exact
from muntin.local.contents import Running
from muntin.local.history import fill
from muntin.local.runtime import LocalPipeline
from muntin.operators.context import Context
from muntin.operators.joining_in import JoiningIn, begun_with

SHORT = [
    SHOWN,
    JOINED,
    OVER_A[0],
    "SELECT DISTINCT j FROM A [RANGE 13 SECONDS]",
    "SELECT k, v FROM A [RANGE 20 SECONDS] ORDER BY v, k LIMIT 3",
    "SELECT k, MAX(v) AS m, FIRST(j) AS f FROM A [RANGE 9 SECONDS] GROUP BY k",
    "SELECT k FROM A [RANGE 9 SECONDS] EXCEPT SELECT k FROM B [RANGE 14 SECONDS]",
    "SELECT a.k, a.v, b.v AS w FROM A [RANGE 9 SECONDS] a LEFT JOIN B [RANGE 14 SECONDS] b ON a.k = b.k",
    "SELECT a.j AS x, b.j AS z FROM A [ROWS 9] a, B [ROWS 12] b WHERE a.k = b.k",
    "SELECT k, COUNT(*) AS n, SUM(v) AS s FROM A [UNBOUNDED] GROUP BY k",
]
LONG = [
    BANDED,
    f"SELECT q.x, COUNT(*) AS n FROM ({JOINED}) AS q GROUP BY q.x",
    "SELECT k, v, RANK() OVER (PARTITION BY k ORDER BY v DESC) AS r FROM A [RANGE 20 SECONDS] QUALIFY r <= 2",
    "SELECT k, COUNT(*) AS n FROM A [RANGE 9 SECONDS] GROUP BY k ORDER BY n DESC, k LIMIT 2",
    "SELECT k, v FROM A [RANGE 9 SECONDS] WHERE NOT EXISTS (SELECT 1 FROM B [RANGE 14 SECONDS] b WHERE b.k = A.k)",
    "SELECT k FROM A [RANGE 9 SECONDS] UNION SELECT k FROM B [RANGE 14 SECONDS]",
    "SELECT k, v FROM A [PARTITION BY k ROWS 2]",
    "SELECT k, SUM(v) AS s FROM A [ROWS 7] GROUP BY k",
    "SELECT k, v FROM A [RANGE 20 SECONDS DELAY 4 SECONDS]",
]


@pytest.mark.parametrize("text", [*SHORT, *(pytest.param(t, marks=pytest.mark.slow) for t in LONG)])
def test_it_answers_as_if_it_had_always_been_there(text: str) -> None:
    """Also where the run ends before its first batch, and where the first query is dropped later."""
    rng = Random(text)
    first, both = {"a": asked(text, 3)}, {"a": asked(text, 3), "b": asked(text, 3)}
    batches, cut, shards = data(rng.randint(0, 99), 3), rng.randint(4, 11), rng.choice((1, 3))
    begun = take_up(None, first, 0, "1")
    old = LocalPipeline(list(begun.plans.values()), shards)
    for b in batches[:cut]:
        old.push_all(b)
    stored = from_json(to_json(begun.durable))
    found = fill(take_up(stored, both, cut, "1"), both, stored, lambda ids: snapshot(old, cut - 1), shards)
    assert "its windows are full" in found.taken.notes["b"] and "a" not in found.taken.notes
    assert never_exact(found.taken.plans["b"], found.taken.since, cut) is None
    again = take_up(from_json(to_json(found.taken.durable)), both, cut, "1")
    assert again.plans["b"] == found.taken.plans["b"] and not again.notes
    new = continued(old, found, cut)
    at = max(new.clocks[0].heads["watermarks"].values())
    tables = [new.push_all(b)[1] for b in batches[cut : cut + 2]]
    alone = take_up(from_json(to_json(again.durable)), {"b": both["b"]}, cut + 2, "1")
    last = LocalPipeline(list(alone.plans.values()), shards)
    last.restore({n: s for n, s in new.cells().items() if n in last.cells()})
    tables += [last.push_all(b)[0] for b in batches[cut + 2 :]] + [last.finish_all()[0]]
    expected = relation(undisturbed(both["b"], {}, batches), at)
    assert {at: {}, **relation(tables, at)} == {at: {}, **expected} and any(expected.values())


def test_who_joined_in_shows_what_it_holds_to_those_who_ask_once() -> None:
    both, batches = {"a": asked(SHOWN), "b": asked(SHOWN)}, data(4)
    begun = take_up(None, {"a": both["a"]}, 0, "1")
    old = LocalPipeline(list(begun.plans.values()), 2)
    for b in batches[:8]:
        old.push_all(b)
    found = fill(take_up(begun.durable, both, 8, "1"), both, begun.durable, lambda ids: snapshot(old, 7), 2)
    new = continued(old, found, 8)
    new.push_all(batches[8])
    running = Running.of(found.taken.durable)
    rows = [running.answer(name, snapshot(new, 8))[0].to_pylist() for name in both]
    assert sorted(map(str, rows[0])) == sorted(map(str, rows[1])) and len(rows[0]) > 5


def test_rows_enter_once_and_with_what_happens_at_that_instant() -> None:
    """Of what leaves at the instant at which the query came it shows nothing."""
    schema = pa.schema([("c0", pa.int64())])
    rows = pa.RecordBatch.from_arrays([pa.array([1, 2, 2])], schema=schema)
    op, state = JoiningIn("q", 3), begun_with(rows, 10)
    contexts = [Context(low, high, FOREVER, 0, None, None) for low, high in ((10, 10), (10, 12), (12, 13))]

    def changes(*given: tuple[int, int, int]) -> Batch:
        value, ts, sign = (np.array([g[i] for g in given], np.int64) for i in range(3))
        columns = pa.RecordBatch.from_arrays([pa.array(value, pa.int64())], schema=schema)
        return Batch(columns, ts, forever(len(ts)), sign.astype(np.int8))

    assert len(op.step([Batch.empty(schema, True)], state, contexts[0])) == 0
    shown = op.step([changes((2, 10, -1), (5, 11, 1))], state, contexts[1])
    found = list(zip(shown.columns[0].to_pylist(), shown.ts.tolist(), shown.sign.tolist(), strict=True))
    assert found == [(1, 10, 1), (2, 10, 1), (5, 11, 1)]
    assert state.rows() == 0 and not state.heads
    assert len(op.step([changes((5, 12, -1))], state, contexts[2])) == 1
