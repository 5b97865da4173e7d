"""Results and pairs in order of the windows that hold them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from muntin.kernels.narrowing import Windows, by_window, place_pairs, rank_pairs
from muntin.kernels.spans import Spans


def drawn(seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """(windows, starts, starts): windows of like lengths, or of lengths far apart, beside times of the same kind."""
    rng = np.random.default_rng(seed)
    if seed % 2:
        windows = np.unique(rng.integers(1, 25, 1 + seed))
        return windows, rng.integers(0, 50, 60), rng.integers(0, 50, 60)
    windows = np.unique(np.concatenate([rng.integers(1, 10**4, 1 + seed), rng.integers(1, 10**11, 3)]))
    apart = np.concatenate([windows - 1, windows, windows + 1, rng.integers(0, 10**11, 60)])
    return windows, apart + 7, np.full(len(apart), 7)


def ranks(windows: NDArray[np.int64], apart: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.array([int((windows <= a).sum()) for a in apart], np.int64)


@pytest.mark.parametrize("seed", range(6))
def test_rows_come_by_the_first_longer_window_and_else_as_they_stood(seed: int) -> None:
    windows, a, b = drawn(seed)
    newest, oldest = np.maximum(a, b), np.minimum(a, b)
    order, ends = by_window(newest, oldest, Windows.of(windows))
    apart = newest - oldest
    assert order.tolist() == np.argsort(ranks(windows, apart), kind="stable").tolist()
    assert ends.tolist() == [int((apart < w).sum()) for w in windows]


@pytest.mark.parametrize("seed", range(6))
def test_pairs_go_to_the_places_of_their_windows(seed: int) -> None:
    windows, a, b = drawn(seed)
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, len(a), 50).astype(np.int32)
    first = rng.integers(0, len(a), 50).astype(np.int32)
    count = np.minimum(rng.integers(0, 9, 50), len(a) - first).astype(np.int32)
    spans = Spans(rows, first, count, int(count.sum()), 0)
    left, right, total = spans.pair_rows(), spans.pair_partners(), spans.pairs
    rank, counts = rank_pairs(spans, a, b, Windows.of(windows))
    expected = ranks(windows, np.abs(a[left] - b[right]))
    assert rank.tolist() == expected.tolist()
    assert counts.tolist() == np.bincount(expected, minlength=len(windows) + 1).tolist()
    probing, partners, newest = np.empty(total, np.int32), np.empty(total, np.int32), np.empty(total, np.int64)
    for oldest in (np.empty(total, np.int64), np.empty(0, np.int64)):
        at = np.cumsum(counts) - counts
        places = (rows + 5).astype(np.int32)
        place_pairs(rows, places, first, count, a, b, rank, at, probing, partners, newest, oldest)
        order = np.argsort(expected, kind="stable")
        assert probing.tolist() == (left + 5)[order].tolist() and partners.tolist() == right[order].tolist()
        assert newest.tolist() == np.maximum(a[left], b[right])[order].tolist()
        assert oldest.tolist() == np.minimum(a[left], b[right])[order].tolist()[: len(oldest)]
