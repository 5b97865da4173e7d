"""Rows of a numbered window that are looked for: by a hash index or in a range of a sorted column, by their numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from muntin.core.time import FOREVER
from muntin.kernels.joining import between
from muntin.kernels.spans import probe_spans
from muntin.operators.joins.indexed_window import Floats, OpenChunk, Side
from muntin.operators.joins.room import Room

Ints = NDArray[np.int64]

Search = Callable[[OpenChunk, Side, Room, int], tuple[Ints, Ints]]
"""Finds (row that is asked for, row of the chunk) pairs, given the hashes and intervals of numbers of those asked for,
and how many pairs there are already."""


@dataclass(frozen=True)
class InBand:
    """For each row that is asked for the least and the greatest value of sorted column number ``column``."""

    column: int
    limits: tuple[Floats, Floats]

    def take(self, index: Ints) -> InBand:
        """Of those at ``index``."""
        return InBand(self.column, (self.limits[0][index], self.limits[1][index]))


@dataclass(frozen=True)
class Wanted:
    """Rows to be found: by their keys' ``hashes`` or in a ``band``, those whose ``numbers`` are in closed ranges."""

    hashes: Ints
    numbers: tuple[Ints, Ints]
    band: InBand | None = None

    def search(self, some: Ints, index: int) -> Search:
        """How a chunk is searched for ``some`` of them (by place)."""
        return partial(_by_hash, index) if self.band is None else partial(_in_band, self.band.take(some))


def _by_hash(index: int, chunk: OpenChunk, side: Side, room: Room, total: int) -> tuple[Ints, Ints]:
    """(row that is asked for, row of the chunk) for each that an index has with the same hash and at the numbers."""
    spans = room.spans(
        partial(probe_spans, side, chunk.probe_side(index), chunk.directory(index), FOREVER, True), before=total
    )
    return spans.pair_rows().astype(np.int64), chunk.row_numbers(index, spans.pair_partners())


def _in_band(band: InBand, chunk: OpenChunk, side: Side, room: Room, total: int) -> tuple[Ints, Ints]:
    """The same for those whose values are within the limits."""
    _, since, until = side
    places, rows = chunk.in_band(band.column, band.limits, since, until)
    asked, found, _ = room.found(
        partial(between, places, rows, (since, until), chunk.times(), FOREVER), before=total
    )
    return asked.astype(np.int64), found.astype(np.int64)
