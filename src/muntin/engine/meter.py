"""What the vertices of a graph do, counted: EXPLAIN ANALYZE, metrics and experiments read it.

A runtime passes a ``Meter`` to ``engine.level.run_level``; without one nothing is counted and nothing costs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from muntin.core.batch import Batch
from muntin.operators.joins.join_statistics import STATISTICS, estimates_of
from muntin.state.shard_state import ShardState


@dataclass
class Counter:
    """One vertex over all shards and batches so far.

    ``calls``: steps of a shard. ``rows_in``, ``rows_out``: rows, negative tuples included (``negative``: those that
    came out). ``state``: rows that it holds now; ``peak``: the most at the end of a step. ``looked``: rows of state
    that it looked at (opened, bisected, probed, merged, gone through for answers). ``seconds``: of processing.
    ``shed``: rows of its source that were not admitted (``engine.valve``). ``bytes``: of the rows that it holds now,
    as the option ``memory`` counts them; ``written``: of the chunks that it made, merged ones too.
    """

    calls: int = 0
    rows_in: int = 0
    rows_out: int = 0
    negative: int = 0
    state: int = 0
    peak: int = 0
    looked: int = 0
    seconds: float = 0.0
    shed: int = 0
    bytes: int = 0
    written: int = 0

    @property
    def work(self) -> int:
        """Operations: each row taken in, given out, or looked at in state, as 1."""
        return self.rows_in + self.rows_out + self.looked


@dataclass(frozen=True)
class LeftOut:
    """``rows`` that were not admitted to a query, the estimated ``share`` of its full answer that was given, and the
    ``error`` of that."""

    rows: int
    share: float
    error: float = 0.0


@dataclass
class Meter:
    """Counters by number of the vertex, and what each join measured on the first shard that ran it."""

    counters: dict[int, Counter] = field(default_factory=dict)
    joins: dict[int, dict[str, Any]] = field(default_factory=dict)
    made: dict[tuple[int, int], int] = field(default_factory=dict)
    """Rows that came out, by vertex and shard."""
    batches: int = 0
    results: int = 0
    seconds: float = 0.0
    left_out: dict[str, LeftOut] = field(default_factory=dict)
    """By query, where not all rows were admitted or read ("" in a run of one query)."""
    _held: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)

    def of(self, vertex: int) -> Counter:
        """The counter of a vertex (empty if it never ran)."""
        return self.counters.setdefault(vertex, Counter())

    def count(self, vertex: int, shard: int, rows_in: int, out: Batch, state: ShardState, seconds: float) -> None:
        """Add one step."""
        c = self.passed(vertex, rows_in, out, state, seconds)
        c.calls += 1
        self.made[vertex, shard] = self.made.get((vertex, shard), 0) + len(out)
        held, before = (state.rows(), state.size()), self._held.get((vertex, shard), (0, 0))
        c.state += held[0] - before[0]
        c.bytes += held[1] - before[1]
        self._held[vertex, shard] = held
        c.peak = max(c.peak, c.state)
        if shard == 0 and STATISTICS in state.heads:
            self.joins[vertex] = estimates_of(state.heads[STATISTICS])

    def passed(self, vertex: int, rows_in: int, out: Batch, state: ShardState, seconds: float) -> Counter:
        """Add what came in and out in one step and what it took, not what is held; the vertex's counter."""
        c = self.of(vertex)
        c.rows_in += rows_in
        c.rows_out += len(out)
        c.negative += 0 if out.sign is None else int((out.sign < 0).sum())
        c.seconds += seconds
        c.looked += state.looked
        c.written += state.written
        state.looked = state.written = 0
        return c
