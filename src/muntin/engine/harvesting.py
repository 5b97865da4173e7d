"""Which parts of its windows an overloaded join reads: what its parts gave so far, and the setting that follows.

The problem and its solvers are those of Gedik et al. (``optimizer.harvest``). Yields are measured for each part rather
than taken from one histogram a stream, since each batch reads another part beside the chosen ones; work is counted in
rows looked at, whatever finds them (hash, sorted column, time alone), which is the plug-in cost model of their 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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


@dataclass
class Learned:
    """What one join showed: by (new input, window, part) rows that looked, rows looked at, partners found."""

    inputs: int
    counts: dict[tuple[int, int, int], tuple[float, float, float]] = field(default_factory=dict)
    origins: dict[int, float] = field(default_factory=dict)
    looked_into: dict[int, int] = field(default_factory=dict)
    batches: int = 0

    def add(self, counts: Counts) -> None:
        """One batch's counts, all shards together."""
        self.batches += 1
        for part in {k for _, _, k in counts}:
            if all((i, j, part) in counts for i in range(self.inputs) for j in range(self.inputs) if i != j):
                self.looked_into[part] = self.batches
        for key, new in counts.items():
            old = self.counts.get(key, (0.0, 0.0, 0.0))
            self.counts[key] = tuple(FORGET * o + n for o, n in zip(old, new, strict=True))  # type: ignore[assignment]
        for i in range(self.inputs):
            most = max((n[0] for key, n in counts.items() if key[0] == i), default=0)
            self.origins[i] = FORGET * self.origins.get(i, 0.0) + most

    def _each(self, i: int, j: int, which: int) -> list[float]:
        """Of each part, rows looked at (1) or found (2) by row that looks."""
        found = (self.counts.get((i, j, k), (0.0, 0.0, 0.0)) for k in range(PARTS))
        return [n[which] / n[0] if n[0] else 0.0 for n in found]

    def share_of(self, counts: Counts) -> tuple[int, float]:
        """(partners that were found, partners that there were by what each part gave when it was last read) in a batch
        of a join of two inputs."""
        found = sum(n[2] for n in counts.values())
        there = 0.0
        for i in (0, 1):
            rows = max((n[0] for key, n in counts.items() if key[0] == i), default=0)
            there += rows * sum(self._each(i, 1 - i, 2))
        return found, max(float(found), there)

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


def added(many: Iterable[Counts]) -> Counts:
    """Counts of several shards together."""
    total: Counts = {}
    for counts in many:
        for key, new in counts.items():
            old = total.get(key, (0, 0, 0))
            total[key] = (old[0] + new[0], old[1] + new[1], old[2] + new[2])
    return total


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
