"""Probing chunks and extending combinations, against nested loops."""

from random import Random

import numpy as np
import pytest

from muntin.core.time import FOREVER
from muntin.kernels.index import bucket_order, dense_ids
from muntin.kernels.joining import extend
from muntin.kernels.spans import earlier, later, probe_spans


def rows(rng: Random, n: int, fifo: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    h = np.array([rng.choice((3, 11, 19, -5, 1 << 40)) for _ in range(n)], np.int64)
    start = np.sort(np.array([rng.randint(0, 20) for _ in range(n)], np.int64))
    length = 5 if fifo else None
    exp = np.array([int(s) + (length or rng.choice((1, 3, 9))) for s in start], np.int64)
    if not fifo and n:
        exp[rng.randrange(n)] = FOREVER
    return h, start, exp


def nested_loops(new: tuple[np.ndarray, ...], stored: tuple[np.ndarray, ...], limit: int) -> list[tuple[int, int]]:
    return [
        (i, j)
        for i in range(len(new[0]))
        for j in range(len(stored[0]))
        if new[0][i] == stored[0][j] and stored[1][j] < min(new[2][i], limit) and stored[2][j] > new[1][i]
    ]


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("fifo", [True, False])
@pytest.mark.parametrize("ordered", [True, False])
def test_a_probe_finds_what_nested_loops_find(seed: int, fifo: bool, ordered: bool) -> None:
    rng = Random(seed)
    new = rows(rng, rng.randint(1, 40), fifo and rng.random() < 0.5)
    if ordered:
        new = tuple(a[bucket_order(new[0])[0]] for a in new)
    elif rng.random() < 0.5:
        new = tuple(a[np.random.default_rng(seed).permutation(len(a))] for a in new)
    chunk = rows(rng, rng.randint(1, 60), fifo)
    order, directory = bucket_order(chunk[0])
    stored = tuple(a[order] for a in chunk)
    limit = rng.choice((5, 12, FOREVER))
    expected = nested_loops(new, stored, limit)
    left, right = (np.array([pair[k] for pair in expected], np.int64) for k in (0, 1))
    for gone in (FOREVER, int(stored[2].max())):
        found = probe_spans(new, stored, directory, limit, fifo, gone=gone)
        assert list(zip(found.pair_rows().tolist(), found.pair_partners().tolist(), strict=True)) == expected
        assert found.pairs == len(expected) and (found.count > 0).all()
        assert found.pairs <= found.looked <= len(new[0]) * len(stored[0])
    start, exp = np.zeros(len(left) + 3, np.int64), np.zeros(len(left) + 3, np.int64)
    later(found.rows, found.first, found.count, new[1], stored[1], start, 3)
    earlier(found.rows, found.first, found.count, new[2], stored[2], exp, 3)
    assert start[3:].tolist() == np.maximum(new[1][left], stored[1][right]).tolist()
    assert exp[3:].tolist() == np.minimum(new[2][left], stored[2][right]).tolist()


def test_a_probe_for_spans_stops_where_it_is_told() -> None:
    rng = Random(5)
    new, chunk = rows(rng, 40, True), rows(rng, 60, True)
    order, directory = bucket_order(chunk[0])
    stored = tuple(a[order] for a in chunk)
    whole = probe_spans(new, stored, directory, FOREVER, True)
    part = probe_spans(new, stored, directory, FOREVER, True, most=20)
    assert 20 < part.pairs < whole.pairs
    assert part.pair_rows().tolist() == whole.pair_rows().tolist()[: part.pairs]


def test_bucket_order_is_stable_and_its_directory_fits_the_chunk() -> None:
    h = np.array([8, 1, 0, 9, 8], np.int64)
    order, directory = bucket_order(h)
    assert order.tolist() == [0, 2, 4, 1, 3] and len(directory) == len(h)
    assert directory.tolist()[:2] == [0, 3]


def test_extend_takes_the_candidates_of_the_origin_whose_intervals_meet() -> None:
    tuples = (np.array([0, 1, 1]), np.array([0, 5, 9]), np.array([4, 8, 12]))
    candidates = (np.array([0, 1, 3]), np.array([3, 0, 8]), np.array([9, 6, 10]))
    left, right = extend(tuples, candidates)
    assert list(zip(left.tolist(), right.tolist(), strict=True)) == [(0, 0), (1, 1), (2, 2)]


def test_dense_ids_number_hashes_by_first_appearance() -> None:
    ids, count = dense_ids(np.array([7, -1, 7, 0, -1], np.int64))
    assert ids.tolist() == [0, 1, 0, 2, 1] and count == 3
