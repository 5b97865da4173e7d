"""What the rows of every vertex do, as they come out: the least update pattern that allows it (thesis 3.2.1)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from muntin.core.batch import Batch
from muntin.core.time import FOREVER
from muntin.engine.meter import Meter
from muntin.plan.patterns import Pattern
from muntin.state.shard_state import ShardState

NONE = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int8))


@dataclass
class Watch(Meter):
    """A meter that also keeps start, expiry and sign of every row that a vertex emits."""

    rows: dict[int, list[tuple[np.ndarray, np.ndarray, np.ndarray]]] = field(default_factory=dict)

    def count(self, vertex: int, shard: int, rows_in: int, out: Batch, state: ShardState, seconds: float) -> None:
        """Add one step."""
        super().count(vertex, shard, rows_in, out, state, seconds)
        sign = np.ones(len(out), np.int8) if out.sign is None else out.sign
        self.rows.setdefault(vertex, []).append((out.ts, out.exp, sign))

    def signs(self, vertex: int) -> set[int]:
        """The signs that rows of a vertex had."""
        return {s for _, _, sign in self.rows.get(vertex, []) for s in np.unique(sign).tolist()}

    def observed(self, vertex: int, announced: bool = False) -> Pattern | None:
        """The pattern of all rows of a vertex together; None if it has emitted none. ``announced``: a '-' at the very
        instant that the row's expiry told is no negative tuple (as in changes that are shown to users)."""
        steps = self.rows.get(vertex, [])
        start, exp, sign = (np.concatenate(x) for x in zip(NONE, *steps, strict=True))
        if announced:
            told = (sign < 0) & (start == exp)
            start, exp, sign = start[~told], exp[~told], sign[~told]
        if len(start) == 0:
            return None
        if (sign < 0).any():
            return Pattern.STR
        if (exp == FOREVER).all():
            return Pattern.MON
        in_order = np.lexsort((exp, start))  # rows that start together may leave in any order
        return Pattern.WKS if (np.diff(exp[in_order]) >= 0).all() else Pattern.WK
