"""The entries on transactions can fail, and the checkers tell histories apart."""

from __future__ import annotations

import pytest

from muntin.research.harness import Check
from muntin.research.transactions import t43, t44, t45, t46, t47, t48, t49, t50, t51, t52, t53, t54, t55, t56, t57, t58
from muntin.research.transactions.simulation import KINDS, Kind, Load, Means, Simulation
from muntin.scheduling.transactions.history import classes, of, parse, serializable
from muntin.scheduling.transactions.scheduler import Scheduler, ascending, ttu


def oks(checks: tuple[Check, ...]) -> list[bool]:
    return [c.ok for c in checks]


def test_a_history_that_is_not_serializable() -> None:
    cycle = of("rQ1[0] w5[0] c5 rQ1[1] w6[1] c6 rQ2[1] rQ2[0] cQ2 cQ1")
    assert serializable(cycle)
    broken = of("rQ1[0] w5[0] w6[1] c5 c6 rQ1[1] w10[0] w11[1] c10 c11 rQ2[1] cQ1 cQ2", base=4)
    assert classes(broken) == ["serializable"]
    assert not serializable(of("rQ1[0] w5[0] c5 w10[0] c10 rQ1[0] cQ1"))
    with pytest.raises(ValueError, match="is no operation"):
        parse("x1[0]")


def test_an_aborted_attempt_does_not_count() -> None:
    made = Scheduler(5, ascending).run([("query", 5), ("step", 0), ("update", 0), *[("step", 0)] * 5])
    assert made.aborts == 1 and made.history.queries == ("Q1",)
    assert made.history.versions("Q1") == {0: 5, 1: 1, 2: 2, 3: 3, 4: 4}
    assert "LWS" in classes(made.history) and "CPS" in classes(made.history)
    short = Scheduler(5, ttu).run([("query", 2), ("step", 0), ("update", 0), ("step", 0)])
    assert short.history.versions("Q1") == {4: 4, 0: 5} and short.aborts == 0


def test_entries_can_fail() -> None:
    late = {**t43.LINES, "c": t43.LINES["b"]}
    assert oks(t43.judge(late)) == [False, False]
    good = t44.refresh([[1]] * 11, [6, 10])
    assert oks(t44.judge([good], [[6, 10]])) == [True, True]
    assert oks(t44.judge([{**good, "IS": ([6, 9], 11)}], [[6, 10]])) == [False, False]
    histories = {name: of(text) for name, text in t45.TEXTS.items()}
    assert all(oks(t45.judge(histories)))
    assert oks(t45.judge({**histories, "a": histories["d"]})) == [False, False, False]
    assert oks(t45.judge_theorems([histories["d"]])) == [True, False]
    e, f = of(t46.H_E), of(t46.H_F)
    assert oks(t46.judge(f, e, t46.H_F, t46.H_E)) == [False, False, False]
    assert oks(t47.judge(f, e, {})) == [False, False, False, False]
    assert oks(t48.judge(1, 9, 0)) == [False, False] and oks(t48.judge(0, 9, 1)) == [True, True]
    assert oks(t49.judge({"TTU": [2, 2], "ascending": [1, 2]}, 1)) == [False, False, False]
    assert oks(t49.judge({"TTU": [2, 2], "ascending": [1, 9]}, 0)) == [True, False, True]
    assert oks(t50.judge([of(t47.H_H)], [histories["d"]])) == [False, False, False]
    assert oks(t58.judge((9, 1, 0), (9, 0))) == [False, False, False]


def runs(values: dict[Kind, tuple[float, float]]) -> dict[Kind, dict[int, Means]]:
    """Every figure of a scheduler is the same number, at two sizes."""
    return {k: {n: Means(v, v, v, v, v, v) for n, v in zip((10, 20), values[k], strict=True)} for k in KINDS}


def test_figures_can_fail() -> None:
    often = runs({"Serial": (0, 0), "WS": (0, 0), "LWS": (0.3, 0.6), "TTU": (0, 0)})
    seldom = runs({"Serial": (0, 0), "WS": (0, 0), "LWS": (0.1, 0.2), "TTU": (0, 0)})
    assert all(oks(t51.judge(often, seldom)))
    bad = runs({"Serial": (0, 0), "WS": (0, 0), "LWS": (0.3, 0.2), "TTU": (0.1, 0.1)})
    assert oks(t51.judge(bad, often)) == [False, False, False, False]
    fresh = runs({"Serial": (8, 9), "WS": (9, 10), "LWS": (7, 7), "TTU": (6, 6)})
    older = runs({"Serial": (18, 19), "WS": (19, 20), "LWS": (17, 17), "TTU": (16, 16)})
    assert all(oks(t52.judge(fresh, older)))
    assert oks(t52.judge(older, runs({"Serial": (9, 8), "WS": (5, 4), "LWS": (3, 3), "TTU": (4, 4)}))) == [False] * 3
    near = runs({"Serial": (100, 200), "WS": (101, 201), "LWS": (130, 240), "TTU": (101, 201)})
    far = runs({"Serial": (100, 90), "WS": (300, 400), "LWS": (90, 80), "TTU": (200, 210)})
    assert all(oks(t53.judge(near, near))) and oks(t53.judge(far, near)) == [False, False, False]
    many = runs({"Serial": (100, 90), "WS": (99, 90), "LWS": (90, 80), "TTU": (99, 89)})
    assert all(oks(t54.judge(many, many))) and oks(t54.judge(near, many)) == [True, False]
    assert oks(t54.judge(runs({"Serial": (9, 9), "WS": (9, 9), "LWS": (1, 1), "TTU": (2, 2)}), many)) == [False, True]
    waits = runs({"Serial": (30, 30), "WS": (10, 10), "LWS": (12, 12), "TTU": (10, 10)})
    assert all(oks(t55.judge(waits))) and oks(t55.judge(far)) == [False, False, True]
    assert all(oks(t56.judge(fresh))) and oks(t56.judge(near)) == [False, False]
    assert all(oks(t57.judge(fresh))) and oks(t57.judge(far)) == [False, True]


def test_the_simulation_is_the_same_each_time_and_serial_never_aborts() -> None:
    load = Load(8, 200.0, 20, one_time=2, gap=50.0)
    for kind in KINDS:
        one, two = (Simulation(kind, load, 1).run() for _ in range(2))
        assert vars(one) == vars(two) and one.executed > 0 and one.response
        assert (one.aborts == 0) or kind in ("LWS", "TTU")
        assert min(one.staleness) >= 0 and min(one.response) > 0
