"""The valve: how much of which stream a batch admits. What it says is settled before the batch runs, and which rows it
lets in depends on them alone, so a batch that runs again, cut as it may be, admits the same rows.

It is a drop box at the source (Ayad & Naughton 2004): rows that are not admitted have been in no window, so joins and
filters over what is left give a part of the exact answer. Progress of time is that of all rows.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch
from muntin.kernels.hashing import hash_columns
from muntin.operators.joins.harvest import Harvest, Parts
from muntin.plan.catalog import Stream

Shares = Mapping[str, float]
"""By stream the share of its rows that is admitted, in (0, 1]; all of the streams that are not named."""


@dataclass(frozen=True)
class Valve:
    """``shares``: of all queries, as streams were registered. ``decided``: by number of the query, what a batch admits
    of its streams under overload (``spark.overload``); () for all. ``harvested``: by number of a join that harvests its
    windows, the parts of them that it reads; ``explored``: the part that all of these read beside.

    A row goes by its event time and the columns that a query reads of it: equal ones are admitted together (but where
    their values are scaled, see ``admitted``), and what a smaller share admits is a part of what a larger one does.
    """

    shares: Shares = field(default_factory=dict)
    decided: Sequence[Shares] = ()
    harvested: Mapping[int, Parts] = field(default_factory=dict)
    explored: int | None = None

    @staticmethod
    def of(streams: Iterable[Stream], decided: Sequence[Shares] = ()) -> Valve:
        """As the streams were registered (``sample``), and as was decided for a batch."""
        return Valve({s.name: s.sample for s in streams if s.sample is not None and s.sample < 1}, decided)

    def harvest(self, vertex: int) -> Harvest | None:
        """For one step of a join; None where it reads everything and is not watched."""
        chosen = self.harvested.get(vertex)
        return None if chosen is None else Harvest(chosen, self.explored)

    def share(self, stream: str, queries: Iterable[int]) -> float:
        """Of a stream's rows for an operator that these queries use: as the one that leaves out least has it."""
        own = [self.decided[q].get(stream, 1.0) for q in queries] if self.decided else []
        return self.shares.get(stream, 1.0) * max(own, default=1.0)

    @property
    def sampled(self) -> dict[str, float]:
        """The streams of which some query does not get all, and the least share."""
        found = dict(self.shares)
        for own in self.decided:
            for stream, share in own.items():
                if share < 1:
                    found[stream] = min(found.get(stream, 1.0), share * self.shares.get(stream, 1.0))
        return found

    def admitted(
        self, stream: str, rows: Batch, names: list[str], queries: Iterable[int] = (), salt: int | None = None
    ) -> NDArray[np.bool_] | None:
        """Which rows of a stream are admitted, by their event time and the columns of these names; None for all.

        ``salt``: where given, equal rows of a batch are admitted independently, by their order and this number.
        Cost: a hash of what is read; nothing where all are admitted.
        """
        share = self.share(stream, queries)
        if share >= 1 or len(rows) == 0:
            return None
        seed = np.full(len(rows), zlib.crc32(stream.encode()), np.int64)  # streams are not sampled alike
        columns = [pa.array(seed), pa.array(rows.ts), *(rows.columns.column(n) for n in names)]
        hashes = hash_columns(columns, len(rows))
        if salt is not None:
            apart = [pa.array(hashes), pa.array(_repeats(hashes)), pa.array(np.full(len(rows), salt, np.int64))]
            hashes = hash_columns(apart, len(rows))
        return hashes.view(np.uint64) < np.uint64(share * 2**64)


def _repeats(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many equal values stand before each one."""
    order = np.argsort(values, kind="stable")
    place = np.arange(len(values))
    first = np.append(True, values[order][1:] != values[order][:-1])
    found = np.empty(len(values), np.int64)
    found[order] = place - np.maximum.accumulate(np.where(first, place, 0))
    return found
