"""BIJ, IJ and RJ synopses over the results of a join of two windows (Golab 2006, section 8.3.2, Figures 8.3 and 8.4).

Join results leave in another order than they come, so intervals are labelled by when results expire: when their older
tuple does. Results of an (ns, ns)-join are those of the (bs, bs)-join that expire in the n last intervals. An update
merges a pre-computed value into every interval. Time is counted in sub-windows of length s.

A result is (arrival of the first tuple, arrival of the second, value); arrivals are numbers of sub-windows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from muntin.research.synopses.data import Data

Result = tuple[int, int, Any]


def expires(result: Result, b: int) -> int:
    """In which sub-window a result leaves the (bs, bs)-join."""
    return min(result[0], result[1]) + b


class Buffer:
    """What is computed before an update: one value for each interval that is to come."""

    def __init__(self, data: Data, b: int) -> None:
        self.data, self.b = data, b

    def by_expiry(self, results: Sequence[Result], now: int) -> list[Any]:
        """Of the results that came in sub-window ``now``: f((t + s, t + 2s]) to f((t + bs, t + (b + 1)s])."""
        own: list[list[Any]] = [[] for _ in range(self.b)]
        for r in results:
            own[expires(r, self.b) - now - 1].append(r[2])
        return [self.data.of(values) for values in own]


class BasicIntervalJoin:
    """BIJ: b intervals by expiry, the oldest first."""

    def __init__(self, data: Data, b: int) -> None:
        self.buffer, self.data, self.b, self.now = Buffer(data, b), data, b, -1
        self.values = [data.nothing() for _ in range(b)]

    def update(self, results: Sequence[Result]) -> int:
        """Drop the oldest interval, append the newest, merge into all; returns how many changed."""
        self.now += 1
        new = self.buffer.by_expiry(results, self.now)
        old = [*self.values[1:], self.data.nothing()]
        self.values = [self.data.merge(a, n) for a, n in zip(old, new, strict=True)]
        return sum(a != v for a, v in zip(old, self.values, strict=True))

    def answer(self, n: int) -> Any:
        """Of the (ns, ns)-join: the n youngest intervals."""
        return self.data.together(self.values[self.b - n :])


class IntervalJoin:
    """IJ: dyadic intervals of expiry; all of them change at an update."""

    def __init__(self, data: Data, b: int) -> None:
        self.buffer, self.data, self.b, self.now = Buffer(data, b), data, b, -1
        self.values: dict[tuple[int, int], Any] = {}
        """By (length, first sub-window in which results expire)."""

    def update(self, results: Sequence[Result]) -> int:
        self.now += 1
        changed = 0
        for k, value in enumerate(self.buffer.by_expiry(results, self.now)):
            at, length = self.now + 1 + k, 1
            while length <= self.b:
                key = length, at - at % length
                before = self.values.get(key, self.data.nothing())
                self.values[key] = self.data.merge(before, value)
                changed += self.values[key] != before
                length *= 2
        self.values = {k: v for k, v in self.values.items() if k[0] + k[1] > self.now + 1}
        return changed

    def answer(self, n: int) -> Any:
        """Of the (ns, ns)-join, by a dyadic cover of the last n expiries."""
        parts, at, end = [], self.now + 1 + self.b - n, self.now + 1 + self.b
        while at < end:
            length = self.b
            while at % length or at + length > end:
                length //= 2
            parts.append(self.values.get((length, at), self.data.nothing()))
            at += length
        return self.data.together(parts)


class RunningJoin:
    """RJ: prefixes by expiry, of data that can be subtracted. b + 1 of them: the one that has just expired is what
    windows of full length are subtracted from. ``keep_subtrahend=False`` removes it, as the text has it, and subtracts
    nothing from them."""

    def __init__(self, data: Data, b: int, keep_subtrahend: bool = True) -> None:
        self.buffer, self.data, self.b, self.now = Buffer(data, b), data, b, -1
        self.keep_subtrahend = keep_subtrahend
        self.prefixes = [data.nothing() for _ in range(b + 1)]

    def update(self, results: Sequence[Result]) -> None:
        """Remove the oldest prefix, append one, add to all but the subtrahend what expires up to them."""
        self.now += 1
        self.prefixes = [*self.prefixes[1:], self.prefixes[-1]]
        total = self.data.nothing()
        for k, value in enumerate(self.buffer.by_expiry(results, self.now), start=1):
            total = self.data.merge(total, value)
            self.prefixes[k] = self.data.merge(self.prefixes[k], total)
        if not self.keep_subtrahend:
            self.prefixes[0] = self.data.nothing()

    def answer(self, n: int) -> Any:
        """Of the (ns, ns)-join: two probes."""
        assert self.data.subtract is not None
        return self.data.subtract(self.prefixes[self.b], self.prefixes[self.b - n])


class GeneralisedBij:
    """BIJ that tells results apart by which window's tuple is the older one, for (n1 s, n2 s)-joins with
    b - g <= n1, n2 <= b: beyond the shorter window's length only results whose older tuple is of the longer one count.

    The text stores three values in the g oldest intervals alone. They are kept in all of them here: results that were
    merged while their interval was young could not be told apart when it is old. ``exact=True`` tells them apart by how
    much older the one tuple is, too, up to g sub-windows: 2g + 1 values.
    """

    def __init__(self, data: Data, b: int, g: int, exact: bool = False) -> None:
        self.data, self.b, self.g, self.exact, self.now = data, b, g, exact, -1
        self.values: dict[int, dict[int, Any]] = {}
        """By arrival of the older tuple, by how much older that of the first window is (of the second: negative), as
        far as it is told."""

    def update(self, results: Sequence[Result]) -> None:
        """Drop the oldest interval, append the newest, merge into all."""
        self.now += 1
        self.values.pop(self.now - self.b, None)
        parts: dict[tuple[int, int], list[Any]] = {}
        for first, second, value in results:
            parts.setdefault((min(first, second), self._told(second - first)), []).append(value)
        for (arrival, told), values in parts.items():
            own = self.values.setdefault(arrival, {})
            own[told] = self.data.merge(own.get(told, self.data.nothing()), self.data.of(values))

    def _told(self, older: int) -> int:
        most = self.g if self.exact else min(self.g, 1)
        return max(-most, min(older, most))

    def answer(self, n1: int, n2: int) -> Any:
        """Of the (n1 s, n2 s)-join. Raises ValueError for one that the rule SS3 does not allow."""
        if n1 != n2 and (min(n1, n2) < self.b - self.g or max(n1, n2) > self.b):
            raise ValueError(f"a synopsis with g = {self.g} does not answer a ({n1}s, {n2}s)-join")
        parts = []
        for arrival, own in self.values.items():
            age = self.now - arrival + 1
            for told, value in own.items():
                older, younger = (n1, n2) if told >= 0 else (n2, n1)
                hidden = not self.exact and told != 0  # the age of the younger tuple is not told
                if age <= older and (hidden or age - abs(told) <= younger):
                    parts.append(value)
        return self.data.together(parts)
