"""Moments out of exact sums: near their exact values far from zero, and 0 where all values are the same."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pytest

from muntin.kernels import moments
from muntin.kernels.moments import Products, Total


def total(values: list[float]) -> Total:
    exact = sum(map(Fraction, values), Fraction(0))
    return Total(np.array([float(exact)]), np.array([float(exact - Fraction(float(exact)))]))


def sums(a: list[float], b: list[float]) -> Products:
    parts = moments.products(np.array(a), np.array(b))
    return Products(*(total(p.tolist()) for p in parts))


def exact(a: list[float], b: list[float]) -> Fraction:
    u, v = list(map(Fraction, a)), list(map(Fraction, b))
    return sum((x * y for x, y in zip(u, v, strict=True)), Fraction(0)) - sum(u) * sum(v) / len(u)


@pytest.mark.parametrize("n", [2, 7, 50])
def test_far_from_zero_they_keep_their_digits(n: int) -> None:
    rng = Random(n)
    a, b = ([1e8 + rng.random() for _ in range(n)] for _ in "ab")
    count = np.array([n])
    assert moments.spread(total(a), sums(a, a), count).near[0] == pytest.approx(float(exact(a, a)), rel=1e-12)
    found = moments.comoment(total(a), total(b), sums(a, b), count).near[0]
    assert found == pytest.approx(float(exact(a, b)), rel=1e-12)


def test_of_integers_they_are_exact() -> None:
    rng = Random(5)
    for _ in range(50):
        a, b = ([float(rng.randint(-(2**30), 2**30)) for _ in range(6)] for _ in "ab")
        found = moments.comoment(total(a), total(b), sums(a, b), np.array([6])).near[0]
        assert found == float(exact(a, b))


@pytest.mark.parametrize("value", [0.1, -1 / 3, 1e8 + 0.7, 2.0**53 - 1, 1e-90, 1e100])
def test_equal_values_spread_by_nothing_and_neighbours_by_something(value: float) -> None:
    for n in (1, 2, 3, 49, 1000):
        same = [value] * n
        assert moments.spread(total(same), sums(same, same), np.array([n])).near[0] == 0.0
    other = [value] * 9 + [value * (1 + 2.0**-47)]
    assert moments.spread(total(other), sums(other, other), np.array([10])).near[0] > 0.0
