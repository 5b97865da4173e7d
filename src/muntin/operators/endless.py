"""Rows whose expiry is announced by negative tuples alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from muntin.core.batch import Batch, forever
from muntin.operators.context import Context
from muntin.operators.operator import Described, Show
from muntin.plan.patterns import Pattern
from muntin.state.shard_state import ShardState


@dataclass(frozen=True)
class Endless(Described):
    """Signed rows whose expiry is told by negative tuples alone (the negative-tuple approach, thesis 2.3.3)."""

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        batch = inputs[0]
        return Batch(batch.columns, batch.ts, forever(len(batch)), batch.sign)

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """Every row leaves by a negative tuple."""
        return Pattern.STR

    def words(self, show: Show) -> str:
        return "expiries told by negative tuples"
