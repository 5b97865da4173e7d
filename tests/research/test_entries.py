"""Every entry in its small form, and every check fed with what it must refuse."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from muntin.engine.meter import Counter
from muntin.plan.patterns import Pattern
from muntin.research import Setting, chosen, reproduce
from muntin.research.engines.compare import Point
from muntin.research.engines.deltas import Replay
from muntin.research.engines.engine import NT, join_of, measure
from muntin.research.engines.workload import synthetic
from muntin.research.harness import Check
from muntin.research.monitor import observed
from muntin.research.product import Metered, Row
from muntin.research.registry import known
from muntin.research.thesis import (
    t01,
    t02,
    t03,
    t04,
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


SHORT_ALONE = {"J19", "T29"}
"""Entries of which a claim does not hold in the small form, and does in the full one."""

DIFFER = SHORT_ALONE | {
    *(f"T{n}" for n in (4, 6, 26, 27, 28, 36, 37, 38, 42, 51, 52, 56, 60, 61, 65, 67)),
    *(f"G{n}" for n in (4, 7, 11, 12, 13, 15, 16)),
    *(f"J{n}" for n in (1, 6, 9, 14, 15, 17)),
    *("A12", "H8", "H9", "H10"),
}
"""Entries of which a claim does not hold on the given workload, judged in the small form; that of another one would be
news. Which they are in the full form ``muntin reproduce`` says."""


LONG = {
    "G1", "G2", "G3", "G4", "G7", "G11", "G13", "G16", "H8", "H9", "H10", "H11", "H12", "H15", "J15", "T4", "T6",
    "T9", "T15", "T16", "T17", "T20", "T21", "T26", "T27", "T28", "T29", "T35", "T36", "T37", "T38", "T65", "T66",
    "T67", "T68",
}
"""Entries whose short form takes 2.5 s and more."""


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in LONG)) for n in known()])
def test_smoke(name: str) -> None:
    (record,) = reproduce(chosen([name]), Setting(smoke=True), lambda r: None)
    if name == "J18":
        assert record.verdict == "NOTHING TO REPRODUCE"
        return
    assert record.checks and record.verdict == ("DIFFERS" if name in DIFFER else "PASS"), record.line
    assert all(c.ok or c.reason for c in record.checks)
    assert json.loads(json.dumps(record.figures)) is not None


@pytest.mark.real
@pytest.mark.skipif(not SHARED.is_dir(), reason="no directory shared beside the repository")
def test_real_flows() -> None:
    (record,) = reproduce(chosen(["T20"]), Setting(smoke=True, shared=SHARED), lambda r: None)
    real = [c for c in record.checks if c.criterion.startswith("on real flows")]
    assert len(real) == 1 and all(c.ok for c in real)
    assert any(note.startswith("real flows, window") for note in record.notes)


def oks(checks: tuple[Check, ...]) -> list[bool]:
    return [c.ok for c in checks]


def test_t1_to_t6_can_fail() -> None:
    right, late = [75, 75, 73], [75, 75, 75]
    assert oks(t01.judge({"upa": right, "nt": right}, late)) == [True, True]
    assert oks(t01.judge({"upa": right, "nt": late}, right)) == [False, False]
    fifo = [Row(t, "+", (t,), t + 10) for t in range(5)]
    assert t02.overtakings(fifo) == 0
    assert t02.overtakings([*fifo, Row(6, "+", (9,), 11)]) == 1
    twos, threes, fours = ({t: (t,) for t in range(step, 61, step)} for step in (2, 3, 4))
    assert oks(t03.judge(twos, threes, twos)) == [True, True, True]
    assert oks(t03.judge(twos, fours, twos)) == [False, True, True]
    assert oks(t03.judge(twos, threes, threes)) == [True, False, True]
    assert not t03.judge(twos, threes, {**twos, 12: (0,)})[2].ok
    assert t04.judge_product([9, 9, 18, 18], 80).ok and not t04.judge_product([9, 10, 18, 18], 80).ok
    assert not t04.judge_product([19, 19, 18, 18], 80).ok
    assert t04.differing({1: [(11,)]}, {1: [(11,)], 2: [(11,)]}) == 0
    assert t04.differing({1: [(11,)]}, {1: [(11,)], 2: []}) == 1
    assert oks(t05.judge(1, 0, 100, False)) == [False, False, False]
    assert t05.replay(printed=True, steps=800) > 0
    changes = [Row(1, "+", (3,))]
    nt, direct = run_of(changes, (20, 60, 30), (60, 9, 4)), run_of(changes, (10, 30, 0), (30, 5, 2))
    assert all(oks(t06.judge(nt, direct)))
    assert oks(t06.judge(run_of([], (21, 60, 31), (60, 9, 4)), direct)) == [False, False, False, False]
    assert oks(t06.judge(run_of(changes, (20, 90, 45), (90, 9, 4)), direct)) == [False, True, False, True]
    assert [bool(c.reason) for c in t06.judge(nt, direct)] == [True, False, True, False]


def run_of(changes: list[Row], join: tuple[int, int, int], aggregate: tuple[int, int, int]) -> Metered:
    """A made-up run: rows in, rows out, negative ones of the join and of the aggregate."""
    each = zip(("WindowJoin", "GroupAggregate"), (join, aggregate), strict=True)
    counters = tuple((n, Counter(rows_in=c[0], rows_out=c[1], negative=c[2])) for n, c in each)
    return Metered("nt", changes, counters, [])


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
    assert not t09.judge_labels({"DISTINCT": Pattern.WK}, {"DISTINCT": Pattern.STR}).ok
    assert t09.judge_labels({"DISTINCT": Pattern.WK}, {"DISTINCT": Pattern.WKS}).ok
    negative, plain = run_of([], (2, 2, 1), (2, 2, 1)), run_of([], (2, 2, 0), (2, 2, 1))
    by = {"upa": plain, "nt": negative, "direct": plain, "auto": plain}
    assert oks(t09.judge_strategies({"join": by})) == [True, True]
    other = run_of([Row(1, "+", (1,))], (2, 2, 1), (2, 2, 1))
    assert oks(t09.judge_strategies({"join": {**by, "direct": other}})) == [False, False]
    assert not t09.judge_strategies({"join": {**by, "nt": plain}})[1].ok
    late = [Row(1, "+", (1,), 11), Row(2, "+", (2,), 9)]
    assert t09.of_intervals(late) is Pattern.WK
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
