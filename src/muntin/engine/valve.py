"""The valve: how much of which stream a batch admits. What it says is settled before the batch runs, and which rows it
lets in depends on them alone, so a batch that runs again, cut as it may be, admits the same rows.

It is a drop box at the source (Ayad & Naughton 2004): rows that are not admitted have been in no window, so joins and
filters over what is left give a part of the exact answer. Progress of time is that of all rows.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch
from muntin.kernels.hashing import hash_columns
from muntin.plan.catalog import Stream


@dataclass(frozen=True)
class Valve:
    """``shares``: by stream the share of its rows that is admitted, in (0, 1); all of the streams that are not named.

    A row goes by its event time and the columns that a query reads of it: equal ones are admitted together.
    """

    shares: Mapping[str, float] = field(default_factory=dict)

    @staticmethod
    def of(streams: Iterable[Stream]) -> Valve:
        """As the streams were registered (``sample``)."""
        return Valve({s.name: s.sample for s in streams if s.sample is not None and s.sample < 1})

    def admitted(self, stream: str, rows: Batch, names: list[str]) -> NDArray[np.bool_] | None:
        """Which rows of a stream are admitted, by their event time and the columns of these names; None for all.

        Cost: a hash of what is read; nothing where all are admitted.
        """
        share = self.shares.get(stream)
        if share is None or len(rows) == 0:
            return None
        seed = np.full(len(rows), zlib.crc32(stream.encode()), np.int64)  # streams are not sampled alike
        columns = [pa.array(seed), pa.array(rows.ts), *(rows.columns.column(n) for n in names)]
        return hash_columns(columns, len(rows)).view(np.uint64) < np.uint64(share * 2**64)
