"""The random queries once more with runs and tiers so small that a few batches merge them many times."""

from __future__ import annotations

import pytest
from draws import blocks
from generate_further import draw_further_case
from test_local_matches import check as check_plain
from test_local_matches_wide import check as check_wide

from muntin.state import runs, window_rows


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "SMALL", 1)
    monkeypatch.setattr(runs, "TIER", 2)
    monkeypatch.setattr(window_rows, "TIER", 2)


@blocks(1, 4)
def test_local_equals_reference(block: int) -> None:
    for seed in range(40_000 + block * 12, 40_000 + block * 12 + 12):
        check_plain(seed, size=3, cuts=1)
        check_wide(seed)
        check_wide(seed, draw_further_case)
