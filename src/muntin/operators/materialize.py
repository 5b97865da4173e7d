"""What the query shows of interval rows: their coming and going, or all of them at every instant.

Rows that are still valid stay in a structure ordered by expiry (a calendar queue), so those that leave are found by
bisection; rows that start later wait there too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal as OneOf

from muntin.core.batch import Batch
from muntin.operators.context import Context
from muntin.operators.events import events_of
from muntin.operators.marks import marked
from muntin.operators.net import net
from muntin.operators.operator import Described, Show
from muntin.operators.snapshots import snapshots
from muntin.operators.structures import STRUCTURES
from muntin.plan.patterns import Pattern
from muntin.plan.windows import Ticks
from muntin.state.shard_state import ShardState


@dataclass(frozen=True)
class Materialize(Described):
    """Interval rows become what the query shows: "changes" (both signs) or "snapshots" (all live rows per instant).

    Snapshots are taken at ``ticks``, or where there are none at every instant at which a row of the further arguments
    (or of the inputs that only mark instants) enters or leaves.
    """

    emit: OneOf["changes", "snapshots"]
    ticks: Ticks | None = None

    stateful = True

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        return materialize(self, state, inputs[0], marked(state, inputs[1:], ctx))

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """Changes keep the pattern; snapshots are a stream of whole answers."""
        return inputs[0] if self.emit == "changes" else Pattern.MON

    def words(self, show: Show) -> str:
        return f"materialize, emit {self.emit}"

    def keeps(self, inputs: Sequence[Pattern], show: Show) -> str:
        whole = self.emit == "snapshots" and inputs[0] is Pattern.MON
        return "all rows" if whole else STRUCTURES[inputs[0]]


def materialize(op: Materialize, state: ShardState, batch: Batch, ctx: Context) -> Batch:
    """Interval rows in; changes, or interval rows with ts = the instant (snapshots), out."""
    if op.emit == "snapshots":
        return snapshots(op.ticks, state, batch, ctx)
    return net(events_of(state, "rows", batch, ctx))
