"""References to rows of a window's chunks, and the rows themselves when they are wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch, no_columns
from muntin.kernels.gathering import reordered
from muntin.operators.context import Context
from muntin.operators.joins.indexed_window import OpenChunk
from muntin.state.window_rows import WEIGHT, int64s

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
    numbers = np.flatnonzero(np.bincount(refs.chunk, minlength=len(window)))
    if len(numbers) < 2:
        chunk = window[int(numbers[0]) if len(numbers) else 0]
        return reordered(chunk.rows.select(list(names)), refs.row)
    base = np.zeros(len(window), np.int64)
    base[numbers] = np.cumsum([0, *(window[int(c)].meta["n"] for c in numbers[:-1])])
    table = pa.Table.from_batches([window[int(c)].rows.select(list(names)) for c in numbers])
    if len(table) <= len(refs.row):  # finding each row's chunk would cost more than putting them together
        table = table.combine_chunks()
        return reordered(table.to_batches()[0], base[refs.chunk] + refs.row)
    return table.take(pa.array(base[refs.chunk] + refs.row)).combine_chunks().to_batches()[0]


def product(parts: Sequence[tuple[Sequence[OpenChunk], Refs]]) -> NDArray[np.int8] | None:
    """Weights of combinations: the product over the windows that have weights; None if none has."""
    found = [
        np.asarray(gather(refs, window, [WEIGHT]).column(0).to_numpy(), np.int8)
        for window, refs in parts
        if WEIGHT in window[0].rows.schema.names
    ]
    return np.multiply.reduce(found).astype(np.int8) if found else None


def starting(window: Sequence[OpenChunk], ctx: Context, names: Sequence[str]) -> tuple[Refs, list[Ints]] | None:
    """The window's rows that start in this step, with their values of the named int64 columns; None if there are
    none."""
    refs: list[Refs] = []
    values: list[list[Ints]] = [[] for _ in names]
    for number, chunk in enumerate(window):
        mask = chunk.starting(ctx)
        if mask is None:
            continue
        rows = np.flatnonzero(mask)
        refs.append(Refs(np.full(len(rows), number, np.int64), rows))
        for found, name in zip(values, names, strict=True):
            found.append(int64s(chunk.rows, name)[rows])
    return (Refs.concat(refs), [np.concatenate(found) for found in values]) if refs else None


def whole(results: list[Batch], inputs: Sequence[Batch]) -> Batch:
    """All results of a join of these inputs; an empty batch of its columns where there are none."""
    if results:
        return Batch.concat(results)
    schema = pa.schema([f for b in inputs for f in b.columns.schema])
    return Batch.empty(schema, signed=any(b.sign is not None for b in inputs))
