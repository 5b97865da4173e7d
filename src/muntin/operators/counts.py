"""How often each value is there, kept as a log of differences: written without reading, added up when it is asked for.

A chunk holds values and what they count more or less since the chunk before. ``TIER`` chunks of one level become one of
the next, without what adds up to nothing; asking for the counts reads the log, and writes it anew where less than half
of it still counts. So a difference costs its own size and a logarithm of rewriting, and an answer its own size.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import concat_rows, no_columns
from muntin.kernels.keys import key_ids
from muntin.state.shard_state import ShardState
from muntin.state.window_rows import TIER, WEIGHT, int64s

Ints = NDArray[np.int64]


def add_counts(state: ShardState, structure: str, values: pa.RecordBatch, weights: NDArray[np.integer]) -> None:
    """Each value counts so much more (or less) from now on."""
    _append(state, structure, values, weights)
    level = 0
    while len(same := [c for c in state.list(structure) if c.meta["level"] == level]) >= TIER:
        values, counts = _sum([c.load() for c in same])
        level += 1
        rows = values.append_column(WEIGHT, pa.array(counts)) if len(counts) else None
        state.replace(structure, same, rows, level=level)


def counts_of(state: ShardState, structure: str, schema: pa.Schema) -> tuple[pa.RecordBatch, Ints]:
    """The values that count, each once, and how much."""
    held = [c.load() for c in state.list(structure)]
    if not held:
        return pa.RecordBatch.from_arrays([pa.array([], f.type) for f in schema], schema=schema), np.empty(0, np.int64)
    values, counts = _sum(held)
    if sum(h.num_rows for h in held) > 2 * len(counts) + 64:
        state.keep(structure, lambda _: False)
        _append(state, structure, values, counts, level=_level(len(counts)))
    return values, counts


def _level(rows: int) -> int:
    """Where so many rows stand: as if every chunk had begun with one row."""
    return int(np.log(max(rows, 1)) / np.log(TIER))


def _sum(parts: list[pa.RecordBatch]) -> tuple[pa.RecordBatch, Ints]:
    rows = concat_rows(parts)
    values = _without_weight(rows)
    ids, count, first = key_ids(values.columns, rows.num_rows)
    total = np.zeros(count, np.int64)
    np.add.at(total, ids, int64s(rows, WEIGHT))
    kept = np.flatnonzero(total)
    return values.take(pa.array(first[kept])), total[kept]


def _without_weight(rows: pa.RecordBatch) -> pa.RecordBatch:
    names = [n for n in rows.schema.names if n != WEIGHT]
    return rows.select(names) if names else no_columns(rows.num_rows)


def _append(
    state: ShardState, structure: str, values: pa.RecordBatch, weights: NDArray[np.integer], level: int = 0
) -> None:
    kept = np.flatnonzero(weights)
    if len(kept):
        rows = values if len(kept) == values.num_rows else values.take(pa.array(kept))
        state.append(structure, rows.append_column(WEIGHT, pa.array(weights[kept].astype(np.int64))), level=level)
