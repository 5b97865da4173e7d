"""Exact sums: against math.fsum and Python integers, in any order, with values that leave again."""

import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from muntin.kernels import sums

NOTHING = np.empty(0, np.bool_)


def float_sums(values: list[float], signs: list[int]) -> list[float]:
    """The sum after each event."""
    v, n = np.array(values), len(values)
    low, high = sums.limb_range(v)
    low, high = (low, high) if high >= low else (0, 0)
    limbs, counts = np.zeros((1, high - low + 3), np.int64), np.zeros((1, 4), np.int64)
    out, rest, out_count = np.empty(n), np.empty(n), np.empty(n, np.int64)
    each = np.arange(1, n + 1)
    zero = np.zeros(n, np.int64)
    sums.sum_float(
        zero, np.array(signs, np.int8), NOTHING, v, each, each, limbs, low, counts, zero, out, rest, out_count
    )  # fmt: skip
    assert out_count.tolist() == np.cumsum(signs).tolist()
    assert all(abs(r) <= abs(o) * 2.0**-53 for o, r in zip(out, rest, strict=True) if math.isfinite(o) and o)
    return out.tolist()


def draw(rng: Random) -> float:
    match rng.randint(0, 4):
        case 0:
            return rng.uniform(-1, 1) * 10.0 ** rng.randint(-20, 20)
        case 1:
            return rng.uniform(-1, 1) * 2.0 ** rng.randint(-1074, -1000)
        case 2:
            return rng.choice((1, -1)) * 2.0 ** rng.randint(-1074, 1000)
        case 3:
            return rng.choice((2.0**54, 1.0, -(2.0**54), 0.0, -0.0))
        case _:
            return rng.uniform(-1, 1) * 2.0 ** rng.randint(900, 1000)


@pytest.mark.parametrize("seed", range(20))
def test_float_sums_are_those_of_fsum_while_values_come_and_go(seed: int) -> None:
    rng = Random(seed)
    for _ in range(100):
        live: list[float] = []
        values, signs, expected = [], [], []
        for _ in range(rng.randint(1, 12)):
            leaving = bool(live) and rng.random() < 0.4
            value = live.pop(rng.randrange(len(live))) if leaving else draw(rng)
            if not leaving:
                live.append(value)
            values.append(value)
            signs.append(-1 if leaving else 1)
            expected.append(math.fsum(live))
        assert float_sums(values, signs) == expected


def test_nan_and_infinity_count_only_while_inside() -> None:
    inf, nan = math.inf, math.nan
    got = float_sums([1.0, inf, -inf, -inf, nan, inf, nan], [1, 1, 1, -1, 1, -1, -1])
    assert got[0] == 1.0 and got[1] == inf and got[3] == inf and got[6] == 1.0
    assert math.isnan(got[2]) and math.isnan(got[4]) and math.isnan(got[5])


def test_integer_sums_are_128_bits_wide() -> None:
    rng = Random(7)
    values = [rng.choice((2**63 - 1, -(2**63), rng.randint(-5, 5))) for _ in range(200)]
    n = len(values)
    low = np.array(values, np.int64)
    out = [np.empty(n, np.int64) for _ in range(3)]
    state = [np.zeros(1, np.int64) for _ in range(3)]
    each, zero = np.arange(1, n + 1), np.zeros(n, np.int64)
    ones, unweighed = np.ones(n, np.int8), np.empty(0, np.int64)
    sums.sum_int128(zero, ones, NOTHING, low, low >> 63, unweighed, each, each, *state, zero, *out)
    got = [int(h) * 2**64 + (int(lo) % 2**64) for lo, h in zip(out[0], out[1], strict=True)]
    assert got == np.cumsum(np.array(values, object)).tolist()
    fits = [-(2**63) <= g < 2**63 for g in got]
    assert sums.fits_int64(out[0], out[1]).tolist() == fits


def test_distinct_counts_pairs_that_have_rows() -> None:
    pair = np.array([0, 0, 1, 0, 0, 1], np.int64)
    sign = np.array([1, 1, 1, -1, -1, -1], np.int8)
    out, zero, each = np.empty(6, np.int64), np.zeros(6, np.int64), np.arange(1, 7)
    sums.count_distinct(zero, sign, pair, NOTHING, each, each, np.zeros(2, np.int64), np.zeros(1, np.int64), zero, out)
    assert out.tolist() == [1, 1, 2, 2, 1, 0]


def test_variance_keeps_its_digits_far_from_zero() -> None:
    rng = Random(3)
    x = [1e8 + rng.random() for _ in range(50)]
    square, rest = sums.squares(np.array(x))
    exact = sum(Fraction(v) ** 2 for v in x) - sum(map(Fraction, x)) ** 2 / 50
    one = np.ones(1)
    s, q = math.fsum(x), math.fsum(square)
    s_low = float(sum(map(Fraction, x)) - Fraction(s))
    q_low = float(sum(map(Fraction, square.tolist())) - Fraction(q)) + math.fsum(rest)
    got = sums.variance(s * one, s_low * one, q * one, q_low * one, np.array([50]), sample=True)[0]
    assert got == pytest.approx(float(exact / 49), rel=1e-12)
