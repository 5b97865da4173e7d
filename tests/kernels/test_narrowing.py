"""Results in order of the windows that hold them."""

from __future__ import annotations

import numpy as np
import pytest

from muntin.kernels.narrowing import by_window


@pytest.mark.parametrize("seed", range(4))
def test_rows_come_by_the_first_longer_window_and_else_as_they_stood(seed: int) -> None:
    rng = np.random.default_rng(seed)
    oldest = rng.integers(0, 50, rng.integers(0, 200))
    newest = oldest + rng.integers(0, 30, len(oldest))
    windows = np.unique(rng.integers(1, 25, 1 + seed))
    order, ends = by_window(newest, oldest, windows)
    apart = newest - oldest
    rank = np.array([int((windows <= a).sum()) for a in apart], np.int64)
    assert order.tolist() == np.argsort(rank, kind="stable").tolist()
    assert ends.tolist() == [int((apart < w).sum()) for w in windows]
