"""Runs: what a step changed is appended as one chunk, and chunks of like size are merged, so a row is rewritten a
logarithmic number of times whatever is kept beside it (log-structured merge, O'Neil et al. 1996; size-tiered).

What a run means (newest wins, counts that add up, the best rows of each) is the owner's; it gives the merge of
neighbouring runs. The oldest run holds what is settled: once the younger ones hold as many rows, all become one, and
what they cancelled is gone. So there are at most about as many rows as twice what is live.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from muntin.state.shard_state import Chunk, ShardState

TIER = 8
"""Runs of one size that become one of the next."""

SMALL = 64
"""Rows of a run that is not told apart from smaller ones, times ``TIER``."""

Merge = Callable[[list[pa.RecordBatch], bool], pa.RecordBatch]
"""Neighbouring runs, oldest first, to one; the flag says whether they are all, so what only hides may go."""

Describe = Callable[[pa.RecordBatch], dict[str, int]]


def add_run(
    state: ShardState, structure: str, rows: pa.RecordBatch, merge: Merge, describe: Describe = lambda _: {}
) -> None:
    """Append the rows (none if empty) as the newest run and merge what is due. ``describe``: the metadata of a run."""
    if rows.num_rows:
        state.append(structure, rows, **describe(rows))
    while count := due([c.meta["n"] for c in state.list(structure)]):
        runs = state.list(structure)
        old = runs[-count:]
        state.looked += sum(c.meta["n"] for c in old)
        merged = merge([c.load() for c in old], count == len(runs))
        state.replace(structure, old, merged, **(describe(merged) if merged.num_rows else {}))


def due(sizes: Sequence[int]) -> int:
    """How many of the newest runs are to become one now (0: none); ``sizes``: rows by run, oldest first."""
    if len(sizes) < 2:
        return 0
    if sum(sizes[1:]) > max(sizes[0], SMALL * TIER):
        return len(sizes)
    level, count = _level(sizes[-1]), 0
    for size in reversed(sizes):
        if _level(size) > level:
            break
        count += 1
    return count if count >= TIER else 0


def _level(size: int) -> int:
    level, limit = 0, SMALL * TIER
    while size >= limit:
        level, limit = level + 1, limit * TIER
    return level


def newest_first(state: ShardState, structure: str) -> list[Chunk]:
    """The runs of a structure, newest first."""
    return state.list(structure)[::-1]
