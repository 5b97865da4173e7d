"""Results of a join that several queries share, in order of the windows that hold them: each query's are then the first
ones, and taken as they lie.

A result belongs to all windows longer than the time between its parts, so the results of a shorter window are among
those of a longer one (Hammad et al., 2.2). Pairs of rows are put in order before anything is copied, so that a result
is written once, where it belongs; results that exist already are put in order by a copy.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch, no_columns, unending
from muntin.core.time import Instants
from muntin.kernels.gathering import take
from muntin.kernels.narrowing import Windows, by_window, place_pairs, rank_pairs
from muntin.kernels.spans import Spans
from muntin.operators.joins.assemble import Picked, Placed, column, int64_room, placed_column

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class InOrder(Batch):
    """Rows in order of the windows that hold them: the first ``ends[w]`` are those of windows of ``w`` microseconds.

    They start at the event time of their newest part. When they expire depends on the window, so ``exp`` says nothing;
    ``oldest``: the event time of their oldest part (None: nobody asks).
    """

    ends: Mapping[int, int] = field(default_factory=dict)
    oldest: Instants | None = None

    def held(self, window: int, expires: bool) -> Batch:
        """The rows that a window of so many microseconds holds, as they lie; ``expires``: with their expiry."""
        upto = self.ends[window]
        exp = self.oldest[:upto] + window if expires and self.oldest is not None else self.exp[:upto]
        return Batch(self.columns.slice(0, upto), self.ts[:upto], exp, None, self.last)

    def where(self, mask: NDArray[np.bool_]) -> InOrder:
        """As of other rows, still in order."""
        if mask.all():
            return self
        places = np.flatnonzero(mask)
        ends = {w: int(np.searchsorted(places, e)) for w, e in self.ends.items()}
        oldest = None if self.oldest is None else self.oldest[places]
        return InOrder(
            self.columns.take(pa.array(places)), self.ts[places], self.exp[places], None, self.last, ends, oldest
        )


def rows_in_order(
    rows: pa.RecordBatch, times: Sequence[Instants], windows: Windows, wanted: Collection[str]
) -> InOrder:
    """Results that start at the latest of ``times``, the event times of their parts, in order; the ``wanted`` columns
    alone. Cost: two passes, and a copy."""
    newest, oldest = reduce(np.maximum, times), reduce(np.minimum, times)
    order, ends = by_window(newest, oldest, windows)
    picked = [Picked(rows, order)]
    columns = {n: column(picked, n, len(order)) for n in rows.schema.names if n in wanted}
    return _made(columns, _taken(newest, order), _taken(oldest, order), windows, ends)


def _taken(values: Instants, order: NDArray[np.int32]) -> Instants:
    out = int64_room(len(order))
    take(values, order, out, 0)
    return out


@dataclass(frozen=True)
class Pairs:
    """Rows of two chunks that meet, as ``spans`` says: of ``chunk`` the one at ``places[s]`` for span s, of ``other``
    those of the span; the former's start is ``start[spans.rows[s]]``, the latter's are those of ``other_start``.
    ``swapped``: the first is of the second input."""

    chunk: pa.RecordBatch
    other: pa.RecordBatch
    spans: Spans
    places: NDArray[np.int32]
    start: Instants
    other_start: Instants
    swapped: bool


@dataclass(frozen=True)
class PairsInOrder:
    """Pairs in order of the windows that hold them. ``newest``, ``oldest``: the starts of their rows; ``sides``: for
    each input the rows and where they go; ``ends``: how many pairs each window holds."""

    newest: Instants
    oldest: Instants | None
    sides: tuple[list[Placed], list[Placed]]
    ends: Ints


def pairs_in_order(met: Sequence[Pairs], windows: Windows, expires: bool) -> PairsInOrder:
    """Pairs of rows that start at their event time, in order; those that no window holds come last, those of one window
    as they were given. Cost: two passes over the pairs, whatever the number of windows."""
    ranked = [rank_pairs(m.spans, m.start, m.other_start, windows) for m in met]
    counts = np.stack([c for _, c in ranked])
    ends = np.cumsum(counts.sum(axis=0))
    total = int(ends[-1])
    before = np.cumsum(counts, axis=0) - counts
    low = before + (ends - counts.sum(axis=0))
    index = np.empty(total, np.int32), np.empty(total, np.int32)
    newest, oldest = int64_room(total), int64_room(total if expires else 0)
    sides: tuple[list[Placed], list[Placed]] = ([], [])
    for m, (rank, count), begin in zip(met, ranked, low, strict=True):
        probing, partners = index[::-1] if m.swapped else index
        place_pairs(
            m.spans.rows, m.places, m.spans.first, m.spans.count, m.start, m.other_start, rank, begin.copy(), probing,
            partners, newest, oldest,
        )  # fmt: skip
        for side, chunk, places in zip((0, 1), (m.chunk, m.other), (probing, partners), strict=True):
            sides[side ^ m.swapped].append(Placed(chunk, places, begin, begin + count))
    return PairsInOrder(newest, oldest if expires else None, sides, ends[: len(windows)])


def results_in_order(pairs: PairsInOrder, names: Sequence[Sequence[str]], windows: Windows) -> InOrder:
    """The pairs as rows with the named columns of both inputs."""
    total = len(pairs.newest)
    named = [(n, parts) for own, parts in zip(names, pairs.sides, strict=True) for n in own]
    columns = {n: placed_column(parts, n, total) for n, parts in named}
    return _made(columns, pairs.newest, pairs.oldest, windows, pairs.ends)


def _made(
    columns: Mapping[str, pa.Array], ts: Instants, oldest: Instants | None, windows: Windows, ends: Ints
) -> InOrder:
    rows = pa.RecordBatch.from_pydict(columns) if columns else no_columns(len(ts))
    known = dict(zip(windows.lengths.tolist(), ends.tolist(), strict=True))
    return InOrder(rows, ts, unending(len(ts)), None, int(ts.max()) if len(ts) else None, known, oldest)
