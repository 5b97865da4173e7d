"""Checks of A1 to A13 fed with what they must refuse."""

from __future__ import annotations

from muntin.research.harness import Check
from muntin.research.product import Row
from muntin.research.static import a01, a02, a03, a04, a05, a06, a07, a08, a10, a11, a12, a13
from muntin.research.static.reoptimised import LEVELS, Found


def oks(checks: tuple[Check, ...]) -> list[bool]:
    return [c.ok for c in checks]


def test_a1_to_a4_can_fail() -> None:
    assert oks(a01.judge([0.5, 0.25], [1.0, 0.25])) == [True, True]
    assert oks(a01.judge([0.5, 0.3], [1.0, 0.5])) == [False, False]
    few, many = [Row(1, None, (1,))], [Row(1, None, (1,)), Row(2, None, (2,))]
    assert oks(a02.judge(few, few, many, few)) == [True, True, True]
    assert oks(a02.judge(few, many, few, many)) == [False, False, False]
    assert oks(a03.judge(0.0, 1.04, [["a"], ["a"]])) == [True, True, True]
    assert oks(a03.judge(1e-3, 1.06, [["a"], ["b"]])) == [False, False, False]
    used = {0.5: [0.25, 0.14, 0.2], 3: [1.5, 0.84, 1.2], 5: [2.5, 1.4, 2.0]}
    assert all(oks(a04.judge([500, 280, 400], used, [1000.0] * 3)))
    wrong = {0.5: [0.25, 0.14, 0.3], 3: [1.5, 0.9, 1.2], 5: [2.5, 0.9, 2.0]}
    assert not any(oks(a04.judge([500, 290, 400], wrong, [1000.0, 1000.0, 999.0])))


def test_a5_to_a8_can_fail() -> None:
    assert oks(a05.judge(1, 9, 1e-3, 10)) == [False, False, False]
    assert a05.best_on_grid([1.0, 1.0], 2) == 0.5  # 1/2 at the source and nothing else
    assert oks(a06.judge({"a": [1.0]}, 1e-3, 1, 10)) == [False, False, False]
    assert a06.by_corners([3.0, 2.0], [1.0, 1.0], 1.5) == 4.0
    at = {5.0: (500.0, 733.3, 818.2), 10.0: (333.3, 400.0, 727.3), 20.0: (250, 233.3, 500), 50.0: (200, 133.3, 200)}
    found = a07.judge({**at, 5.0: (500.0, 733.2, 818.2), 100.0: (100.0, 100.0, 99.0)}, [2.0, 2.5, 3.6])
    assert oks(found) == [False, False, True, True, True, True, False]
    assert oks(a08.judge(3, 3, 0)) == [True] and oks(a08.judge(0, 3, 0)) == oks(a08.judge(3, 3, 1)) == [False]


def test_a10_to_a13_can_fail() -> None:
    rising = dict(zip(LEVELS, (0, 0.05, 0.1, 0.2, 0.45, 0.6, 0.8, 0.9, 0.92, 0.95, 1), strict=True))
    assert oks(a10.judge(rising, 100)) == [True, True, True]
    flat = dict.fromkeys(LEVELS, 0.4)
    assert oks(a10.judge({**flat, 0.01: 0.2}, 100)) == [False, False, False]
    gains = dict(zip(LEVELS, (0, 0, 0.01, 0.02, 0.04, 0.1, 0.3, 0.5, 1, 2, 8), strict=True))
    assert oks(a11.judge(gains)) == [True, True, True]
    assert oks(a11.judge({**gains, 0.6: 0.01, 0.01: 1.0})) == [False, False, False]
    assert all(oks(a12.judge({x: (1.0, 1.05, 100.0 if x == 0.8 else 2.0) for x in LEVELS})))
    assert not any(oks(a12.judge(dict.fromkeys(LEVELS, (1.0, 2.0, 2.0)))))
    assert a12.figures([Found(1, 1, 1), Found(1, 3, 3)]) == (1.0, 2.0, 2.0)
    good, bad = [Found(1, 2, 2)], [Found(1, 3, 1)]
    assert all(oks(a13.judge(dict.fromkeys(LEVELS, good))))
    assert not any(oks(a13.judge(dict.fromkeys(LEVELS, bad))))
