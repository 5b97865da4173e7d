"""References to rows of a window's chunks, and the rows themselves when they are wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import no_columns
from muntin.physical.operators.indexed_window import OpenChunk
from muntin.state.window_rows import WEIGHT

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Refs:
    """Rows of one input: chunk number and row inside it."""

    chunk: Ints
    row: Ints

    def take(self, index: Ints) -> Refs:
        return Refs(self.chunk[index], self.row[index])

    @staticmethod
    def concat(parts: list[Refs]) -> Refs:
        return Refs(np.concatenate([p.chunk for p in parts]), np.concatenate([p.row for p in parts]))


def gather(refs: Refs, window: Sequence[OpenChunk], names: Sequence[str]) -> pa.RecordBatch:
    """The named columns of the referenced rows, in order, from however many chunks (the window has at least one)."""
    if not names:
        return no_columns(len(refs.row))
    numbers = np.unique(refs.chunk)
    if len(numbers) < 2:
        chunk = window[int(numbers[0]) if len(numbers) else 0]
        return chunk.rows.select(list(names)).take(pa.array(refs.row))
    base = np.zeros(len(window), np.int64)
    base[numbers] = np.cumsum([0, *(window[int(c)].meta["n"] for c in numbers[:-1])])
    table = pa.Table.from_batches([window[int(c)].rows.select(list(names)) for c in numbers])
    return table.take(pa.array(base[refs.chunk] + refs.row)).combine_chunks().to_batches()[0]


def product(parts: Sequence[tuple[Sequence[OpenChunk], Refs]]) -> NDArray[np.int8] | None:
    """Weights of combinations: the product over the windows that have weights; None if none has."""
    found = [
        np.asarray(gather(refs, window, [WEIGHT]).column(0).to_numpy(), np.int8)
        for window, refs in parts
        if WEIGHT in window[0].rows.schema.names
    ]
    return np.multiply.reduce(found).astype(np.int8) if found else None
