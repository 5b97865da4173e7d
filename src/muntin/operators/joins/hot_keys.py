"""Splitting the work of hot keys: rows of a key that would fill one shard go to all of them, and share the probing.

A row of a hot key is *spread*: every shard keeps it, and one of them (its turn) joins it. Rows of other keys, and those
that came before their key was found to be hot, are *plain*: only the key's home shard has them. So that every pair
comes out once, a spread row meets, on the shard whose turn it is, all partners that are there, and on the home shard,
where it is somebody else's turn, the plain ones, which nobody else has. Whatever a sender takes for hot, the
answer is the same; which keys it takes is what the shards measured up to the batch before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.kernels.hashing import hash_columns, shard_of

ROLE = "__role"
"""Column of rows on their way into a join that splits hot keys (int8)."""

PLAIN, MINE, KEPT, ELSEWHERE = 0, 1, 2, 3
"""Roles: plain; spread and joined here; spread, only kept here; spread, here is its key's home but joined elsewhere."""

ENTER, LEAVE = 0.5, 0.25
"""A key is hot from this share of a shard's new rows on, until below that one."""

ENOUGH = 64
"""New rows of a shard from which shares are taken."""

MOST_HOT, SAMPLE = 8, 4096
"""Hot keys that are remembered, rows that are looked at."""

Ints = NDArray[np.int64]


HOT = "hot"
"""The head in which a join keeps its hot keys' hashes."""


def hot_of_all(inputs: Sequence[Ints], before: Sequence[int]) -> list[int]:
    """The keys that are hot in any input with enough new rows (their hashes); as before where none has."""
    judged = [h for h in inputs if len(h) >= ENOUGH]
    return sorted({k for h in judged for k in _hot(h, before)}) if judged else list(before)


def _hot(hashes: Ints, before: Sequence[int]) -> list[int]:
    sample = hashes[:: max(1, len(hashes) // SAMPLE)]
    keys, counts = np.unique(sample, return_counts=True)
    share = counts / len(sample)
    known = np.isin(keys, np.array(before, np.int64))
    chosen = (share >= ENTER) | (known & (share >= LEAVE))
    order = np.argsort(-share[chosen], kind="stable")
    return [int(k) for k in keys[chosen][order][:MOST_HOT]]


def parts(
    rows: pa.RecordBatch, keys: list[pa.Array], shards: int, hot: Sequence[int], first: int = 0
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of each shard with their role as the last column but one; ``first``: where turns begin."""
    h = hash_columns(keys, rows.num_rows)
    home = shard_of(h, shards)
    spread = np.isin(h, np.array(hot, np.int64)) if len(hot) else np.zeros(len(h), np.bool_)
    turn = (first + np.cumsum(spread)) % shards
    for s in range(shards):
        here = (home == s) | spread
        if not here.any():
            continue
        role = np.where(turn == s, MINE, np.where(home == s, ELSEWHERE, KEPT))
        role = np.where(spread, role, PLAIN).astype(np.int8)
        index = np.flatnonzero(here)
        mine = rows.take(pa.array(index))
        at = mine.num_columns - 1
        columns = [*mine.columns[:at], pa.array(role[index]), mine.columns[at]]
        yield s, pa.RecordBatch.from_arrays(columns, names=[*mine.schema.names[:at], ROLE, mine.schema.names[at]])
