"""What EXPLAIN ANALYZE adds: counters of every operator, taken while a query runs in this process.

The hook stands around ``shard._apply`` only inside ``measuring``: outside nothing is counted and nothing costs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from muntin.core.batch import Batch
from muntin.dataflow.stage import Op
from muntin.engine import shard
from muntin.operators.context import Context
from muntin.operators.joins.join_statistics import told
from muntin.state.shard_state import ShardState


@dataclass
class Counter:
    """One operator over all shards and batches so far.

    ``calls``: steps of a shard. ``rows_in``, ``rows_out``: rows, negative tuples included (``negative``: those that
    came out). ``state``: rows that it holds now; ``peak``: the most at the end of a step. ``seconds``: of processing.
    """

    calls: int = 0
    rows_in: int = 0
    rows_out: int = 0
    negative: int = 0
    state: int = 0
    peak: int = 0
    seconds: float = 0.0


@dataclass
class Measured:
    """Counters by (stage, operator number), and rows that arrived by (stage, input number)."""

    operators: dict[tuple[int, int], Counter] = field(default_factory=dict)
    held: dict[tuple[int, int, int], int] = field(default_factory=dict)
    joins: dict[tuple[int, int], dict[str, Any]] = field(default_factory=dict)
    """What each join measured on the first shard that ran it, at the end."""
    batches: int = 0
    results: int = 0
    seconds: float = 0.0

    def of(self, stage: int, op: int) -> Counter:
        """The counter of an operator (empty if it never ran)."""
        return self.operators.setdefault((stage, op), Counter())

    def stage_seconds(self, stage: int) -> float:
        """Processing time of a stage's operators."""
        return sum(c.seconds for (s, _), c in self.operators.items() if s == stage)


@contextmanager
def measuring(states: Sequence[Sequence[ShardState]]) -> Iterator[Measured]:
    """Count every operator that runs over ``states`` (by stage, by shard) until the block ends."""
    found = Measured()
    places = {id(state): (n, k) for n, shards in enumerate(states) for k, state in enumerate(shards)}
    plain = shard._apply

    def counted(op: Op, state: ShardState, name: str, data: list[Batch], ctx: Context) -> Batch:
        start = time.perf_counter()
        out = plain(op, state, name, data, ctx)
        spent = time.perf_counter() - start
        place = places.get(id(state))
        if place is not None:
            number = int(name.removeprefix("op"))
            _count(found, place, number, data, out, _held(state, name), spent)
            if place[1] == 0 and f"{name}.stats" in state.heads:
                found.joins[place[0], number] = told(state.heads[f"{name}.stats"])
        return out

    shard._apply = counted
    try:
        yield found
    finally:
        shard._apply = plain


def _held(state: ShardState, name: str) -> int:
    """Rows in the structures of one operator: those named as it is."""
    mine = (c for n, cs in state.chunks.items() if n == name or n.startswith(f"{name}.") for c in cs)
    return sum(c.meta["n"] for c in mine)


def _count(
    found: Measured, place: tuple[int, int], op: int, data: list[Batch], out: Batch, held: int, spent: float
) -> None:
    stage, number = place
    c = found.of(stage, op)
    c.calls += 1
    c.rows_in += sum(len(b) for b in data)
    c.rows_out += len(out)
    c.negative += 0 if out.sign is None else int((out.sign < 0).sum())
    c.seconds += spent
    found.held[stage, op, number] = held
    c.state = sum(n for (s, o, _), n in found.held.items() if (s, o) == (stage, op))
    c.peak = max(c.peak, c.state)
