"""The documents' synopses against recomputation: every window, every phase, every kind of data."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from muntin.research.synopses.data import COUNT, EVERY, FREQUENCIES, MAX, SUM, Data, count_distinct, quantile, top_k
from muntin.research.synopses.joins import BasicIntervalJoin, GeneralisedBij, IntervalJoin, RunningJoin
from muntin.research.synopses.windows import BasicInterval, Interval, Running


def filled(kind: type, data: Data, b: int, values: list[list[int]]):  # type: ignore[no-untyped-def]
    synopsis = kind(data, b)
    for part in values:
        synopsis.update(data.of(part))
    return synopsis


@pytest.mark.parametrize("data", EVERY, ids=lambda d: d.name)
@pytest.mark.parametrize("kind", [Running, Interval, BasicInterval], ids=lambda k: k.__name__)
def test_windows_have_the_answers_of_recomputation(kind: type, data: Data) -> None:
    if kind is Running and data.subtract is None:
        with pytest.raises(ValueError, match="cannot be subtracted"):
            kind(data, 8)
        return
    rng = Random(7)
    values = [[rng.randint(0, 9) for _ in range(rng.randint(0, 3))] for _ in range(40)]
    synopsis = kind(data, 8)
    for at, part in enumerate(values):
        synopsis.update(data.of(part))
        for n in range(1, 9):
            expected = data.of(v for p in values[max(0, at + 1 - n) : at + 1] for v in p)
            assert synopsis.answer(n) == expected, (at, n)
        assert synopsis.size <= {Running: 9, Interval: 15, BasicInterval: 8}[kind]


def test_one_pass_answers_all_windows_of_a_basic_interval_synopsis() -> None:
    synopsis = filled(BasicInterval, MAX, 8, [[v] for v in (5, 9, 2, 7, 1, 8, 3, 6)])
    assert synopsis.answers([3, 1, 7, 4]) == {1: 6, 3: 8, 4: 8, 7: 9}
    assert synopsis.probes == 7


def test_frequency_counts_give_what_cannot_be_merged_otherwise() -> None:
    counts = filled(Running, FREQUENCIES, 4, [[1, 1], [2, 5], [1, 2, 2], [9]]).answer(3)
    assert counts == Counter({2: 3, 5: 1, 1: 1, 9: 1})
    assert (count_distinct(counts), quantile(counts, 0.5), top_k(counts, 2)) == (4, 2, [(2, 3), (1, 1)])


def joined(rng: Random, b: int, units: int) -> list[list[tuple[int, int, int]]]:
    """The results of a join of two windows of b sub-windows that come in each of them."""
    sizes = [(rng.randint(1, 3), rng.randint(1, 3)) for _ in range(units)]
    found = []
    for now in range(units):
        pairs = [(a, c) for a in range(max(0, now - b + 1), now + 1) for c in range(max(0, now - b + 1), now + 1)]
        new = [(a, c) for a, c in pairs if now in (a, c)]
        found.append([(a, c, rng.randint(0, 9)) for a, c in new for _ in range(sizes[a][0] * sizes[c][1])])
    return found


def brute(data: Data, results: list[list[tuple[int, int, int]]], now: int, n1: int, n2: int):  # type: ignore[no-untyped-def]
    flat = (r for part in results[: now + 1] for r in part)
    return data.of(v for a, c, v in flat if a > now - n1 and c > now - n2)


@pytest.mark.parametrize("data", [SUM, COUNT, MAX], ids=lambda d: d.name)
def test_join_synopses_have_the_answers_of_recomputation(data: Data) -> None:
    results, b = joined(Random(3), 8, 20), 8
    kinds = [BasicIntervalJoin, IntervalJoin] + ([RunningJoin] if data.subtract else [])
    for kind in kinds:
        synopsis = kind(data, b)
        for now, new in enumerate(results):
            synopsis.update(new)
            for n in range(1, b + 1):
                assert synopsis.answer(n) == brute(data, results, now, n, n), (kind, now, n)


def test_every_interval_changes_at_every_update_of_a_join() -> None:
    results, b = joined(Random(4), 8, 20), 8
    basic, dyadic = BasicIntervalJoin(COUNT, b), IntervalJoin(COUNT, b)
    changed = [(basic.update(new), dyadic.update(new)) for new in results]
    assert {c for c, _ in changed[b:]} == {b}
    assert min(c for _, c in changed[b:]) >= b


def test_a_running_join_needs_the_prefix_that_the_text_removes() -> None:
    results = joined(Random(5), 4, 9)
    synopsis = RunningJoin(COUNT, 4, keep_subtrahend=False)
    for new in results:
        synopsis.update(new)
    assert synopsis.answer(3) == brute(COUNT, results, 8, 3, 3)
    assert synopsis.answer(4) > brute(COUNT, results, 8, 4, 4)


def test_windows_of_two_lengths_take_more_than_three_values() -> None:
    results, b, g = joined(Random(6), 8, 20), 8, 2
    text, exact = GeneralisedBij(COUNT, b, g), GeneralisedBij(COUNT, b, g, exact=True)
    wrong = set()
    for now, new in enumerate(results):
        text.update(new)
        exact.update(new)
        for n1, n2 in [(n, n) for n in range(1, 9)] + [(x, y) for x in (6, 7, 8) for y in (6, 7, 8)]:
            expected = brute(COUNT, results, now, n1, n2)
            assert exact.answer(n1, n2) == expected, (now, n1, n2)
            wrong |= {(n1, n2)} if text.answer(n1, n2) != expected else set()
    assert wrong == {(6, 8), (8, 6)}
    with pytest.raises(ValueError, match="does not answer"):
        exact.answer(5, 8)
