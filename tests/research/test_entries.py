"""Every entry in its small form, and every check fed with what it must refuse."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from muntin.plan.patterns import Pattern
from muntin.research import Setting, chosen, reproduce
from muntin.research.engines.compare import Point
from muntin.research.engines.deltas import Replay
from muntin.research.engines.engine import NT, join_of, measure
from muntin.research.engines.workload import synthetic
from muntin.research.harness import Check
from muntin.research.monitor import observed
from muntin.research.product import Row
from muntin.research.registry import known
from muntin.research.thesis import (
    t01,
    t02,
    t03,
    t05,
    t06,
    t09,
    t10,
    t11,
    t12,
    t13,
    t14,
    t15,
    t16,
    t17,
    t18,
    t19,
    t20,
    t21,
)

SHARED = Path(__file__).resolve().parents[2].parent / "shared"


@pytest.mark.parametrize("name", known())
def test_smoke(name: str) -> None:
    (record,) = reproduce(chosen([name]), Setting(smoke=True), lambda r: None)
    # times depend on what else the machine does; the command itself judges them
    failed = [c for c in record.checks if not c.ok and " in time " not in c.criterion]
    assert record.checks and not failed, record.line


@pytest.mark.real
@pytest.mark.skipif(not SHARED.is_dir(), reason="no directory shared beside the repository")
def test_real_flows() -> None:
    (record,) = reproduce(chosen(["T20"]), Setting(smoke=True, shared=SHARED), lambda r: None)
    real = [c for c in record.checks if c.criterion.startswith("on real flows")]
    assert len(real) == 2 and all(c.ok for c in real)
    assert any(note.startswith("real flows, window") for note in record.notes)


def oks(checks: tuple[Check, ...]) -> list[bool]:
    return [c.ok for c in checks]


def test_t1_to_t6_can_fail() -> None:
    assert oks(t01.judge([75, 75, 73])) == [True, True]
    assert not t01.judge([75, 75, 75])[0].ok
    fifo = [Row(t, "+", (t,), t + 10) for t in range(5)]
    assert t02.overtakings(fifo) == 0
    assert t02.overtakings([*fifo, Row(6, "+", (9,), 11)]) == 1
    assert oks(t03.judge(set(range(2, 61, 2)), set(range(3, 61, 3)))) == [True, True]
    assert not t03.judge(set(range(2, 61, 2)), set(range(4, 61, 4)))[0].ok
    assert oks(t05.judge(1, 0, 100, False)) == [False, False, False]
    assert t05.replay(printed=True, steps=800) > 0
    (nt, _), (direct, _) = t06.replay(True, 60), t06.replay(False, 60)
    assert all(oks(t06.judge(nt, direct, True)))
    nt.seen["join"] += 1
    del nt.undone[max(nt.undone, key=nt.undone.__getitem__)]
    assert oks(t06.judge(nt, direct, False)) == [False, False, False]


def test_the_monitor() -> None:
    plus = [Row(1, "+", (1,), 11), Row(2, "+", (2,), 12)]
    assert observed(plus) is Pattern.MON
    assert observed([*plus, Row(11, "-", (1,)), Row(12, "-", (2,))]) is Pattern.WKS
    assert observed([*plus, Row(4, "+", (3,), 9), Row(9, "-", (3,)), Row(11, "-", (1,))]) is Pattern.WK
    assert observed([*plus, Row(5, "-", (1,))]) is Pattern.STR
    assert observed([Row(1, "+", (1,), None), Row(5, "-", (1,))]) is Pattern.STR
    with pytest.raises(ValueError, match="is not there"):
        observed([Row(5, "-", (1,))])


def test_t9_to_t13_can_fail() -> None:
    assert not t09.judge({"join": Pattern.STR}, {"join": (Pattern.WK,)})[0].ok
    right = {name: trace for name, (_, trace) in t10.CASES.items()}
    assert all(oks(t10.judge(right)))
    assert oks(t10.judge({**right, "internal sliding": right["external sliding"]})) == [True, True, False, True]
    asked = t11.ask("join (WK)")
    assert all(oks(t11.judge("join (WK)", asked)))
    assert not t11.judge("join (WK)", replace(asked, plain=asked.restored))[0].ok
    assert not t11.judge("join (WK)", replace(asked, all_inserted=asked.inserted))[1].ok
    assert not t11.judge("join (WKS)", asked)[2].ok
    assert oks(t12.judge(t12.RIGHT, t12.LEFT)) == [False, False]
    filled = {i: list(range(51 + 10 * i, 61 + 10 * i)) for i in range(5)}
    assert oks(t13.judge(filled, filled[0], filled)) == [True, True, False]
    assert oks(t13.judge({**filled, 1: []}, filled[1], {**filled, 0: list(range(101, 111))})) == [False, False, True]


def points(*works: dict[str, float], premature: float = 0.4, stored: dict[str, float] | None = None) -> list[Point]:
    """Made-up measures: work by engine at growing windows."""
    empty = measure(join_of(1), synthetic(40, 2), 10, NT)
    return [
        Point(
            100 * 2**i,
            {
                n: replace(empty, work=w, premature=premature, stored=(stored or work)[n], worst=150)
                for n, w in work.items()
            },
        )
        for i, work in enumerate(works)
    ]


def test_t14_and_t15_can_fail() -> None:
    good = points({"NT": 20, "DIRECT": 10, "UPA": 8}, {"NT": 40, "DIRECT": 30, "UPA": 12})
    assert oks(t14.judge(good)) == [True, True, True]
    bad = points({"NT": 20, "DIRECT": 30, "UPA": 8}, {"NT": 40, "DIRECT": 31, "UPA": 30})
    assert oks(t14.judge(bad)) == [False, False, False]
    names = ("NT", "DIRECT", "UPA(10)", "UPA(50)")
    assert oks(t15.judge(points(dict(zip(names, (30, 90, 20, 10), strict=True))))) == [True, True, True]
    assert oks(t15.judge(points(dict(zip(names, (30, 29, 10, 11), strict=True))))) == [False, False, False]


def test_t16_to_t19_can_fail() -> None:
    sources, pairs = points({"NT": 100, "DIRECT": 50, "UPA": 10}), points({"NT": 20, "DIRECT": 50, "UPA": 10})
    assert oks(t16.judge(sources)) == [True] and oks(t16.judge(pairs)) == [False]
    assert oks(t17.judge(pairs, sources)) == [True, True, True]
    assert oks(t17.judge(points({"NT": 12, "DIRECT": 11, "UPA": 10}), pairs)) == [False, False, True]
    assert not t17.judge(sources, pairs)[2].ok
    big = points({"NT": 1, "DIRECT": 1, "UPA": 1}, stored={"NT": 300, "DIRECT": 200, "UPA": 10})
    less = points({"NT": 1, "DIRECT": 1, "UPA": 1}, stored={"NT": 30, "DIRECT": 20, "UPA": 10})
    assert oks(t18.judge(big)) == [True, True] and oks(t18.judge(less)) == [False, True]
    assert oks(t19.judge(less, big)) == [True, True] and oks(t19.judge(big, less)) == [True, False]
    big[0].measures["UPA"] = replace(big[0].measures["UPA"], worst=201)
    assert not t18.judge(big)[1].ok
    right, wrong = Replay([], 0, 2.0), Replay([], 3, 2.0)
    assert t18.judge_duplicate(right, wrong).ok
    assert not t18.judge_duplicate(wrong, wrong).ok and not t18.judge_duplicate(right, right).ok


def test_t20_and_t21_can_fail() -> None:
    crossing = points({"NT": 10, "UPA": 9}, {"NT": 20, "UPA": 40})
    never = points({"NT": 10, "UPA": 11}, {"NT": 20, "UPA": 19}, premature=0.1)
    rare = points({"NT": 10, "UPA": 9}, premature=0.01)
    assert oks(t20.judge(crossing, rare)) == [True, True, True, True]
    assert oks(t20.judge(never, never)) == [False, False, False, False]
    up, names = t21.UP.name, ("NT", "NT(join up)", t21.UP.name)
    good = [dict(zip(names, w, strict=True)) for w in ((12, 10, 11), (60, 40, 30))]
    assert oks(t21.judge(points(*good))) == [True, True, True]
    assert oks(t21.judge(points({**good[0], up: 9}, {**good[1], up: 50, "NT": 39}))) == [False, False, False]
