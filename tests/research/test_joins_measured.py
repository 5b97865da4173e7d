"""Measured entries on multi-way joins: every check fed with what it must refuse."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from muntin.research.harness import Check
from muntin.research.joins import g02, g04, g11, g12, g13, g14, t34, t35, t36, t37, t38
from muntin.research.joins.periods import DELTAS
from muntin.research.joins.workload import synthetic


def oks(checks: tuple[Check, ...]) -> list[bool]:
    return [c.ok for c in checks]


def test_the_generator_keeps_rates_windows_and_values() -> None:
    for balanced in (False, True):
        load = synthetic((3, 1), (10, 20), (5, 7), 8000, balanced=balanced)
        given = load.given
        assert load.unit == 4 and load.warm == 88 and len(given) == 8088
        assert (given.ts == np.arange(8088)).all() and abs((given.stream == 0).mean() - 0.75) < 0.02
        assert set(given.exp[given.stream == 1] - given.ts[given.stream == 1]) == {80}
        for s, v in ((0, 5), (1, 7)):
            counts = np.bincount(given.values[0][given.stream == s])
            assert counts[0] == 0 and len(counts) == v + 1
            assert np.ptp(counts[1:]) <= (1 if balanced else 200)
    again = synthetic((3, 1), (10, 20), (5, 7), 8000)
    assert (again.given.values == synthetic((3, 1), (10, 20), (5, 7), 8000).given.values).all()
    assert again.hashed(3).join.windows[1].buckets == 3 and again.hashed(3, 4).join.windows[1].buckets == 4


def test_g2_and_g4_can_fail() -> None:
    right = {"LAZY": g02.RIGHT, "careless": g02.WRONG}
    assert oks(g02.judge(right)) == [True, True]
    assert oks(g02.judge({"LAZY": g02.WRONG, "careless": g02.RIGHT})) == [False, False]
    assert oks(g02.judge({**right, "LAZY": g02.RIGHT[:1]})) == [False, True]
    assert oks(g04.judge({"C": [1.0, 0.951, 1.049], "L": [1.0, 1.051], "G": [0.94, 1]}, 0.05)) == [True, False, False]
    assert g04.ratios([2, 4], [1, 8]) == [2, 0.5, 6 / 9]
    printed, corrected = g04.judge({"L": [0.86], "C": [0.86]}, 0.05, {"L": "expired tuples join"})
    assert printed.reason and not corrected.reason


def test_g11_can_fail() -> None:
    costs = {"NLJ": (1000.0, 1100.0, 1200.0), "hash": (200.0, 220.0, 240.0)}
    best = (0, 1, 2, 3)
    rows: g11.Rows = {
        (family, interval): g11.Row(best, least, (5 if family == "NLJ" else 4) * least, least)
        for family, each in costs.items()
        for interval, least in zip(g11.INTERVALS, each, strict=True)
    }
    assert all(oks(g11.judge(rows, best, 5.43)))
    key = ("hash", 5)
    assert oks(g11.judge(rows, (1, 0, 2, 3), 5.43)) == [False, True, True, True, True]
    assert not g11.judge(rows, best, 4.7)[1].ok
    assert not g11.judge({**rows, key: replace(rows[key], most=1200)}, best, 5.43)[2].ok
    assert oks(g11.judge({**rows, key: replace(rows[key], least=90, most=360)}, best, 5.43))[3:] == [False, False]


def test_g12_can_fail() -> None:
    peaks = {1: 1, 2: 2, 10: 8, 30: 15}
    height = {1: 1.0, 2: 2.0, 10: 9.0, 30: 20.0}
    right = {b: {t: height[b] * (1 - 0.001 * abs(t - peaks[b])) for t in g12.TAUS} for b in g12.BUCKETS}
    assert all(oks(g12.judge(right)))
    swapped = {**right, 2: right[10], 10: right[2]}
    assert not g12.judge(swapped)[0].ok and not g12.judge(swapped)[2].ok and not g12.judge(swapped)[3].ok
    assert not g12.judge({**right, 30: dict.fromkeys(g12.TAUS, 8.0)})[1].ok
    flat = {t: 2.0 - 0.001 * t for t in g12.TAUS}
    assert not g12.judge({**right, 2: flat})[4].ok
    assert "0.5% of the operations with 2" in g12.judge({**right, 2: flat}, {2: 0.005})[4].reason


def test_g13_and_g14_can_fail() -> None:
    averages = (*g13.SHOWN,)
    right = {
        "Equal": {a: float(a) for a in averages},
        "5 to slow": {a: 1.5 * a for a in averages},
        "1 to slow": {a: float(9 - abs(a - 9)) for a in averages},
        "10 to slow": {a: float(a) for a in averages if a >= 10},
    }
    assert all(oks(g13.judge(right)))
    ever = {**right, "5 to slow": right["Equal"], "1 to slow": right["Equal"]}
    assert oks(g13.judge(ever)) == [False, False, True]
    assert not g13.judge({**right, "10 to slow": {10: 2.0, 11: 2.0, 13: 3.0}})[2].ok
    found = {(b, t): g14.Expiry(4.0, 4 * b / t) for b in g14.BUCKETS for t in g14.TAUS}
    assert all(oks(g14.judge(found, 4, 0.01)))
    assert not g14.judge({**found, (1, 1): g14.Expiry(4.1, 4)}, 4, 0.01)[0].ok
    constant = {key: g14.Expiry(4.0, 4.0) for key in found}
    assert oks(g14.judge(constant, 4, 0.01)) == [True, False, False]


def test_t34_and_t35_can_fail() -> None:
    assert oks(t34.judge(0.083, 0.7)) == [True, True]
    assert oks(t34.judge(0.167, 0.5)) == [False, False]
    model = [1, 1.3, 2.6, 8.3]
    right = {("NLJ", n): [1, 1.2, 2.0, 7.0] for n in t35.ALGORITHMS}
    right |= {("hash", n): [1, 1.1, 1.5, 4.0] for n in t35.ALGORITHMS}
    assert all(oks(t35.judge(right, model)))
    assert not t35.judge({**right, ("NLJ", "lazy"): [1, 2.0, 1.2, 7.0]}, model)[0].ok
    lazy = t35.judge({**right, ("NLJ", "lazy"): [1, 1.2, 2.0, 8.8]}, model)
    assert oks(lazy) == [True, False, True, False]
    assert not t35.judge({**right, ("hash", "lazyR"): [1, 1.1, 1.5, 7.0]}, model)[2].ok


def curves(scale: float, apart: float) -> dict[str, dict[int, float]]:
    """Eager rising, the lazy ones falling; ``apart``: how far the algorithms are from each other."""
    return {
        "eager": {d: scale * (1 + apart + d / 100) for d in (0, *DELTAS)},
        "lazy": {d: scale * (1 - d / 100) for d in DELTAS},
        "lazyR": {d: scale * (1 + apart / 2 - d / 200) for d in DELTAS},
    }


def test_t36_can_fail() -> None:
    right = curves(100, 0.5)
    assert all(oks(t36.judge(right)))
    assert oks(t36.judge({**right, "lazy": right["eager"]})) == [False, True, False, True]
    assert oks(t36.judge({**right, "eager": dict.fromkeys((0, *DELTAS), 300.0)})) == [True, False, True, True]
    assert not t36.judge({**right, "lazyR": right["eager"]})[3].ok


def test_t37_can_fail() -> None:
    right = {1: curves(100, 0.5), 2: curves(50, 0.5), 5: curves(25, 0.2)}
    right[5]["eager"][0] = 40.0
    assert all(oks(t37.judge(right)))
    assert not t37.judge({**right, 1: curves(50, 0.5)})[0].ok
    assert not t37.judge({**right, 5: curves(25, 0.2)})[1].ok
    assert not t37.judge({**right, 5: curves(25, 0.6)})[2].ok


def test_t38_can_fail() -> None:
    right = {1: curves(100, 0.5)}
    assert all(oks(t38.judge(right, {"restore": 0.04}, 1)))
    assert oks(t38.judge(right, {"restore": 0.06}, 2)) == [True, True, False, False]
    flat = {"lazyR": {d: 2.0 * (1 + d / 50) for d in DELTAS}, "eager": dict.fromkeys(DELTAS, 1.0)}
    assert oks(t38.judge({1: flat}, {"restore": 0}, 1))[:2] == [False, False]
    assert t38.largest_group(t38.cycling(1000)) == 1 < t38.largest_group(t38.cycling(1000, 5))
