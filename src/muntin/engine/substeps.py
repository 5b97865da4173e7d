"""A step taken in several, each up to a later instant, where its output would have no room at once.

Answers do not depend on how time is cut into steps, so an operator that would give more rows than a step may says up
to where they fit (``operators.context.Cut``); the step is then done again from the state before it, only so far, and
goes on from there. What a cut throws away costs no more than what the pieces around it give: a piece reaches at most
twice as far as the one before, and only rows of its own time are handed to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pyarrow as pa

from muntin.core.batch import Batch
from muntin.dataflow.stage import PhysicalQuery
from muntin.engine.shard import TS, Progress, StepOutput, step
from muntin.kernels.hashing import buffer_values
from muntin.operators.context import Cut
from muntin.state.shard_state import ShardState

MOST = 1 << 19
"""Rows that one operator may give in a step that can be cut."""

Arrived = Sequence[pa.RecordBatch | None]


def substeps(
    query: PhysicalQuery,
    stage: int,
    state: ShardState,
    arrived: Arrived,
    progress: Progress,
    shard: int = 0,
    most: int | None = None,
) -> Iterator[StepOutput]:
    """As ``engine.shard.step``, in one piece or several, in the order of time.

    No operator gives more than ``most`` rows (``MOST``) in a piece, except at an instant at which there are more.
    """
    most = most or MOST
    low, reach = progress.before, _reach(arrived, progress.before, progress.watermark, most)
    while True:
        now, later = _until(arrived, reach) if reach < progress.watermark else (arrived, None)
        before = {name: list(chunks) for name, chunks in state.chunks.items()}, deepcopy(state.heads)
        try:
            output = step(query, stage, state, now, replace(progress, before=low, watermark=reach), shard, most)
        except Cut as cut:
            assert low < cut.at < reach, (low, cut.at, reach)
            state.chunks, state.heads = before
            reach = cut.at
            continue
        yield output
        if later is None:
            return
        far = min(progress.watermark, reach + 2 * (reach - low))
        low, reach, arrived = reach, _reach(later, reach, far, most), later


def whole_step(
    query: PhysicalQuery, stage: int, state: ShardState, arrived: Arrived, progress: Progress, shard: int = 0
) -> StepOutput:
    """The output of all pieces of a step together: only what is between its operators is bounded."""
    parts = list(substeps(query, stage, state, arrived, progress, shard))
    if len(parts) == 1:
        return parts[0]
    ports = tuple(Batch.concat(list(port)) for port in zip(*(p.ports for p in parts), strict=True))
    return StepOutput(ports, [late for p in parts for late in p.late])


def _reach(arrived: Arrived, low: int, far: int, most: int) -> int:
    """How far ``most`` of the rows that arrived reach, at most ``far``."""
    if sum(r.num_rows for r in arrived if r is not None) <= most:
        return far
    times = np.concatenate([buffer_values(r.column(TS), np.int64) for r in arrived if r is not None])
    reach = int(np.partition(times, most)[most])
    return reach if low < reach < far else far


def _until(arrived: Arrived, reach: int) -> tuple[Arrived, Arrived]:
    """The rows before ``reach`` in event time, and the others."""
    pairs = [(rows, rows) if rows is None else _split(rows, reach) for rows in arrived]
    return [p[0] for p in pairs], [p[1] for p in pairs]


def _split(rows: pa.RecordBatch, reach: int) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    early = buffer_values(rows.column(TS), np.int64) < reach
    if early.all():
        return rows, rows.slice(0, 0)
    return rows.take(pa.array(np.flatnonzero(early))), rows.take(pa.array(np.flatnonzero(~early)))
