"""Coarse keys never contradict the order of the values."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from muntin.kernels.coarse import coarse_keys, is_fine

SORTED: dict[pa.DataType, list[Any]] = {
    pa.int8(): [-128, -1, 0, 1, 127],
    pa.int64(): [-(2**63), -1, 0, 1, 2**63 - 1],
    pa.uint32(): [0, 1, 2**32 - 1],
    pa.bool_(): [False, True],
    pa.float64(): [float("-inf"), -1e300, -1e-300, 0.0, 1e-300, 2.0, float("inf"), float("nan")],
    pa.timestamp("us"): [datetime(1900, 1, 1), datetime(1970, 1, 1), datetime(2200, 1, 1)],
    pa.decimal128(38, 3): [Decimal("-1e30"), Decimal("-0.001"), Decimal(0), Decimal("0.001"), Decimal("1e30")],
    pa.string(): ["", "\0", "a", "a\0", "aaaaaaaa", "aaaaaaaab", "b", "é", "\U0001f600"],
    pa.large_binary(): [b"", b"\x7f", b"\x80", b"\xff\xff"],
    pa.list_(pa.int64()): [[1], [2]],
}


@pytest.mark.parametrize("type", list(SORTED), ids=str)
def test_keys_ascend_with_the_values(type: pa.DataType) -> None:
    keys = coarse_keys(pa.array(SORTED[type], type))
    assert (np.diff(keys.astype(object)) >= 0).all()
    if is_fine(type):
        assert len(np.unique(keys)) == len(SORTED[type])


def test_a_slice_has_the_keys_of_its_values() -> None:
    whole = pa.array(["x", "abc", None, "abd"])
    keys = coarse_keys(whole.slice(1))
    assert keys[0] < keys[2] and keys[0] == coarse_keys(pa.array(["abc"]))[0]
