"""A step taken in several, each up to a later instant, where its output would have no room at once.

Answers do not depend on how time is cut into steps, so an operator that would give more rows than a step may says up
to where they fit (``operators.context.Cut``); the step is then done again from the state before it, only so far, and
goes on from there. What a cut throws away costs no more than what the steps around it give: a substep reaches at most
twice as far as the one before, and only rows of its own time are handed to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pyarrow as pa

from muntin.core.batch import Batch
from muntin.dataflow.graph import Graph
from muntin.engine.clocks import Times
from muntin.engine.level import Arrived, LevelOutput, States, run_level
from muntin.engine.meter import Meter
from muntin.engine.rows import TS
from muntin.kernels.hashing import buffer_values
from muntin.operators.context import Cut

MOST = 1 << 19
"""Rows that one operator may give in a step that can be cut."""


def substeps(
    graph: Graph,
    level: int,
    shard: int,
    states: States,
    arrived: Arrived,
    times: Times,
    meter: Meter | None = None,
    most: int | None = None,
) -> Iterator[LevelOutput]:
    """As ``engine.level.run_level``, in one substep or several, in the order of time.

    No operator gives more than ``most`` rows (``MOST``) in a substep, except at an instant at which there are more.
    """
    most = most or MOST
    low, end = min(times.befores), max(times.watermarks)
    reach = _reach(arrived, low, end, most)
    while True:
        now, later = _until(arrived, reach) if reach < end else (arrived, None)
        own = {v: s for v, s in states.items() if graph.levels[v] == level}
        before = {v: ({n: list(c) for n, c in s.chunks.items()}, deepcopy(s.heads)) for v, s in own.items()}
        try:
            output = run_level(graph, level, shard, states, now, _between(times, low, reach), meter, most)
        except Cut as cut:
            assert low < cut.at < reach, (low, cut.at, reach)
            for v, (chunks, heads) in before.items():
                states[v].chunks, states[v].heads = chunks, heads
            reach = cut.at
            continue
        yield output
        if later is None:
            return
        far = min(end, reach + 2 * (reach - low))
        low, reach, arrived = reach, _reach(later, reach, far, most), later


def whole_step(
    graph: Graph,
    level: int,
    shard: int,
    states: States,
    arrived: Arrived,
    times: Times,
    meter: Meter | None = None,
) -> LevelOutput:
    """The output of all substeps of a step together: only what is between its operators is bounded."""
    parts = list(substeps(graph, level, shard, states, arrived, times, meter))
    if len(parts) == 1:
        return parts[0]
    rows = {v: Batch.concat([p.rows[v] for p in parts]) for v in parts[0].rows}
    bad: Counter[tuple[int, str]] = Counter()
    for vertex, table, number in (b for p in parts for b in p.bad_updates):
        bad[vertex, table] += number
    return LevelOutput(rows, [(v, t, n) for (v, t), n in bad.items()])


def _between(times: Times, low: int, reach: int) -> Times:
    """The part of a step's times from ``low`` to ``reach``."""
    befores = tuple(min(max(b, low), w) for b, w in zip(times.befores, times.watermarks, strict=True))
    marks = tuple(max(b, min(w, reach)) for b, w in zip(befores, times.watermarks, strict=True))
    return replace(times, befores=befores, watermarks=marks)


def _reach(arrived: Arrived, low: int, far: int, most: int) -> int:
    """How far ``most`` of the rows that arrived reach, at most ``far``."""
    if sum(r.num_rows for r in arrived.values()) <= most:
        return far
    found = np.concatenate([buffer_values(r.column(TS), np.int64) for r in arrived.values()])
    reach = int(np.partition(found, most)[most])
    return reach if low < reach < far else far


def _until(arrived: Arrived, reach: int) -> tuple[Arrived, Arrived]:
    """The rows before ``reach`` in event time, and the others."""
    pairs = {key: _split(rows, reach) for key, rows in arrived.items()}
    return {k: p[0] for k, p in pairs.items()}, {k: p[1] for k, p in pairs.items()}


def _split(rows: pa.RecordBatch, reach: int) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    early = buffer_values(rows.column(TS), np.int64) < reach
    if early.all():
        return rows, rows.slice(0, 0)
    return rows.take(pa.array(np.flatnonzero(early))), rows.take(pa.array(np.flatnonzero(~early)))
