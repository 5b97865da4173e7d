"""Which parts of its windows an overloaded join reads: what its parts gave so far, and the setting that follows.

The problem and its solvers are those of Gedik et al. (``optimizer.harvest``). Yields are measured for each part rather
than taken from one histogram a stream, since each batch reads another part beside the chosen ones; work is counted in
rows looked at, whatever finds them (hash, sorted column, time alone), which is the plug-in cost model of their 7.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from muntin.operators.joins.harvest import PARTS, Counts
from muntin.optimizer.harvest.problem import Problem
from muntin.optimizer.harvest.solvers import double_sided

FORGET = 0.8
"""What of earlier counts stays after a batch that counted the same part."""

KNOWN = 0.75
"""Share of its parts that a join has counted before its windows are harvested."""


def probed(parts: float, tuples: float, found: float) -> float:
    """Work of finding the partners of one row: rows looked at, and each match, which is put together."""
    return tuples + found


@dataclass(frozen=True)
class Setting:
    """What a join reads, by direction and window, the share of its results that this is estimated to give, and the
    share of its full work that it is."""

    parts: Mapping[tuple[int, int], frozenset[int]]
    share: float = 1.0
    work: float = 1.0


@dataclass(frozen=True)
class Given:
    """``found``: results (or partners) that were given, ``there``: how many there are estimated to have been, within
    ``error`` in about 95 of 100 cases."""

    found: int = 0
    there: float = 0.0
    error: float = 0.0

    @property
    def share(self) -> float:
        """What was given of all; 1 where there was nothing."""
        return min(1.0, self.found / self.there) if self.there else 1.0

    @property
    def share_error(self) -> float:
        """The share is within it in about 95 of 100 cases."""
        return min(1.0, self.share * self.error / self.there) if self.there else 0.0

    def __add__(self, other: Given) -> Given:
        """Of two batches: what is wrong about one may be wrong about the other."""
        return Given(self.found + other.found, self.there + other.there, self.error + other.error)


LONGEST = 5
"""Batches after which what a part gave is not forgotten any further until it is read again."""


@dataclass
class Learned:
    """What one join showed: by (new input, window, part) rows that looked, rows looked at, partners found.

    ``misses``: squares of how far what a part gave was from what it was thought to give, when it was read for the first
    time in a while; ``guesses``: what it was thought to give. Their quotient is by how much chance and change make an
    estimate worse than a count would be.
    """

    inputs: int
    counts: dict[tuple[int, int, int], tuple[float, float, float]] = field(default_factory=dict)
    origins: dict[int, float] = field(default_factory=dict)
    looked_into: dict[int, int] = field(default_factory=dict)
    read: dict[tuple[int, int, int], int] = field(default_factory=dict)
    misses: float = 40.0
    guesses: float = 10.0
    batches: int = 0

    def add(self, counts: Counts) -> None:
        """One batch's counts, all shards together."""
        self.batches += 1
        looked = {key: n for key, n in counts.items() if n[0]}
        for part in {k for _, _, k in looked}:
            if all((i, j, part) in looked for i in range(self.inputs) for j in range(self.inputs) if i != j):
                self.looked_into[part] = self.batches
        self._compare(looked)
        for key, new in looked.items():
            old = self.counts.get(key, (0.0, 0.0, 0.0))
            keep = FORGET ** min(LONGEST, self.batches - self.read.get(key, 0))
            self.counts[key] = (keep * old[0] + new[0], keep * old[1] + new[1], keep * old[2] + new[2])
            self.read[key] = self.batches
        for i in range(self.inputs):
            most = max((n[0] + n[3] for key, n in counts.items() if key[0] == i), default=0)
            self.origins[i] = FORGET * self.origins.get(i, 0.0) + most

    def _compare(self, looked: Counts) -> None:
        """What parts give that were not read in the batch before, beside what they were thought to give."""
        new = [key for key in looked if key in self.counts and self.read[key] < self.batches - 1]
        if not new:
            return
        thought = {key: looked[key][0] * self.counts[key][2] / self.counts[key][0] for key in new}
        self.misses = FORGET * self.misses + sum((looked[k][2] - t) ** 2 for k, t in thought.items())
        self.guesses = FORGET * self.guesses + sum(max(1.0, t) for t in thought.values())

    def _each(self, i: int, j: int, which: int) -> list[float]:
        """Of each part, rows looked at (1) or found (2) by row that looks."""
        found = (self.counts.get((i, j, k), (0.0, 0.0, 0.0)) for k in range(PARTS))
        return [n[which] / n[0] if n[0] else 0.0 for n in found]

    def given(self, counts: Counts) -> Given:
        """What a batch of a join of two inputs gave, and what it would have given: parts that were left out as they
        gave when they were last read; those that never were as the others do on average."""
        found, left_out, square, unknown = 0, 0.0, 0.0, 0.0
        for (i, j, k), (_, _, many, unread) in counts.items():
            found += many
            if unread and (own := self.counts.get((i, j, k))) is not None:
                thought = unread * own[2] / own[0]
                left_out, square = left_out + thought, square + max(1.0, thought)
            elif unread:
                unknown += unread * self._usual(i, j)
        error = 2 * math.sqrt(square * self.misses / self.guesses) + unknown
        return Given(found, found + left_out + unknown, error)

    def _usual(self, i: int, j: int) -> float:
        """Partners that a row finds in a part, on average over those that were read."""
        each = [n[2] / n[0] for (a, b, _), n in self.counts.items() if (a, b) == (i, j)]
        return sum(each) / len(each) if each else 0.0

    def problem(self) -> Problem:
        """The harvesting problem as measured; a row of window j is what a look into it costs on average."""
        m = range(self.inputs)
        orders = tuple(tuple(j for j in m if j != i) for i in m)
        looked = [[sum(self._each(i, j, 1)) if j != i else 0.0 for j in m] for i in m]
        rows = tuple(max(1e-6, sum(looked[i][j] for i in m) / (self.inputs - 1)) for j in m)
        scores = tuple(tuple(tuple(y + 1e-9 for y in self._each(i, j, 2)) for j in orders[i]) for i in m)
        selectivity = tuple(tuple(sum(s) / rows[j] for j, s in zip(orders[i], scores[i], strict=True)) for i in m)
        rates = tuple(max(self.origins.get(i, 0.0), 1e-6) for i in m)
        return Problem(rates, rows, (PARTS,) * self.inputs, orders, selectivity, scores, probed)

    @property
    def knows(self) -> bool:
        """Whether it is known what parts give."""
        return len(self.counts) >= KNOWN * self.inputs * (self.inputs - 1) * PARTS

    @property
    def longest_unseen(self) -> int:
        """The part that was not read, from everywhere, for the longest time; younger ones first."""
        return self._by_age[0]

    @property
    def _by_age(self) -> list[int]:
        return sorted(range(PARTS), key=lambda part: (self.looked_into.get(part, -1), part))

    def setting(self, fraction: float, explored: int | None = None) -> Setting:
        """What is read where only this fraction of the full work can be done; while too little is known, parts in turn.
        Parts that gave nothing are left out even where there is time for them: they are looked into in turn.
        ``explored``: the part that is read in any case."""
        if explored is not None:
            self.looked_into[explored] = self.batches + 1
        if fraction >= 1:
            return Setting({})
        if not self.knows:
            return self._in_turn(max(1, round(fraction * PARTS)))
        given = self.problem()
        solved = double_sided(given, fraction)
        gives = {(i, j): self._each(i, j, 2) for i, order in enumerate(given.orders) for j in order}
        any_gave = any(map(any, gives.values()))
        parts = {
            (i, j): frozenset(k for k in given.read(solved.counts, i, hop) if gives[i, j][k] > 0 or not any_gave)
            for i, order in enumerate(given.orders)
            for hop, j in enumerate(order)
        }
        return Setting(parts, *self._reading(given, parts, explored))

    def _in_turn(self, many: int) -> Setting:
        """As many parts as were not read for the longest time, from everywhere."""
        chosen = frozenset(self._by_age[:many])
        self.looked_into |= dict.fromkeys(chosen, self.batches)
        ways = ((i, j) for i in range(self.inputs) for j in range(self.inputs) if i != j)
        return Setting(dict.fromkeys(ways, chosen), many / PARTS, many / PARTS)

    def _reading(
        self, given: Problem, parts: Mapping[tuple[int, int], frozenset[int]], explored: int | None
    ) -> tuple[float, float]:
        """(share of the results, share of the work) of new rows that read these parts."""
        extra = frozenset(() if explored is None else (explored,))
        shares, work, whole = [0.0, 0.0], 0.0, 0.0
        for i, order in enumerate(given.orders):
            found = kept = given.rates[i]
            for j in order:
                looked, gave = self._each(i, j, 1), self._each(i, j, 2)
                read = [k for k in range(PARTS) if k in parts[i, j] or k in extra]
                work += kept * probed(len(read), sum(looked[k] for k in read), sum(gave[k] for k in read))
                whole += found * probed(PARTS, sum(looked), sum(gave))
                kept, found = kept * sum(gave[k] for k in read), found * sum(gave)
            shares[0] += kept
            shares[1] += found
        return shares[0] / shares[1] if shares[1] else 1.0, min(1.0, work / whole) if whole else 1.0


def to_json(parts: Mapping[tuple[int, int], frozenset[int]]) -> dict[str, list[int]]:
    """Parts by "new input,window"."""
    return {f"{i},{j}": sorted(own) for (i, j), own in parts.items()}


def of_json(value: Mapping[str, Any]) -> dict[tuple[int, int], frozenset[int]]:
    """What ``to_json`` made."""
    found = {}
    for name, own in value.items():
        i, j = map(int, name.split(","))
        found[i, j] = frozenset(own)
    return found
