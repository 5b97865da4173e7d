"""Results that stay while a part of them is there (INTERNAL beside external windows, thesis 3.3.2).

When a part leaves is told by a negative tuple, long after the results that it is in were made; they are found by it.
State: the results that are there, by that part. Cost: the results that come and go, and the parts that leave.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch
from muntin.core.time import FOREVER
from muntin.kernels.hashing import hash_columns
from muntin.kernels.keys import key_ids
from muntin.operators.context import Context
from muntin.operators.held_back import held_back
from muntin.operators.operator import Described, Show
from muntin.plan.patterns import Pattern
from muntin.state.live_rows import add_live, live
from muntin.state.shard_state import ShardState
from muntin.state.window_rows import EXP, int64s

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Stay(Described):
    """Rows of the first input until the row of the second that their columns ``part`` name (all its columns, in order)
    is taken away, or they are themselves. A row and its part are on one shard."""

    part: tuple[str, ...]

    stateful = True

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        return stay(self, state, inputs[0], inputs[1], ctx)

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """When a part leaves is not known before."""
        return Pattern.STR

    def words(self, show: Show) -> str:
        return "stay until the external rows leave"

    def keeps(self, inputs: Sequence[Pattern], show: Show) -> str:
        return "hash index of the results that are there, by the part that they go with"


def stay(op: Stay, state: ShardState, rows: Batch, parts: Batch, ctx: Context) -> Batch:
    """Results that come (signed: and go) in this step and parts that go; results that come and go."""
    assert parts.sign is not None
    gone = held_back(state, "waiting", parts.where(parts.sign < 0), ctx)
    taken = rows.where(np.zeros(len(rows), np.bool_) if rows.sign is None else rows.sign < 0)
    come = rows if rows.sign is None else rows.where(rows.sign > 0)
    names = list(op.part)
    fresh = come.columns.append_column(EXP, pa.array(come.exp))
    add_live(state, "live", fresh, hash_columns(fresh.select(names).columns, len(come)), 1, ctx.high)
    asked = hash_columns(taken.columns.select(names).columns, len(taken))
    asked = np.append(asked, hash_columns(gone.columns.columns, len(gone)))
    known = live(state, "live", asked) if len(asked) else None
    found = fresh.slice(0, 0) if known is None else known
    end = _end(found.select(names), gone.columns, gone.ts)
    end = np.minimum(end, _end(found, taken.columns.append_column(EXP, pa.array(taken.exp)), taken.ts))
    left, end = found.take(pa.array(np.flatnonzero(end < FOREVER))), end[end < FOREVER]
    add_live(state, "live", left, hash_columns(left.select(names).columns, len(end)), -1, ctx.high)
    plus = Batch(come.columns, come.ts, come.exp, np.ones(len(come), np.int8))
    minus = Batch(left.select(come.columns.schema.names), end, int64s(left, EXP), np.full(len(end), -1, np.int8))
    return Batch.concat([plus, minus.where(minus.ts < minus.exp)]).in_time()


def _end(rows: pa.RecordBatch, gone: pa.RecordBatch, at: Ints) -> Ints:
    """When the row of ``gone`` that equals each of the rows leaves; FOREVER where none does."""
    n = rows.num_rows
    pairs = zip(rows.columns, gone.columns, strict=True)
    ids, count, _ = key_ids([pa.concat_arrays([a, b]) for a, b in pairs], n + gone.num_rows)
    end = np.full(count, FOREVER, np.int64)
    np.minimum.at(end, ids[n:], at)
    return end[ids[:n]]
