"""Entries on multi-way joins: every check fed with what it must refuse."""

from __future__ import annotations

from dataclasses import replace

from muntin.optimizer.multiway.cost import eager
from muntin.optimizer.multiway.heuristics import Proposal, eager_order
from muntin.optimizer.multiway.orders import loops, tree
from muntin.optimizer.multiway.search import ranking
from muntin.research.harness import Check
from muntin.research.joins import g01, g03, g05, g06, g07, g08, g09, g10, g15, t33
from muntin.research.joins.lazy_curves import LazyCosts, analytic
from muntin.research.joins.measured import Work
from muntin.research.joins.parameters import ONE_FAST, TABLE_5, TABLE_6, TABLE_7, equal


def oks(checks: tuple[Check, ...]) -> list[bool]:
    return [c.ok for c in checks]


def test_g1_and_g3_can_fail() -> None:
    right = (tree((0, 1, 2, 3)), loops((0, 1, 2, 3)), [(400.0, 400.0)], 1000.0)
    assert all(oks(g01.judge(*right)))
    assert oks(g01.judge(tree((1, 0, 2, 3)), loops((0, 1, 2)), [(401.0, 400.0)], 1000.0)) == [False] * 3
    assert not g01.judge(*right[:3], 400.0)[2].ok
    assert oks(g03.judge(g03.TABLE_4, g03.TABLE_4)) == [True, True]
    wrong = ((0, 1, 2), (1, 2, 0), (2, 0, 1))
    assert oks(g03.judge(wrong, wrong)) == [False, False]
    other = ((0, 2, 1), (1, 2, 0), (2, 1, 0))
    assert tuple(g03.observed(other, origin) for origin in range(3)) == other  # read off what the run did


def test_g5_can_fail() -> None:
    model = g05.formulas()
    counted = {n: (Work(a, a, 7), Work(b, b, 7)) for n, (a, b) in model.items() if n < 7}
    assert all(oks(g05.judge(model, counted)))
    off = {**model, 4: (2801.0, 42_400.0)}
    few = {**counted, 2: (Work(9, 9, 7), Work(8, 8, 6)), 5: (Work(9, 9, 7), Work(71, 71, 7))}
    assert oks(g05.judge(off, few)) == [False, False, True, False, False, False]
    assert not g05.judge({**model, 8: (1.0, 1.0)}, counted)[2].ok


def test_g6_can_fail() -> None:
    points = analytic(equal(4), (1, 5, 10, 20, 30, 40, 50))
    assert all(oks(g06.judge(points)))
    flat = {t: LazyCosts(p.lazy, p.lazy, p.general) for t, p in points.items()}
    assert oks(g06.judge(flat)) == [False, True, True, False, False]
    apart = {**points, 20: replace(points[20], lazy=points[10].lazy)}
    assert oks(g06.judge(apart))[1:3] == [False, False]


def test_g7_can_fail() -> None:
    points = analytic(ONE_FAST, (1, *range(8, 25), 50))
    assert all(oks(g07.judge_model(points)))
    swapped = {
        t: replace(p, naive=p.naive + 1e4, general=p.lazy, orders=((3, 0, 1, 2),) * 4) for t, p in points.items()
    }
    late = {**swapped, 22: points[22], 50: points[50]}
    assert oks(g07.judge_model(late)) == [False, True, False, False, False]
    assert not g07.judge_model({**points, 9: replace(points[9], general=1e6)})[1].ok
    one, two = LazyCosts(30, 10, 10), LazyCosts(20, 25, 19)
    good = {1: g07.Counted(one, two, two, {5}), 50: g07.Counted(two, one, one, {9})}
    assert oks(g07.judge_counts(good)) == [True] * 4
    bad = {1: g07.Counted(LazyCosts(9, 10, 10), one, one, {5})}
    bad[50] = g07.Counted(LazyCosts(26, 25, 19), two, two, {9, 8})
    assert oks(g07.judge_counts(bad)) == [False] * 4
    assert [bool(c.reason) for c in g07.judge_counts(bad)] == [True, True, False, False]  # wrong results have no excuse


def test_g8_to_g10_can_fail() -> None:
    ranked = ranking(4, lambda order: eager(TABLE_5, order))
    assert all(oks(g08.judge_model(TABLE_5, ranked)))
    assert oks(g08.judge_model(TABLE_7, ranked[::-1])) == [False] * 5
    assert oks(g08.judge_counts(0.94, {1, 2})) == [False, False]
    assert g08.spearman([1, 2, 3, 4], [10, 20, 30, 40]) == 1 and g08.spearman([1, 2, 3], [3, 2, 1]) == -1
    assert g08.spearman([1, 2, 2, 3], [1, 2, 3, 4]) == 4.5 / (4.5 * 5) ** 0.5
    second = ranking(4, lambda order: eager(TABLE_6, order))
    assert all(oks(g09.judge(second, eager_order(TABLE_6))))
    every = tuple(order for _, order in second)
    assert oks(g09.judge(second[::-1], Proposal((0, 1, 2, 3), 120000, every))) == [True, False, False, False]
    third = ranking(4, lambda order: eager(TABLE_7, order))
    assert all(oks(g10.judge(third, eager_order(TABLE_7))))
    assert oks(g10.judge(third[::-1], Proposal((0, 1, 2, 3), 68200, every))) == [True, False, True, False, False]
    assert oks(g10.judge(second, eager_order(TABLE_7)))[:3] == [False, False, False]


def test_g15_and_t33_can_fail() -> None:
    assert oks(g15.judge({"a": (9, 10), "b": (10, 10)}, 9, 10)) == [False, True, False]
    unequal = g15.judge({g15.UNEQUAL: (2, 10), g15.RANK: (10, 10)}, 10, 10)
    assert oks(unequal) == [False, True, True] and "10 of 10" in unequal[0].reason
    wrong = [(order[::-1], cost) for order, cost in g15.eager_trials(g15.instances(20, 1), g15.by_rank)]
    assert g15.optimal(wrong) < 20
    both, best = (t33.CORRECTED, t33.PRINTED), [t33.CORRECTED[0], t33.PRINTED[0]]
    assert all(oks(t33.judge(*both, [t33.BEST] * 2, best)))
    assert oks(t33.judge(t33.PRINTED, t33.CORRECTED, [t33.BEST, t33.FAST_ON_TOP], best)) == [False] * 4
    assert not t33.judge((16200.0, 42600.0, 21000.0, 135150.0), t33.PRINTED, [], best)[2].ok
