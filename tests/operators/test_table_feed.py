"""The operator that makes a table's feed true: repeats, unknown deletions, keys, order, and what it remembers."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from muntin.core.batch import Batch, forever
from muntin.core.errors import DataError
from muntin.core.time import FOREVER
from muntin.operators.context import Context
from muntin.operators.table_feed import TableFeed, bad_updates, table_feed
from muntin.state import runs
from muntin.state.keyed_table import KeyedTable
from muntin.state.shard_state import ShardState

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.float64())])
BAG, KEYED = TableFeed("rates"), TableFeed("rates", ("k",))


class Table:
    """One shard's table, fed step by step."""

    def __init__(self, op: TableFeed, home: bool = True) -> None:
        self.op, self.home, self.state, self.low = op, home, ShardState(), 0
        self.bad = 0

    def step(self, high: int, *updates: tuple[int, str, int, float | None]) -> list[tuple[int, str, int, Any]]:
        ts = np.array([u[0] for u in updates], np.int64)
        rows = pa.RecordBatch.from_pylist([{"k": k, "v": v} for _, _, k, v in updates], schema=SCHEMA)
        sign = np.array([1 if u[1] == "+" else -1 for u in updates], np.int8)
        ctx = Context(self.low, high, FOREVER, 0, None, None, shard=0 if self.home else 1)
        out = table_feed(self.op, self.state, Batch(rows, ts, forever(len(ts)), sign), ctx)
        self.low, self.bad = high, self.bad + bad_updates(self.state)
        assert out.sign is not None and (out.exp == FOREVER).all() and (np.diff(out.ts) >= 0).all()
        told = zip(out.ts.tolist(), out.sign.tolist(), out.columns.to_pylist(), strict=True)
        return [(t, "+" if s > 0 else "-", r["k"], r["v"]) for t, s, r in told]


def test_nothing_is_deleted_twice_and_a_later_insertion_is_there() -> None:
    table = Table(BAG)
    assert table.step(10, (1, "-", 7, 1.0), (2, "+", 7, 1.0), (3, "-", 7, 1.0), (4, "-", 7, 1.0)) == [
        (2, "+", 7, 1.0), (3, "-", 7, 1.0)
    ]  # fmt: skip
    assert table.bad == 2
    assert table.step(20, (11, "-", 7, 1.0)) == [] and table.bad == 3
    assert table.step(30, (21, "+", 7, 1.0)) == [(21, "+", 7, 1.0)] and table.bad == 3
    assert table.step(40) == [] and table.bad == 3


def test_equal_rows_of_a_bag_add_up() -> None:
    table = Table(BAG)
    assert len(table.step(10, (1, "+", 7, 1.0), (2, "+", 7, 1.0))) == 2
    assert len(table.step(20, *((11, "-", 7, 1.0),) * 3)) == 2 and table.bad == 1


@pytest.mark.parametrize("row", [float("nan"), None, -0.0])
def test_rows_are_equal_as_keys_are(row: float | None) -> None:
    table = Table(BAG)
    table.step(10, (1, "+", 7, row))
    assert len(table.step(20, (11, "-", 7, 0.0 if row == 0 else row))) == 1 and table.bad == 0


def test_a_row_replaces_the_one_of_its_key() -> None:
    table = Table(KEYED)
    assert table.step(10, (1, "+", 7, 1.0), (2, "+", 7, 1.0), (3, "+", 8, 1.0)) == [(1, "+", 7, 1.0), (3, "+", 8, 1.0)]
    assert table.step(20, (11, "+", 7, 2.0), (12, "+", 7, 2.0)) == [(11, "-", 7, 1.0), (11, "+", 7, 2.0)]
    assert table.step(30, (21, "-", 7, None), (22, "-", 7, 2.0)) == [(21, "-", 7, 2.0)] and table.bad == 1
    assert table.step(40, (31, "+", 7, 1.0)) == [(31, "+", 7, 1.0)]


def test_what_comes_back_inside_an_instant_never_went() -> None:
    table = Table(KEYED)
    table.step(10, (1, "+", 7, 1.0))
    assert table.step(20, (11, "-", 7, 1.0), (11, "+", 7, 1.0), (12, "+", 9, 5.0), (12, "-", 9, 5.0)) == []
    assert table.step(30, (21, "+", 7, 2.0), (21, "+", 7, 3.0)) == [(21, "-", 7, 1.0), (21, "+", 7, 3.0)]


@pytest.mark.parametrize("op", [BAG, KEYED])
def test_updates_ahead_of_the_watermark_wait_for_earlier_ones(op: TableFeed) -> None:
    table = Table(op)
    assert table.step(10, (15, "-", 7, 1.0), (25, "+", 7, 3.0)) == []
    assert table.step(20, (12, "+", 7, 1.0)) == [(12, "+", 7, 1.0), (15, "-", 7, 1.0)]
    assert table.step(30) == [(25, "+", 7, 3.0)] and table.bad == 0


def test_inside_an_instant_updates_count_in_the_order_of_arrival_also_those_that_waited() -> None:
    table = Table(BAG)
    table.step(10, (15, "+", 7, 1.0))
    assert table.step(20, (15, "-", 7, 1.0)) == [] and table.bad == 0
    table.step(30, (35, "-", 8, 1.0))
    assert table.step(40, (35, "+", 8, 1.0)) == [(35, "+", 8, 1.0)] and table.bad == 1


