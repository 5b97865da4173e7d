from __future__ import annotations

import numpy as np
import pytest

from muntin.kernels.hashing import shard_of
from muntin.kernels.placing import shard_order


@pytest.mark.parametrize("shards", [1, 3, 32, 32_767])
@pytest.mark.parametrize("rows", [0, 1, 5_000])
def test_rows_are_ordered_by_shard_and_keep_their_order_inside(shards: int, rows: int) -> None:
    h = np.random.default_rng(shards).integers(-(2**63), 2**63 - 1, rows)
    shard = shard_of(h, shards)
    order, ends = shard_order(h, shards)
    assert order.tolist() == np.argsort(shard, kind="stable").tolist()
    assert ends.tolist() == np.cumsum(np.bincount(shard, minlength=shards)).tolist()
