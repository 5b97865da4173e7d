"""Staircases of candidates against the maximum of what is valid, for any order of expiry."""

from random import Random

import numpy as np
import pytest

from muntin.kernels.extremes import maxima, sortable_bits, survivors


@pytest.mark.parametrize("seed", range(60))
def test_the_head_is_the_maximum_of_the_valid_rows(seed: int) -> None:
    rng = Random(seed)
    n, groups = rng.randint(0, 40), 3
    time = np.sort(np.array([rng.randint(0, 15) for _ in range(n)], np.int64))
    exp = time + np.array([rng.randint(1, 10) for _ in range(n)], np.int64)
    group = np.array([rng.randrange(groups) for _ in range(n)], np.int64)
    key = np.array([rng.randint(0, 6) for _ in range(n)], np.int64)
    instants = np.arange(0, 20, dtype=np.int64)
    em_group = np.tile(np.arange(groups), len(instants))
    em_end = np.arange(1, len(instants) + 1) * groups
    picked, head, nxt = maxima((group, key, exp, time), (instants, em_end, em_group), groups)
    for e, row in enumerate(picked.tolist()):
        t, g = instants[e // groups], em_group[e]
        valid = [int(key[i]) for i in range(n) if group[i] == g and time[i] <= t < exp[i]]
        assert (None if row < 0 else int(key[row])) == max(valid, default=None)
    left = survivors(head, nxt, exp, 19)
    assert all(exp[i] > 19 for i in left)
    for g in range(groups):
        valid = [int(key[i]) for i in range(n) if group[i] == g and exp[i] > 19]
        assert max((int(key[i]) for i in left if group[i] == g), default=None) == max(valid, default=None)


def test_sortable_bits_order_doubles_as_spark_does() -> None:
    values = np.array([-np.inf, -2.5, -1e-310, -0.0, 0.0, 5e-324, 1.0, np.inf, np.nan])
    keys = sortable_bits(values).tolist()
    assert keys == sorted(keys) and keys[3] == keys[4] and len(set(keys)) == 8
