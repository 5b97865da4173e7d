"""Order keys and the values that they stand for."""

from __future__ import annotations

from datetime import UTC, date, datetime

import numpy as np
import pyarrow as pa
import pytest

from muntin.aggregates.accumulators import int128_words
from muntin.aggregates.order import order_keys, values_of

COLUMNS = [
    pa.array([3, None, -7, 2**63 - 1, -(2**63)], pa.int64()),
    pa.array([1, -1, None], pa.int8()),
    pa.array([2**64 - 1, 0, None, 2**63, 7], pa.uint64()),
    pa.array([True, False, None]),
    pa.array([1.5, -2.5, float("inf"), float("-inf"), None, 0.0], pa.float64()),
    pa.array([1.5, -0.25, None], pa.float32()),
    pa.array([date(2024, 2, 29), date(1969, 1, 1), None]),
    pa.array([datetime(2024, 2, 29, tzinfo=UTC), None], pa.timestamp("us", "UTC")),
]


@pytest.mark.parametrize("fn", ["min", "max"])
@pytest.mark.parametrize("column", COLUMNS, ids=lambda c: str(c.type))
def test_keys_give_their_values_back(column: pa.Array, fn: str) -> None:
    none = np.asarray(column.is_null())
    assert values_of(order_keys(column, fn), fn, column.type, none).equals(column)


@pytest.mark.parametrize("column", COLUMNS, ids=lambda c: str(c.type))
def test_keys_are_in_the_order_of_their_values(column: pa.Array) -> None:
    values = column.drop_null()
    for fn, descending in (("max", False), ("min", True)):
        order = np.argsort(order_keys(values, fn))
        assert values.take(pa.array(order)).to_pylist() == sorted(values.to_pylist(), reverse=descending)


@pytest.mark.parametrize("column", [c for c in COLUMNS if pa.types.is_integer(c.type)], ids=lambda c: str(c.type))
def test_integers_are_words_of_128_bits(column: pa.Array) -> None:
    values = column.drop_null()
    low, high = int128_words(values)
    whole = [(h << 64) | (w % 2**64) for w, h in zip(low.tolist(), high.tolist(), strict=True)]
    assert whole == values.to_pylist()