def test_a_bad_update_that_must_stop_the_run_names_table_time_and_row() -> None:
    strict = Table(TableFeed("rates", on_bad_update="fail"))
    strict.step(10, (1, "+", 7, 1.0))
    with pytest.raises(DataError, match=r"table 'rates': .* at 1970-01-01T00:00:00.000011\+00:00 .*k = 7, v = 2.0"):
        strict.step(20, (11, "-", 7, 2.0))
    keyed = Table(TableFeed("rates", ("k",), "fail"))
    with pytest.raises(DataError, match=r"takes away a key that is not there \(k = 7\); mend the feed, or register"):
        keyed.step(10, (1, "-", 7, 2.0))


def test_of_shards_that_all_see_every_update_one_counts() -> None:
    for home in (True, False):
        table = Table(TableFeed("rates", everywhere=True), home)
        table.step(10, (1, "-", 7, 1.0))
        assert table.bad == int(home)


def test_what_is_remembered_is_the_table_and_not_its_past() -> None:
    table = Table(KEYED)
    for step in range(300):
        table.step(10 * step + 10, *((10 * step + i, "+", i, float(step)) for i in range(9)))
    assert table.state.rows() < 200


def fed(op: TableFeed, rows: int) -> tuple[ShardState, int, int]:
    """State of a table of so many rows; rows of state read and bytes written by ten steps of five updates then."""
    table, rng = Table(op), Random(rows)
    for low in range(0, rows, 500):
        table.step(low + 500, *((low, "+", k, float(k)) for k in range(low, low + 500)))
    table.state.looked, written = 0, 0
    for step in range(10):
        before = {id(c) for cs in table.state.chunks.values() for c in cs}
        at = rows + 10 * step
        table.step(at + 10, *((at, "+", k, -float(k)) for k in rng.sample(range(rows), 5)))
        new = (c for cs in table.state.chunks.values() for c in cs if id(c) not in before)
        written += sum(c.meta["bytes"] for c in new if c.meta["n"] < rows / 2)  # all are merged once in as many rows
    return table.state, table.state.looked, written


@pytest.mark.parametrize("op", [BAG, KEYED])
def test_a_step_reads_and_writes_what_it_touches_and_not_the_table(op: TableFeed) -> None:
    (_, read, written), (held, more, longer) = fed(op, 2_000), fed(op, 64_000)
    assert held.rows() >= 64_000
    assert more <= 2 * read <= 2_000 and longer <= 2 * written


def test_a_table_that_an_earlier_release_kept_by_row_goes_on_by_key() -> None:
    table = Table(KEYED)
    rows = pa.RecordBatch.from_pydict({"k": [7, 8, 9], "v": [1.0, None, 3.0]}, schema=SCHEMA)
    old = KeyedTable(table.state, "rows", SCHEMA)
    ids = old.ids_of(rows, 3)
    old.live[:] = [1, 1, 0]
    old.save(ids)
    assert table.step(10, (1, "+", 7, 1.0), (2, "-", 8, 5.0), (3, "-", 9, 3.0)) == [(2, "-", 8, None)]
    assert table.bad == 1
    assert table.step(20, (11, "+", 7, 2.0)) == [(11, "-", 7, 1.0), (11, "+", 7, 2.0)]
    assert "rows" not in table.state.chunks


@pytest.mark.parametrize("deletions_first", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_a_keyed_table_is_a_dict(seed: int, deletions_first: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "SMALL", 1)
    monkeypatch.setattr(runs, "TIER", 2)
    rng, truth, bad = Random(seed), {}, 0
    table = Table(TableFeed("rates", ("k",), deletions_first=deletions_first))
    values = [None, float("nan"), 0.0, 1.0, 2.0]
    for step in range(60):
        at = sorted(rng.randrange(10 * step, 10 * step + 10) for _ in range(rng.randint(0, 6)))
        updates = [(t, rng.choice("++-"), rng.randrange(12), rng.choice(values)) for t in at]
        before = dict(truth)
        for _, op, k, v in sorted(updates, key=lambda u: (u[0], u[1] == "+")) if deletions_first else updates:
            bad += op == "-" and k not in truth
            if op == "+":
                truth[k] = v
            else:
                truth.pop(k, None)
        for _, op, k, v in table.step(10 * step + 10, *updates):
            if op == "-":
                assert repr(before.pop(k)) == repr(v)
            else:
                assert k not in before
                before[k] = v
        assert repr(sorted(before.items())) == repr(sorted(truth.items())) and table.bad == bad


def test_deletions_of_an_instant_can_come_first_whatever_their_order() -> None:
    """A commit that updates a row in place, the new row before the old one, and one that moves a row to another key."""
    updates = [(1, "+", 7, 1.0), (2, "+", 7, 2.0), (2, "-", 7, 1.0), (3, "+", 8, 2.0), (3, "-", 7, 2.0)]
    for key in (("k",), ()):
        table = Table(TableFeed("rates", key, deletions_first=True))
        found = table.step(10, *updates)
        assert sorted(found) == sorted([*updates]) and table.bad == 0
    assert (2, "+", 7, 2.0) not in Table(KEYED).step(10, *updates)  # in the order in which they came it is gone again
