"""The entries on frequent items can fail, and the lists added up are Algorithm 6."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from muntin.research.frequent import t39, t40, t41, t42
from muntin.research.frequent.lists import Found, Frequent, lists_of, window, zipf
from muntin.research.harness import Check


def oks(checks: tuple[Check, ...]) -> list[bool]:
    return [c.ok for c in checks]


def test_lists_added_up_are_the_algorithm() -> None:
    items = zipf(400, 12, 1.0, 3)
    for size in (5, 20):
        lists = lists_of(items, size, 4)
        assert lists.sub_windows == 400 // size
        for k in (1, 2, 4):
            engine, answer = Frequent(k, 400 // size), None
            for start in range(0, 400, size):
                answer = engine.sub_window(items[start : start + size].tolist())
            found = window(lists, items, k)
            assert answer is not None and (found.delta, found.reported) == (engine.delta, len(answer))
            assert found.over == int((np.bincount(items) > engine.delta).sum()) and found.false == 0


def test_a_window_that_slides_forgets() -> None:
    engine = Frequent(1, 2)
    assert engine.sub_window([1, 1, 2]) is None
    assert engine.sub_window([1, 3]) == {}  # 1 has 3, delta is 3
    assert engine.sub_window([4]) == {} and engine.delta == 2 and dict(engine.counters) == {1: 1, 4: 1}


def test_t39_to_t41_can_fail() -> None:
    right = {w: [t39.SITES[s] for s in t39.FIGURE] for w in t39.SITES}
    assert oks(t39.judge(right, t39.SITES)) == [True, True]
    assert oks(t39.judge({**right, "G": [0] * 12}, {**t39.SITES, "G": 2})) == [False, False]
    counters = {"a": 13, "b": 24, "c": 40, "d": 6, "e": 8, "f": 6, "h": 2}
    product = {"threshold": 22, "items": [{"item": 2, "count": 40}, {"item": 1, "count": 24}]}
    true = {"items": [{"item": 2, "count": 41}, {"item": 1, "count": 26}]}
    assert all(oks(t40.judge(22, counters, {"b": 24, "c": 40}, product, true)))
    assert oks(t40.judge(21, counters, {"c": 40}, {**product, "threshold": 2}, product)) == [False] * 4
    assert all(oks(t41.judge(t41.Tally(answers=9, false_negatives=1), 2)))
    bad = t41.Tally(9, false_positives=1, unlike=1, beyond=1, broken=1, inexact=1)
    assert oks(t41.judge(bad, 2)) == [False] * 6


def test_t42_can_fail() -> None:
    good = {
        (b, k): t42.Point(1000 / k + 100 / b, k, k, 1.0, 100 * k / b, (11 - k) / 1000 + b / 1e5, 0)
        for b in t42.SIZES
        for k in t42.KS
    }
    silent = {at: replace(p, reported=0.0) for at, p in good.items()}
    assert all(oks(t42.judge(good, silent, 1000)))
    turned = {(b, k): replace(good[b, 11 - k], recall=0.5, error=0.01 * k - b / 1e5, false=1) for b, k in good}
    assert oks(t42.judge(turned, good, 10)) == [False] * 9
    assert t42.point([Found(5, 2, 1, 9, 0.1, 0), Found(7, 0, 0, 9, 0.0, 0)]).recall == 0.5
