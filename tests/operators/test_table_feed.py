"""The operator that makes a table's feed true: repeats, unknown deletions, keys, order, and what it remembers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from muntin.core.batch import Batch, forever
from muntin.core.errors import DataError
from muntin.core.time import FOREVER
from muntin.operators.context import Context
from muntin.operators.table_feed import TableFeed, bad_updates, table_feed
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
        ctx = Context(self.low, high, FOREVER, 0, None, None, home=self.home)
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
