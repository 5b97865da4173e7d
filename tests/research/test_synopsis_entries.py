"""Entries on synopses can fail: judged on made-up measures."""

from __future__ import annotations

from muntin.research.harness import Check
from muntin.research.thesis import t07, t59, t60, t61


def oks(checks: tuple[Check, ...]) -> list[bool]:
    return [c.ok for c in checks]


def test_t7_can_fail() -> None:
    drawn = {"Running": (36, 2), "Interval": (36, 3), "BasicInterval": (36, 7)}
    assert oks(t07.judge(drawn, 9, 0, {8: (4, 15)})) == [True] * 4
    assert oks(t07.judge(drawn | {"Interval": (35, 4)}, 8, 1, {8: (7, 16)})) == [False] * 4


def test_t59_can_fail() -> None:
    answers = {"Q1": [1, 2], "Q2": [3, 4], "Q3": [4, 6]}
    assert oks(t59.judge({"a": True}, answers, answers, 1)) == [True] * 4
    other = {"Q1": [1, 2], "Q2": [3, 4], "Q3": [5, 6]}
    assert oks(t59.judge({"a": False}, other, answers, 2)) == [False] * 4


def test_t60_can_fail() -> None:
    assert oks(t60.judge({8: 2}, {8: 3}, {8: (8, 15)})) == [True] * 3
    assert oks(t60.judge({8: 8}, {8: 8}, {8: (8, 16)})) == [False] * 3


def test_t61_can_fail() -> None:
    assert oks(t61.judge((0, 8), set(), set(), {8})) == [True] * 5
    assert oks(t61.judge((1, 7), {(6, 8)}, {(6, 8)}, set())) == [False] * 5
