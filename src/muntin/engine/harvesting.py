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

KNOWN = PARTS
"""Counts that a join has before its windows are harvested."""


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

    def add(self, counts: Counts) -> None:
        """One batch's counts, all shards together."""
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

    def setting(self, fraction: float) -> Setting:
        """What is read where only this fraction of the full work can be done; everything while too little is known.
        Parts that gave nothing are left out even where there is time for them: they are looked into in turn."""
        if fraction >= 1 or len(self.counts) < KNOWN:
            return Setting({})
        given = self.problem()
        solved = double_sided(given, fraction)
        work, whole = given.total(given.full)
        gives = {(i, j): self._each(i, j, 2) for i, order in enumerate(given.orders) for j in order}
        parts = {
            (i, j): frozenset(k for k in given.read(solved.counts, i, hop) if gives[i, j][k] > 0)
            for i, order in enumerate(given.orders)
            for hop, j in enumerate(order)
        }
        read = tuple(tuple(len(parts[i, j]) for j in order) for i, order in enumerate(given.orders))
        done = given.total(read)[0] / work if work else 1.0
        return Setting(parts, solved.output / whole if whole else 1.0, min(1.0, done + 1 / PARTS))


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
