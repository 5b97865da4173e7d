"""Kernels over frequency counts against counting anew, over drawn rows and windows."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from muntin.kernels import frequencies


class Drawn:
    """Rows by group, in order of panes, and answers of (group, instant, length)."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.rng, self.kinds, self.groups = rng, int(rng.choice([1, 3, 40, 700])), int(rng.choice([1, 2, 7]))
        n = int(rng.choice([1, 30, 400]))
        group, pane = rng.integers(0, self.groups, n), rng.integers(0, 12, n)
        order = np.lexsort([pane, group])
        self.group, self.pane = group[order], pane[order]
        self.code, self.weight = rng.integers(0, self.kinds, n), rng.integers(1, 5, n)
        self.begin = np.searchsorted(self.group, np.arange(self.groups + 1))
        asked = [rng.integers(0, self.groups, 60), rng.integers(0, 14, 60), rng.integers(1, 14, 60)]
        self.asked = np.ascontiguousarray(np.column_stack(asked)[np.lexsort([asked[2], asked[1], asked[0]])])

    def counts(self, asked: np.ndarray) -> Counter[int]:
        group, time, length = asked.tolist()
        inside = (self.group == group) & (self.pane <= time) & (self.pane > time - length)
        found: Counter[int] = Counter()
        for c, w in zip(self.code[inside].tolist(), self.weight[inside].tolist(), strict=True):
            found[c] += w
        return found


SEEDS = range(30)


@pytest.mark.parametrize("seed", SEEDS)
def test_distinct_values(seed: int) -> None:
    d = Drawn(seed)
    found = frequencies.distinct(d.code, d.kinds, d.begin, d.pane, d.asked)
    assert found.tolist() == [len(d.counts(a)) for a in d.asked]


@pytest.mark.parametrize("seed", SEEDS)
def test_values_at_ranks(seed: int) -> None:
    """Few answers and many: selected one by one, and followed together."""
    d = Drawn(seed)
    spans = frequencies.group_spans(d.asked, d.begin, d.pane)
    some = np.flatnonzero(spans[:, 1] > spans[:, 0])
    some = some[: int(d.rng.choice([1, 4, 60]))]
    counts = [d.counts(a) for a in d.asked[some]]
    rank = np.array([d.rng.integers(0, sum(c.values())) for c in counts], np.int64)
    halves = np.sort(np.column_stack([spans[some, 0], d.rng.integers(spans[some, 0], spans[some, 1] + 1)]), axis=1)
    parts = np.stack([halves, np.column_stack([halves[:, 1], spans[some, 1]])], axis=1).reshape(-1, 2)
    asked_begin = np.searchsorted(d.asked[some, 0], np.arange(d.groups + 1))
    found = frequencies.ranked(
        d.code.copy(), d.weight.copy(), max(1, (d.kinds - 1).bit_length()), d.begin, asked_begin,
        np.arange(len(some)), 2 * np.arange(len(some) + 1), np.ascontiguousarray(parts), rank.copy(),
    )  # fmt: skip
    for code, c, r in zip(found.tolist(), counts, rank.tolist(), strict=True):
        assert sum(n for v, n in c.items() if v < code) <= r < sum(n for v, n in c.items() if v <= code)


@pytest.mark.parametrize("seed", SEEDS)
def test_most_frequent_values(seed: int) -> None:
    d = Drawn(seed)
    order = d.rng.permutation(len(d.asked))
    asked, k = d.asked[order], d.rng.integers(1, 9, len(d.asked))
    spans = frequencies.group_spans(np.ascontiguousarray(asked), d.begin, d.pane)
    fresh = np.append(1, np.diff(asked[:, 0]) != 0).astype(np.int64)
    found = frequencies.most_frequent(d.code, d.kinds, d.weight, d.weight * 3, spans, fresh, k)
    begin, codes, counts, more, touched = found
    for i, a in enumerate(asked):
        best = sorted(d.counts(a).items(), key=lambda x: (-x[1], x[0]))[: k[i]]
        own = slice(begin[i], begin[i + 1])
        assert sorted(zip(codes[own].tolist(), counts[own].tolist(), strict=True)) == sorted(best)
        assert (more[own] == 3 * counts[own]).all()
    every = sum(len(d.counts(a)) for a in asked)
    most = 3 * every + 5 * int((spans[:, 1] - spans[:, 0]).sum()) + 34 * len(asked)
    assert spans[0, 1] - spans[0, 0] <= touched <= most


@pytest.mark.parametrize("seed", range(8))
def test_windows_that_grow_choose_among_few_values(seed: int) -> None:
    """Many values, most of them as frequent as others, in spans of which each holds the one before; what is gone
    through grows with the rows and not with the values of each span. Now and then a span is shorter than the one
    before."""
    rng = np.random.default_rng(seed)
    kinds, k = 3_000, int(rng.integers(1, 12))
    code = rng.integers(0, kinds, 8_000) if seed % 2 else np.arange(8_000) % kinds
    code = np.sort(code.reshape(40, 200)[:, ::-1], axis=1).reshape(-1) if seed % 3 else code[::-1].copy()
    weight = rng.integers(1, 3, len(code))
    begins = np.sort(rng.integers(0, 7_900, 30))[::-1]
    if seed >= 4:
        begins[[10, 20]] = begins[[9, 19]] + 50
    spans = np.column_stack([begins, np.full(30, 8_000)]).astype(np.int64)
    fresh = (np.arange(30) == 0).astype(np.int64)
    none = np.empty(0, np.int64)
    args = code, kinds, weight, none, np.ascontiguousarray(spans), fresh, np.full(30, k)
    begin, codes, counts, _, touched = frequencies.most_frequent(*args)
    for a, (low, high) in enumerate(spans.tolist()):
        sums = np.bincount(code[low:high], weight[low:high], kinds).astype(np.int64)
        best = np.lexsort([np.arange(kinds), -sums])[:k]
        own = slice(begin[a], begin[a + 1])
        assert sorted(zip(codes[own].tolist(), counts[own].tolist(), strict=True)) == sorted(
            (int(c), int(sums[c])) for c in best if sums[c]
        )
    if seed < 4:
        assert touched < 8_000 * 3 + 30 * (2 * k + 16)


@pytest.mark.parametrize("seed", SEEDS)
def test_registers(seed: int) -> None:
    d = Drawn(seed)
    slot, rank = d.rng.integers(0, 16, len(d.code)), d.rng.integers(1, 50, len(d.code))
    spans = frequencies.group_spans(d.asked, d.begin, d.pane)
    fresh = np.append(1, (np.diff(d.asked[:, :2], axis=0) != 0).any(axis=1)).astype(np.int64)
    sums, nothing = frequencies.register_sums(slot, rank, 16, spans, fresh)
    for (low, high), (near, far), none in zip(spans.tolist(), sums.tolist(), nothing.tolist(), strict=True):
        held = np.zeros(16, np.int64)
        np.maximum.at(held, slot[low:high], rank[low:high])
        assert (near, far, none) == ((0.5 ** held[held < 32]).sum(), (0.5 ** held[held >= 32]).sum(), (held == 0).sum())
