"""Results of a shared join put in the order of the smallest window that holds them."""

from __future__ import annotations

from dataclasses import dataclass

import numba as nb
import numpy as np
from numpy.typing import NDArray

from muntin.kernels.index import first_above
from muntin.kernels.lazy import inlined, kernel
from muntin.kernels.spans import Spans
from muntin.kernels.types import I16, I32, I64, MI16, MI32, MI64

Ints = NDArray[np.int64]

CELLS = 1 << 12
"""Of the table by which the window of a time is found."""

MOST_WINDOWS = (1 << 15) - 1


@dataclass(frozen=True)
class Windows:
    """Lengths of windows, ascending, with a table from times to the windows that hold them.

    ``first[t >> shift]``: the first window longer than the cell's least time; so only windows that end inside one cell
    are told apart by bisection.
    """

    lengths: Ints
    first: NDArray[np.int32]
    shift: int

    @staticmethod
    def of(lengths: Ints) -> Windows:
        """``lengths``: positive and ascending, at most ``MOST_WINDOWS``."""
        shift = max(0, int(lengths[-1]).bit_length() - CELLS.bit_length() + 1)
        cells = (int(lengths[-1]) >> shift) + 2
        first = np.searchsorted(lengths, np.arange(cells, dtype=np.int64) << shift, side="right")
        return Windows(lengths, first.astype(np.int32), shift)

    def __len__(self) -> int:
        return len(self.lengths)


@inlined
def _holds(apart, lengths, first, shift):  # type: ignore[no-untyped-def]
    """The first window that is longer than ``apart``; their number where none is."""
    cell = min(apart, lengths[len(lengths) - 1]) >> shift  # one way out: an early return costs ten times as much
    return first_above(lengths, nb.int64(first[cell]), nb.int64(first[cell + 1]), apart)


@kernel(nb.void(I64, I64, I64, I32, nb.int64, MI64, MI16, MI32), cache=True)
def _by_window(newest, oldest, lengths, first, shift, ends, rank, order):  # type: ignore[no-untyped-def]
    for i in range(len(newest)):
        r = _holds(newest[i] - oldest[i], lengths, first, shift)
        rank[i] = r
        ends[r] += 1
    start = 0
    for w in range(len(ends)):
        count = ends[w]
        ends[w] = start
        start += count
    for i in range(len(newest)):
        order[ends[rank[i]]] = i
        ends[rank[i]] += 1


def by_window(newest: Ints, oldest: Ints, windows: Windows) -> tuple[NDArray[np.int32], Ints]:
    """Stable order of rows by the first of ``windows`` that is longer than the time between their newest and their
    oldest part; how many rows each window holds. Rows that none holds come last. Cost: two passes."""
    ends, order = np.zeros(len(windows) + 1, np.int64), np.empty(len(newest), np.int32)
    rank = np.empty(len(newest), np.int16)
    _by_window(newest, oldest, windows.lengths, windows.first, windows.shift, ends, rank, order)
    return order, ends[: len(windows)]


@kernel(nb.void(I32, I32, I32, I64, I64, I64, I32, nb.int64, MI16, MI64), cache=True)
def _rank(rows, first, count, start, c_start, lengths, table, shift, rank, counts):  # type: ignore[no-untyped-def]
    k = nb.uintp(0)
    for s in range(len(rows)):
        own, begin = start[rows[s]], nb.uintp(first[s])
        for m in range(nb.uintp(count[s])):
            r = _holds(abs(own - c_start[begin + m]), lengths, table, shift)
            rank[k + m] = r
            counts[r] += 1
        k += nb.uintp(count[s])


def rank_pairs(spans: Spans, start: Ints, c_start: Ints, windows: Windows) -> tuple[NDArray[np.int16], Ints]:
    """For each pair of ``spans`` the first of ``windows`` that is longer than the time between its rows' starts
    (``start`` of those that probed, ``c_start`` of the others); how many pairs each has, last those that none holds."""
    rank, counts = np.empty(spans.pairs, np.int16), np.zeros(len(windows) + 1, np.int64)
    found = spans.rows, spans.first, spans.count
    _rank(*found, start, c_start, windows.lengths, windows.first, windows.shift, rank, counts)
    return rank, counts


@kernel(nb.void(I32, I32, I32, I32, I64, I64, I16, MI64, MI32, MI32, MI64, MI64), cache=True)
def place_pairs(  # type: ignore[no-untyped-def]
    rows, places, first, count, start, c_start, rank, at, probing, partners, newest, oldest
):
    """Pair k of spans goes to the next free place of its window, ``at[rank[k]]``, which moves on: the row of its span,
    ``places[s]``, to ``probing``, the partner to ``partners``, the later of their starts (``start`` of row ``rows[s]``,
    and ``c_start``) to ``newest``, the other to ``oldest``, unless that is empty."""
    both = len(oldest) > 0
    k = nb.uintp(0)
    for s in range(len(rows)):
        own, place, begin = start[rows[s]], places[s], nb.uintp(first[s])
        for m in range(nb.uintp(count[s])):
            w = rank[k + m]
            p = at[w]
            at[w] = p + 1
            probing[p] = place
            partners[p] = nb.int32(begin + m)
            other = c_start[begin + m]
            newest[p] = max(own, other)
            if both:
                oldest[p] = min(own, other)
        k += nb.uintp(count[s])
