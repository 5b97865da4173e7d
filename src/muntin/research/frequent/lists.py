"""Algorithm 6 over many sub-windows at once: the product's lists (``operators.sub_windows``), added up.

And an engine of its own, tuple by tuple as printed (with the corrections of the edge cases), that the product is held
against.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch
from muntin.operators.sub_windows import SubWindows, summarised

Ints = NDArray[np.int64]


@dataclass
class Frequent:
    """Algorithm 6 (6.2.1): a queue of summaries, global counters, delta. ``length``: sub-windows of the window.

    The k-th count of a sub-window with fewer values is 0; ties go to the least value; an answer comes with every
    sub-window once the window is full.
    """

    k: int
    length: int
    delta: int = 0
    counters: Counter[Hashable] = field(default_factory=Counter)
    queue: deque[list[tuple[Hashable, int]]] = field(default_factory=deque)
    peak: int = 0

    def sub_window(self, items: Iterable[Hashable]) -> dict[Hashable, int] | None:
        """Take in the tuples of a sub-window; the answer, None while the window is not full."""
        local = Counter(items)
        self.peak = max(self.peak, len(local) + sum(map(len, self.queue)) + len(self.counters))
        summary = sorted(local.items(), key=lambda c: (-c[1], c[0]))[: self.k]
        self.queue.append(summary)
        self.counters.update(dict(summary))
        self.delta += self._kth(summary)
        if len(self.queue) > self.length:
            gone = self.queue.popleft()
            self.delta -= self._kth(gone)
            for item, count in gone:
                self.counters[item] -= count
                if not self.counters[item]:
                    del self.counters[item]
        if len(self.queue) < self.length:
            return None
        return {item: count for item, count in self.counters.items() if count > self.delta}

    def _kth(self, summary: Sequence[tuple[Hashable, int]]) -> int:
        return summary[self.k - 1][1] if len(summary) == self.k else 0


@dataclass(frozen=True)
class Lists:
    """The lists of the sub-windows of one window, to the greatest k asked for. By entry: item, count, its rank from 0,
    its sub-window; ``sub_windows``: how many."""

    item: Ints
    count: Ints
    rank: Ints
    window: Ints
    sub_windows: int


def lists_of(items: Ints, size: int, k: int) -> Lists:
    """The product's lists of sub-windows of ``size`` items."""
    number = np.arange(len(items)) // size
    op = SubWindows((), "x", k, "lists")
    rows = Batch(pa.record_batch({"x": items}), number, number + 1)
    found = summarised(op, rows)
    entries = found.columns.column("x").field("items")
    sizes = np.diff(entries.offsets.to_numpy())
    flat = entries.flatten()
    begin = np.repeat(np.cumsum(sizes) - sizes, sizes)
    window = np.repeat(found.ts, sizes)
    rank = np.arange(len(window)) - begin
    return Lists(flat.field("item").to_numpy(), flat.field("count").to_numpy(), rank, window, len(found))


@dataclass(frozen=True)
class Found:
    """What is known of one window: delta, items over it, items reported, entries kept, and the mean relative error of
    the counts of those reported (0 for none)."""

    delta: int
    over: int
    reported: int
    entries: int
    error: float
    false: int


def window(lists: Lists, items: Ints, k: int) -> Found:
    """Algorithm 6's answer for the window of these items, and brute force beside it."""
    kept = lists.rank < k
    delta = int(lists.count[lists.rank == k - 1].sum())
    universe = int(items.max()) + 1
    totals = np.zeros(universe, np.int64)
    np.add.at(totals, lists.item[kept], lists.count[kept])
    true = np.bincount(items, minlength=universe)
    reported, over = np.flatnonzero(totals > delta), np.flatnonzero(true > delta)
    error = float(np.mean(1 - totals[reported] / true[reported])) if len(reported) else 0.0
    false = len(np.setdiff1d(reported, over))
    return Found(delta, len(over), len(reported), int(kept.sum()), error, false)


def zipf(count: int, kinds: int, exponent: float, seed: int) -> Ints:
    """Items by a Zipf law (exponent 0: uniform)."""
    weights = np.arange(1, kinds + 1, dtype=np.float64) ** -exponent
    return np.random.default_rng(seed).choice(kinds, count, p=weights / weights.sum()).astype(np.int64)
