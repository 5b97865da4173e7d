"""A shared join of two windows that is done slice by slice (Hammad et al., 3.2 and 3.3; ``scheduling.slices``).

The slices lie between the windows of the queries that share the join: a pair is of the slice in which the time between
its rows lies. Small windows need few slices. In a step those slices are done that some query which is due needs, in the
order of a policy; for the others the rows of the step wait in the windows, where they are anyway, and are outer rows
when the slice is done next. Results of a slice that was put off start before the step: the operators of the queries
that waited for it are as far back (``engine.deferral``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from muntin.core.batch import Batch
from muntin.kernels.spans import probe_spans
from muntin.operators.coalesce import coalesce
from muntin.operators.context import Context
from muntin.operators.joins.assemble import Partners, Probing
from muntin.operators.joins.gather import whole
from muntin.operators.joins.indexed_window import Layout, OpenChunk, let_go, store_rows
from muntin.operators.joins.pair_join import Met, results_of_pairs
from muntin.operators.joins.window_join import WindowJoin
from muntin.operators.naming import combined
from muntin.operators.operator import Show
from muntin.scheduling.policies import POLICIES
from muntin.scheduling.slices import sizes_of, slices_of
from muntin.state.shard_state import ShardState

DONE = "slices"
"""Head of the state: for each slice the instant before which it is done."""


@dataclass(frozen=True)
class SlicedJoin(WindowJoin):
    """A join of two windows of one length for queries with windows of ``ends`` (microseconds, ascending); ``schedule``:
    name of the policy, which is no part of what it does."""

    ends: tuple[int, ...] = ()
    schedule: str = "swf"

    def identity(self) -> Any:
        """Without the policy."""
        return ("SlicedJoin", self.keys, self.null_safe, self.ends)

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        return sliced_join(self, state, combined(inputs), ctx)

    def words(self, show: Show) -> str:
        return f"{super().words(show)}, in {len(self.ends)} slices ({self.schedule})"

    def order(self) -> tuple[int, ...]:
        """Numbers of the slices in the order in which they are done."""
        return POLICIES[self.schedule].order(sizes_of(self.ends))


def sliced_join(op: SlicedJoin, state: ShardState, batches: list[Batch], ctx: Context) -> Batch:
    """One step: the slices that are due, each from where it was left off."""
    batches = [coalesce(b) for b in batches]
    structures = [f"in{i}" for i in range(2)]
    layouts = [Layout((keys,)) for keys in op.keys]
    for structure, batch, layout in zip(structures, batches, layouts, strict=True):
        store_rows(state, structure, batch, layout)
    windows = [[OpenChunk(c) for c in state.list(s)] for s in structures]
    done = list(state.heads.get(DONE, [ctx.low] * len(op.ends)))
    slices = slices_of(op.ends)
    met: list[Met] = []
    for number in op.order():
        low, high = map(int, slices[number])
        if ctx.asked is None or low < ctx.asked:
            met += _slice_pairs(windows, low, high, state, replace(ctx, low=done[number]))
            done[number] = ctx.high
    state.heads[DONE] = done
    results = [results_of_pairs(met, [b.columns.schema for b in batches], op, ctx.expires)] if met else []
    for structure, batch, layout in zip(structures, batches, layouts, strict=True):
        let_go(state, structure, batch, layout, replace(ctx, high=min(done)))
    return whole(results, batches)


def _slice_pairs(
    windows: list[list[OpenChunk]], low: int, high: int, state: ShardState, ctx: Context
) -> Iterator[Met]:
    """Pairs of which the newer row starts in ``[ctx.low, ctx.high)`` and the older one ``[low, high)`` before it; of
    rows that start together the second input's is the newer one."""
    for i in (0, 1):
        latest = 1 if i or low else 0
        for chunk in windows[i]:
            rows = chunk.starting(ctx)
            if rows is None:
                continue
            h, start, exp = (a if rows.all() else a[rows] for a in chunk.probe_side())
            place = np.flatnonzero(rows).astype(np.int32)
            first, last = int(start.min()), int(start.max())
            for other in windows[1 - i]:
                if min(other.meta["max_exp"], other.meta["max_start"] + high) <= first:
                    continue
                if other.meta["min_start"] > last - low:
                    continue
                c_h, c_start, c_exp = other.probe_side()
                within = np.minimum(c_exp, c_start + high)
                spans = probe_spans(
                    (h, start, start - low + latest), (c_h, c_start, within), other.directory(), ctx.high,
                    ctx.fifo[1 - i],
                )  # fmt: skip
                state.looked += spans.looked
                if spans.pairs:
                    mine = Probing(chunk.rows, spans, place)
                    yield Met(i, mine, Partners(other.rows, spans), (h, start, exp), (c_h, c_start, c_exp))
