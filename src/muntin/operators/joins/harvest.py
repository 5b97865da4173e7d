"""Window harvesting: under overload a join reads only those panes of its windows that give most (Gedik et al., 4).

A window is divided into ``PARTS`` logical basic windows by age; a chunk belongs to the part that its middle has, seen
from the middle of the new rows. Chunks of parts that are not chosen are not opened. What is found is a part of the
exact result, and the same whenever a batch runs: which chunks there are, and which rows are new, is settled before it.
What each part gave is counted: the driver learns from it (``engine.harvesting``). Now and then one part more is read,
another one each time, so that what is never chosen is known, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from muntin.core.time import FOREVER

PARTS = 16
"""Parts of a window, as many as it has panes."""

Parts = Mapping[tuple[int, int], frozenset[int]]
"""By (input whose rows are new, input whose window they meet) the parts that are read; of others all."""

Counts = dict[tuple[int, int, int], tuple[int, int, int]]
"""By (new input, window, part): rows that looked for partners, rows looked at, partners found."""


@dataclass
class Harvest:
    """One step of one join. ``explored``: the part that is read in any case (None: none)."""

    chosen: Parts = field(default_factory=dict)
    explored: int | None = None
    counts: Counts = field(default_factory=dict)

    def reading(self, i: int, j: int, starts: NDArray[np.int64]) -> Reading:
        """New rows of input ``i`` with these starts (at least one) look for partners in window ``j``."""
        middle = (int(starts.min()) + int(starts.max())) // 2
        return Reading(self, (i, j), middle, len(starts))


@dataclass
class Reading:
    """A look into one window, chunk by chunk."""

    harvest: Harvest
    way: tuple[int, int]
    middle: int
    origins: int
    part: int = 0
    seen: set[int] = field(default_factory=set)

    def wants(self, meta: Mapping[str, int]) -> bool:
        """Whether a chunk with these bounds is to be read."""
        self.part = part_of(meta, self.middle)
        chosen = self.harvest.chosen.get(self.way)
        return chosen is None or self.part in chosen or self.part == self.harvest.explored

    def gave(self, looked: int, found: int) -> None:
        """Count what the chunk asked for last gave."""
        key = (*self.way, self.part)
        own = self.harvest.counts.get(key, (0, 0, 0))
        origins = 0 if self.part in self.seen else self.origins
        self.seen.add(self.part)
        self.harvest.counts[key] = (own[0] + origins, own[1] + looked, own[2] + found)

    def found(self, part: int, many: int) -> None:
        """Count partners that conditions left of what a part gave."""
        own = self.harvest.counts[(*self.way, part)]
        self.harvest.counts[(*self.way, part)] = (own[0], own[1], own[2] + many)


def part_of(meta: Mapping[str, int], middle: int) -> int:
    """The part of its window that a chunk is in for new rows around ``middle``; rows that never leave are the youngest
    part, as are those that started after."""
    life = meta["max_exp"] - meta["max_start"]
    if meta["max_exp"] >= FOREVER or life <= 0:
        return 0
    age = middle - (meta["min_start"] + meta["max_start"]) // 2
    return min(PARTS - 1, max(0, age * PARTS // life))
