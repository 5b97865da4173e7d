"""Rows that are there until they are taken away, found by a hash: written when they come and when they go, as runs in
order of the hash (``state.runs``).

A row that goes is written once more with weight -1; the two cancel when their runs become one. Cost of a step: what
comes and goes, and hashes asked for x runs x logarithm, whatever else is there.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import concat_rows
from muntin.kernels.keys import key_ids
from muntin.state.runs import add_run
from muntin.state.shard_state import ShardState
from muntin.state.window_rows import EXP, WEIGHT, int64s, remaining

_HASH = "__h"

Ints = NDArray[np.int64]


def add_live(
    state: ShardState, structure: str, rows: pa.RecordBatch, hashes: Ints, weight: int, watermark: int
) -> None:
    """Rows come (``weight`` 1) or go (-1); those with an ``EXP`` before the watermark are forgotten."""
    weights = pa.array(np.full(rows.num_rows, weight, np.int64))
    marked = rows.append_column(WEIGHT, weights).append_column(_HASH, pa.array(hashes))
    add_run(state, structure, _by_hash(marked), lambda runs, _: _by_hash(_left(concat_rows(runs), watermark)))


def live(state: ShardState, structure: str, hashes: Ints) -> pa.RecordBatch | None:
    """The rows that are there with one of the hashes; None where nothing ever was."""
    wanted = np.unique(hashes)
    found = []
    for chunk in state.list(structure):
        rows = chunk.load()
        own = int64s(rows, _HASH)
        low, high = np.searchsorted(own, wanted, "left"), np.searchsorted(own, wanted, "right")
        count = high - low
        place = np.repeat(low - np.append(0, np.cumsum(count)[:-1]), count) + np.arange(count.sum())
        state.looked += len(place) + len(wanted)
        found.append(rows.take(pa.array(place)))
    return _left(concat_rows(found), None).drop_columns([WEIGHT, _HASH]) if found else None


def _left(rows: pa.RecordBatch, watermark: int | None) -> pa.RecordBatch:
    """The rows without those that went, and without those that expired before the watermark."""
    if watermark is not None and EXP in rows.schema.names:
        rows = rows.take(pa.array(np.flatnonzero(int64s(rows, EXP) >= watermark)))
    if rows.num_rows == 0:
        return rows
    ids, count, _ = key_ids([rows.column(n) for n in rows.schema.names if n != WEIGHT], rows.num_rows)
    weights = int64s(rows, WEIGHT)
    balance = np.bincount(ids, weights=weights, minlength=count).astype(np.int64)
    return rows.take(pa.array(np.flatnonzero(remaining(ids, weights, balance))))


def _by_hash(rows: pa.RecordBatch) -> pa.RecordBatch:
    return rows.take(pa.array(np.argsort(int64s(rows, _HASH), kind="stable")))
