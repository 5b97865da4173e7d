"""Throttle, harvest fractions, solvers and lags of GrubJoin, with its worked numbers."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

from muntin.optimizer.harvest.lags import Lags, scores
from muntin.optimizer.harvest.problem import (
    Counts,
    Problem,
    hashed_parts,
    low_selectivity_first,
    nested_loops,
    ranking,
    sorted_parts,
)
from muntin.optimizer.harvest.solvers import brute_force, double_sided, greedy, greedy_reverse, settings
from muntin.optimizer.harvest.throttle import Throttle


def problem(rng: random.Random, m: int = 3, n: int = 4) -> Problem:
    selectivity = [[rng.uniform(1e-4, 1e-2) for _ in range(m - 1)] for _ in range(m)]
    rates = tuple(rng.uniform(100, 500) for _ in range(m))
    return Problem(
        rates,
        tuple(10 * r for r in rates),
        (n,) * m,
        tuple(tuple(rng.sample([k for k in range(m) if k != i], m - 1)) for i in range(m)),
        tuple(map(tuple, selectivity)),
        tuple(tuple(tuple(rng.random() ** 3 for _ in range(n)) for _ in range(m - 1)) for _ in range(m)),
    )


def test_throttle() -> None:
    z = Throttle()
    assert z.adapted(100, 50).fraction == 0.5
    assert z.adapted(100, 50).adapted(100, 100).fraction == pytest.approx(0.6)
    assert z.adapted(0, 0).fraction == 1 and Throttle(0.5).adapted(0, 0).fraction == pytest.approx(0.6)
    assert Throttle(0.002).adapted(100, 1).fraction == 0.001 == Throttle(0.001).adapted(5, 0).fraction
    with pytest.raises(ValueError, match="boost"):
        Throttle(boost=1.0)


def test_selection_of_figure_3() -> None:
    # R1 = {3, 2}; the ranks of the figure begin 4, 3, 5 in W3 and 3, 2 in W2 (parts numbered from 1).
    own = ((1, 2, 4, 5, 3), (1, 4, 5, 2, 3))
    given = Problem(
        (1.0,) * 3, (10.0,) * 3, (5,) * 3, ((2, 1), (2, 0), (1, 0)), ((1.0, 1.0),) * 3,
        tuple(tuple(tuple(map(float, p)) for p in own) for _ in range(3)),
    )  # fmt: skip
    assert [k + 1 for k in given.rankings[0][0][:3]] == [4, 3, 5] and [k + 1 for k in given.rankings[0][1][:2]] == [
        3,
        2,
    ]
    counts = ((round(5 * 0.6), round(5 * 0.4)), (0, 0), (0, 0))
    assert [k + 1 for k in given.read(counts, 0, 0)] == [3, 4, 5] and [k + 1 for k in given.read(counts, 0, 1)] == [
        2,
        3,
    ]
    assert given.kept(counts) == (0, 3, 5)


def test_work_and_output() -> None:
    given = Problem(
        (10.0, 20.0, 30.0), (100.0, 200.0, 300.0), (2, 2, 2), ((1, 2), (2, 0), (0, 1)),
        ((0.01, 0.02), (0.03, 0.01), (0.01, 0.02)), (((3.0, 1.0), (1.0, 1.0)),) * 3,
    )  # fmt: skip
    # Direction 1 with one part at each hop: 100 tuples, 0.75 * 0.01 * 200 = 1.5 partners, 150 tuples each, half of 6.
    assert given.direction(0, (1, 1)) == pytest.approx((10 * (100 + 1.5 * 150), 10 * 1.5 * 3))
    assert given.direction(0, (2, 2)) == pytest.approx((10 * (200 + 2 * 300), 10 * 2 * 6))
    assert nested_loops(2, 50, 3) == 50 and hashed_parts(2, 50, 3) == 5 and sorted_parts(2, 30, 3) == 2 * 4 + 3
    assert sorted_parts(0, 0, 0) == 0


def test_yield_is_the_fraction_only_where_scores_are_flat() -> None:
    rng = random.Random(1)
    for _ in range(50):
        given = problem(rng)
        for count in range(1, 4):
            assert given.yields[0][0][count] > count / 4
        assert given.yields[0][0][4] == pytest.approx(1)
    flat = Problem((1.0, 1.0), (1.0, 1.0), (4, 4), ((1,), (0,)), ((1.0,), (1.0,)), (((2.0,) * 4,), ((0.0,) * 4,)))
    assert flat.yields == (((0, 0.25, 0.5, 0.75, 1),), ((0, 0.25, 0.5, 0.75, 1),))
    assert ranking((1, 3, 3, 2)) == (1, 2, 3, 0)


def test_brute_force_is_the_best_of_all() -> None:
    rng = random.Random(2)
    for z in (0.1, 0.4, 0.8):
        given = problem(rng, 3, 3)
        limit = z * given.total(given.full)[0]
        for least in (0, 1):
            best, visited = -1.0, 0
            for flat in product(range(least, 4), repeat=6):
                counts: Counts = (flat[:2], flat[2:4], flat[4:])
                visited += 1
                work, output = given.total(counts)
                best = max(best, output if work <= limit else -1.0)
            if best < 0:
                with pytest.raises(ValueError, match="no setting fits"):
                    brute_force(given, z, least)
                continue
            found = brute_force(given, z, least)
            assert found.output == pytest.approx(best) and found.work <= limit * (1 + 1e-9)
            assert found.evaluated == visited == settings(given, least) == (4 - least) ** 6


def test_greedy_is_feasible_maximal_and_within_its_bound() -> None:
    rng = random.Random(3)
    for m, n in ((3, 10), (4, 5), (2, 6)):
        for z in (0.02, 0.3, 0.7, 1.0):
            given, seen = problem(rng, m, n), []
            found = greedy(given, z, watch=seen.append)
            limit = z * given.total(given.full)[0] * (1 + 1e-9)
            assert found.work <= limit and found.evaluated == len(seen) <= m * (m - 1) ** 2 * m * n
            assert found.steps <= (m - 1) * m * n
            for i, own in enumerate(found.counts):
                more = (
                    [(*own[:j], own[j] + 1, *own[j + 1 :]) for j in range(m - 1) if own[j] < n]
                    if all(own)
                    else [(1,) * (m - 1)]
                )
                assert all(given.total((*found.counts[:i], c, *found.counts[i + 1 :]))[0] > limit for c in more)
            assert z < 1 or found.counts == given.full
    assert [m * (m - 1) ** 2 * m * n for m, n in ((3, 10), (5, 20))] == [360, 8000]


def test_greedy_and_reverse_are_near_the_best() -> None:
    rng = random.Random(4)
    got: dict[str, list[float]] = {"greedy": [], "reverse": [], "double": []}
    for _ in range(12):
        given = problem(rng, 3, 4)
        for z in (0.1, 0.3, 0.6, 0.9):
            best = brute_force(given, z, 0).output
            for name, solve in (("greedy", greedy), ("reverse", greedy_reverse), ("double", double_sided)):
                found = solve(given, z)
                assert found.work <= z * given.total(given.full)[0] * (1 + 1e-9) and found.output <= best * (1 + 1e-9)
                got[name].append(found.output / best)
    assert all(np.mean(shares) > 0.95 for shares in got.values()), got


def test_orders_by_selectivity() -> None:
    sigma = ((0, 0.3, 0.1), (0.3, 0, 0.2), (0.1, 0.2, 0))
    assert low_selectivity_first(sigma) == ((2, 1), (2, 0), (0, 1))
    chain = ((False, True, False), (True, False, True), (False, True, False))
    assert low_selectivity_first(sigma, chain) == ((1, 2), (2, 0), (1, 0))


def test_scores_from_lags() -> None:
    rng = np.random.default_rng(5)
    first, second = rng.normal(-4.0, 0.5, 20000), rng.normal(-6.5, 0.5, 20000)  # T(t_l) - T(t_0): partners are older
    lags = [None, Lags.of(first, -10, 10, 80), Lags.of(second, -10, 10, 80)]
    ages = {(0, 1): -first, (0, 2): -second, (1, 2): first - second, (1, 0): first, (2, 0): second}
    for (i, other), difference in ages.items():
        found = scores(lags, i, other, 10, 5)
        exact = [float(np.mean((difference >= 2 * k) & (difference < 2 * k + 2))) for k in range(5)]
        assert found == pytest.approx(exact, abs=0.03), (i, other)
    assert (
        lags[1] is not None
        and lags[1].share(np.array(-10.0), np.array(10.0)) == pytest.approx(1)
        and lags[1].width == 0.25
    )
    assert scores([None, Lags.of(np.zeros(0), -1, 1, 4)], 0, 1, 1, 2) == (0, 0)
