"""Window harvesting: under overload a join reads only those panes of its windows that give most (Gedik et al., 4).

A window is divided into ``PARTS`` logical basic windows by age; a chunk belongs to the part that its middle has, seen
from the middle of the new rows. Chunks of parts that are not chosen are not opened. What is found is a part of the
exact result, and the same whenever a batch runs: which chunks there are, and which rows are new, is settled before it.
What each part gave is counted: the driver learns from it (``engine.harvesting``). Now and then one part more is read,
another one each time, so that what is never chosen is known, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from muntin.core.time import FOREVER

PARTS = 16
"""Parts of a window, as many as it has panes."""

Parts = Mapping[tuple[int, int], frozenset[int]]
"""By (input whose rows are new, input whose window they meet) the parts that are read; of others all."""

Counts = dict[tuple[int, int, int], tuple[int, int, int, int]]
"""By (new input, window, part): rows that looked for partners, rows looked at, partners found, rows that would have
looked if the part had not been left out."""


@dataclass
class Harvest:
    """One step of one join. ``explored``: the part that is read in any case (None: none)."""

    chosen: Parts = field(default_factory=dict)
    explored: int | None = None
    readings: list[Reading] = field(default_factory=list)

    def reading(self, i: int, j: int, starts: NDArray[np.int64]) -> Reading:
        """New rows of input ``i`` with these starts (at least one) look for partners in window ``j``."""
        middle = (int(starts.min()) + int(starts.max())) // 2
        self.readings.append(Reading(self.chosen.get((i, j)), self.explored, (i, j), middle, len(starts)))
        return self.readings[-1]

    @property
    def counts(self) -> Counts:
        """What all looks together gave."""
        return added(reading.counts() for reading in self.readings)


@dataclass
class Reading:
    """A look into one window, chunk by chunk. ``chosen``: None for all parts; ``there``: parts in which there were
    chunks; ``gave_parts``: by part, rows looked at and partners found."""

    chosen: frozenset[int] | None
    explored: int | None
    way: tuple[int, int]
    middle: int
    origins: int
    part: int = 0
    there: set[int] = field(default_factory=set)
    gave_parts: dict[int, tuple[int, int]] = field(default_factory=dict)

    def wants(self, meta: Mapping[str, int]) -> bool:
        """Whether a chunk with these bounds is to be read."""
        self.part = part_of(meta, self.middle)
        self.there.add(self.part)
        return self._reads(self.part)

    def gave(self, looked: int, found: int) -> None:
        """Count what the chunk asked for last gave."""
        own = self.gave_parts.get(self.part, (0, 0))
        self.gave_parts[self.part] = (own[0] + looked, own[1] + found)

    def found(self, part: int, many: int) -> None:
        """Count partners that conditions left of what a part gave."""
        looked, found = self.gave_parts[part]
        self.gave_parts[part] = (looked, found + many)

    def counts(self) -> Counts:
        """By part. One in which there is no chunk counts as looked into where there are some beside it: chunks lie now
        in one part and now in the next, and what a row finds in a part is a mean over both. Where more is missing, it
        has not come yet, or went for lack of memory: of that nothing is known."""
        found: Counts = {}
        for part in {k for t in self.there for k in (t - 1, t, t + 1) if 0 <= k < PARTS}:
            if part > max(self.there):
                continue
            looked, many = self.gave_parts.get(part, (0, 0))
            read = self._reads(part)
            found[*self.way, part] = (self.origins if read else 0, looked, many, 0 if read else self.origins)
        return found

    def _reads(self, part: int) -> bool:
        return self.chosen is None or part in self.chosen or part == self.explored


def added(many: Iterable[Counts]) -> Counts:
    """Counts of several looks, or shards, together."""
    total: Counts = {}
    for counts in many:
        for key, new in counts.items():
            old = total.get(key, (0, 0, 0, 0))
            total[key] = (old[0] + new[0], old[1] + new[1], old[2] + new[2], old[3] + new[3])
    return total


def part_of(meta: Mapping[str, int], middle: int) -> int:
    """The part of its window that a chunk is in for new rows around ``middle``; rows that never leave are the youngest
    part, as are those that started after.

    New rows lie in chunks of panes, too, which are as long as parts: ages of chunks are multiples of that, less or more
    where a batch cuts a pane. Rounded to the nearest one, the same pane is in the same part.
    """
    life = meta["max_exp"] - meta["max_start"]
    if meta["max_exp"] >= FOREVER or life <= 0:
        return 0
    age = middle - (meta["min_start"] + meta["max_start"]) // 2
    return min(PARTS - 1, max(0, (2 * age * PARTS + life) // (2 * life)))
