"""Exact sums: against math.fsum and Python integers, in any order, with values that leave again."""

import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from muntin.kernels import sums
from muntin.kernels.decimals import average, fits_decimal

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


def wide_sums(values: list[int], signs: list[int]) -> list[tuple[np.ndarray, ...]]:
    """By event: the words of the sum so far, and how many times 2**128 is to be added."""
    n = len(values)
    low, high = words_of(values)
    out = [np.empty(n, np.int64) for _ in range(4)]
    state = [np.zeros(1, np.int64) for _ in range(4)]
    each, zero, unweighed = np.arange(1, n + 1), np.zeros(n, np.int64), np.empty(0, np.int64)
    change = sums.changes(np.array(signs, np.int8), NOTHING, unweighed)
    sums.sum_int128(zero, change, low, high, each, each, *state, zero, *out)
    return out


def words_of(values: list[int]) -> tuple[np.ndarray, np.ndarray]:
    low = np.array([v & (2**64 - 1) for v in values], np.uint64).view(np.int64)
    return low, np.array([v >> 64 for v in values], np.int64)


def numbers(low: np.ndarray, high: np.ndarray, over: np.ndarray) -> list[int]:
    parts = zip(low.tolist(), high.tolist(), over.tolist(), strict=True)
    return [o * 2**128 + h * 2**64 + (lo & (2**64 - 1)) for lo, h, o in parts]


@pytest.mark.parametrize("seed", range(5))
def test_integer_sums_are_exact_beyond_128_bits(seed: int) -> None:
    rng = Random(seed)
    extremes = (2**63 - 1, -(2**63), 10**38 - 1, 1 - 10**38, 2**126, 2**127 - 1, -(2**127), 1)
    values = [rng.choice((*extremes, rng.randint(-5, 5))) for _ in range(200)]
    signs = [rng.choice((1, 1, -1)) for _ in values]
    low, high, over, count = wide_sums(values, signs)
    expected = np.cumsum(np.array([v * s for v, s in zip(values, signs, strict=True)], object)).tolist()
    assert numbers(low, high, over) == expected
    assert count.tolist() == np.cumsum(signs).tolist()
    small = [e for e, o in zip(expected, over.tolist(), strict=True) if o == 0]
    assert all(-(2**127) <= e < 2**127 for e in small)
    for digits in (1, 19, 20, 37, 38):
        assert fits_decimal(low, high, over, digits).tolist() == [abs(e) < 10**digits for e in expected]


def test_what_fits_64_bits() -> None:
    values = [2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 0, -1]
    assert sums.fits_int64(*words_of(values)).tolist() == [True, False, True, False, True, True]


@pytest.mark.parametrize("seed", range(10))
def test_averages_are_exact_and_rounded_half_up(seed: int) -> None:
    rng = Random(seed)
    values = [rng.randint(-(2**b), 2**b) for b in (1, 2, 5, 64, 100, 126, 130, 160) for _ in range(20)]
    counts = [rng.choice((1, 2, 3, 7, 16, 2**31 - 1, 2**31, 2**40 + 1, 2**62 + 3)) for _ in values]
    values += [5, -5, 15, -15, 0, 1, -1]  # ties, and signs of what rounds to zero
    counts += [10, 10, 10, 10, 3, 3, 3]
    scale = 10 ** rng.randint(0, 4)
    over = [(v + 2**127) >> 128 for v in values]
    low, high = words_of([v - o * 2**128 for v, o in zip(values, over, strict=True)])
    out = [np.empty(len(values), np.int64) for _ in range(3)]
    average(low, high, np.array(over), np.array(counts), scale, *out)
    for v, n, got, beyond in zip(values, counts, numbers(out[0], out[1], out[2] * 0), out[2].tolist(), strict=True):
        exact = Fraction(abs(v) * scale, n)
        expected = math.floor(exact + Fraction(1, 2)) * (1 if v > 0 else -1)
        assert (beyond != 0) == (abs(expected) >= 2**127)
        assert beyond or got == expected


def test_distinct_counts_pairs_that_have_rows() -> None:
    pair = np.array([0, 0, 1, 0, 0, 1], np.int64)
    sign = np.array([1, 1, 1, -1, -1, -1], np.int8)
    out, zero, each = np.empty(6, np.int64), np.zeros(6, np.int64), np.arange(1, 7)
    sums.count_distinct(zero, sign, pair, NOTHING, each, each, np.zeros(2, np.int64), np.zeros(1, np.int64), zero, out)
    assert out.tolist() == [1, 1, 2, 2, 1, 0]
