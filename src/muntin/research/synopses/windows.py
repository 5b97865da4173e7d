"""Running, interval and basic interval synopses of one window (Golab 2006, section 2.3.4, Figure 2.5).

Time is counted in sub-windows of length s: ``update`` takes the data of the newest one; ``answer(n)`` is that of the
last n, n <= b. ``probes`` counts the stored values that answers read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from muntin.research.synopses.data import Data


class Running:
    """Prefixes since the beginning, f([1, t - is]) for i from 0 to b: two probes for every window, of data that can be
    subtracted; b + 1 values."""

    def __init__(self, data: Data, b: int) -> None:
        if data.subtract is None:
            raise ValueError(f"{data.name} cannot be subtracted: a running synopsis cannot answer it")
        self.data, self.b, self.probes = data, b, 0
        self.prefixes = [data.nothing()]

    def update(self, newest: Any) -> None:
        self.prefixes.append(self.data.merge(self.prefixes[-1], newest))
        del self.prefixes[: -(self.b + 1)]

    def answer(self, n: int) -> Any:
        """Of the last n sub-windows, or of all there were."""
        assert self.data.subtract is not None and 1 <= n <= self.b
        self.probes += 2
        return self.data.subtract(self.prefixes[-1], self.prefixes[max(0, len(self.prefixes) - 1 - n)])

    @property
    def size(self) -> int:
        """Stored values."""
        return len(self.prefixes)


class Interval:
    """Dyadic intervals: each window is a disjoint union of O(log b) of them; at most 2b - 1 values."""

    def __init__(self, data: Data, b: int) -> None:
        if b & (b - 1):
            raise ValueError(f"an interval synopsis has a power of two of sub-windows, not {b}")
        self.data, self.b, self.probes, self.now = data, b, 0, 0
        self.values: dict[tuple[int, int], Any] = {}
        """By (length, beginning), in sub-windows."""

    def update(self, newest: Any) -> None:
        """Insert the newest sub-window, close the parents that became full, drop what has expired."""
        self.values[1, self.now] = newest
        self.now += 1
        length = 2
        while length <= self.b and self.now % length == 0:
            halves = (self.values.get((length // 2, self.now - part)) for part in (length, length // 2))
            self.values[length, self.now - length] = self.data.together(h for h in halves if h is not None)
            length *= 2
        self.values = {k: v for k, v in self.values.items() if k[1] >= self.now - self.b}

    def answer(self, n: int) -> Any:
        """Of the last n sub-windows, by their smallest dyadic cover."""
        parts = [self.values[p] for p in self.cover(n)]
        self.probes += len(parts)
        return self.data.together(parts)

    def cover(self, n: int) -> list[tuple[int, int]]:
        """The fewest stored intervals that make up the last n sub-windows."""
        found, at = [], max(0, self.now - n)
        while at < self.now:
            length = self.b
            while at % length or at + length > self.now or (length, at) not in self.values:
                length //= 2
            found.append((length, at))
            at += length
        return found

    @property
    def size(self) -> int:
        """Stored values."""
        return len(self.values)


class BasicInterval:
    """The b sub-windows alone: n probes, and on the way from the youngest to the oldest the answers of all shorter
    windows (rule CS2)."""

    def __init__(self, data: Data, b: int) -> None:
        self.data, self.b, self.probes = data, b, 0
        self.values: list[Any] = []

    def update(self, newest: Any) -> None:
        self.values.append(newest)
        del self.values[: -self.b]

    def answer(self, n: int) -> Any:
        return self.answers([n])[n]

    def answers(self, lengths: list[int]) -> dict[int, Any]:
        """Several windows in one pass."""
        found, wanted = {}, set(lengths)
        for n, value in enumerate(self._growing(max(wanted)), start=1):
            if n in wanted:
                found[n] = value
        return found

    def _growing(self, most: int) -> Iterator[Any]:
        total = self.data.nothing()
        for k in range(1, most + 1):
            if k <= len(self.values):
                self.probes += 1
                total = self.data.merge(total, self.values[-k])
            yield total

    @property
    def size(self) -> int:
        """Stored values."""
        return len(self.values)
