"""What a query shows that comes when all of its operators with state run already for others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.core.batch import Batch, all_plus, concat_rows, forever
from muntin.operators.context import Context
from muntin.operators.net import net
from muntin.operators.operator import Described, Show
from muntin.state.shard_state import ShardState

HELD = "held"
AT = "at"


@dataclass(frozen=True)
class JoiningIn(Described):
    """Signed rows, and before them those that its input showed when the query came: they enter in the first step that
    answers for the instant since which the query runs. So it never takes back a row that it did not show.

    ``query``, ``batch``: who came, and when.
    """

    query: str
    batch: int

    stateful = True

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        (batch,) = inputs
        at = state.heads.get(AT)
        if at is None or ctx.high <= at:
            return batch
        rows = concat_rows([c.load() for c in state.list(HELD)])
        del state.heads[AT], state.chunks[HELD]
        held = Batch(rows, np.full(rows.num_rows, at, np.int64), forever(rows.num_rows), all_plus(rows.num_rows))
        return net(Batch.concat([held, batch])).in_time()

    def words(self, show: Show) -> str:
        return f"begin {self.query} with what was shown before batch {self.batch}"


def begun_with(rows: pa.RecordBatch, at: int) -> ShardState:
    """The state of a query that came at the instant ``at`` when these rows were shown."""
    state = ShardState()
    if rows.num_rows:
        state.append(HELD, rows)
        state.heads[AT] = at
    return state
