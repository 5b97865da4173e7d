"""One step of one (query stage, shard): arrived rows and progress in, result rows and the next state out.

Both runtimes drive exactly this. Rows travel between stages as Arrow record batches whose last columns are ours:
``__ts`` (int64: event time of a source row, start of an interval row, or instant of a change), then ``__exp`` (int64,
derived rows), ``__sign`` (int8, signed rows), ``__keep`` (bool, source rows of inputs with ``ship_all``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from muntin.core.batch import Batch
from muntin.core.time import FOREVER
from muntin.core.watermark import Header
from muntin.physical.stage import Input, PhysicalQuery
from muntin.state.shard_state import ShardState


@dataclass(frozen=True)
class Progress:
    """Instants in ``[before, watermark)`` are answered by this step; nothing after ``end`` ever is (end of input).

    ``first``: the instant of the query's first row (FOREVER: none yet). Equal on every shard of a batch; stage 0 derives
    it from the headers, later stages get it from the same shard of the stage before.
    """

    before: int
    watermark: int
    first: int
    end: int = FOREVER


@dataclass(frozen=True)
class StepOutput:
    """``rows``: what the stage emits, all with ``before <= ts < watermark``. ``late``: (input position, rows) dropped."""

    rows: Batch
    late: list[tuple[int, pa.RecordBatch]] = field(default_factory=list)


def wire_schema(source: Input) -> pa.Schema:
    """The Arrow schema in which rows of this input travel."""
    raise NotImplementedError


def advance(query: PhysicalQuery, state: ShardState, headers: Sequence[Header], now: int, finish: bool = False) -> Progress:
    """Move the clocks kept in ``state.heads`` over one batch of headers; ``finish`` completes every instant."""
    raise NotImplementedError


def step(
    query: PhysicalQuery, stage: int, state: ShardState, arrived: Sequence[pa.RecordBatch | None], progress: Progress
) -> StepOutput:
    """Run stage ``stage`` over the rows that arrived (one batch per input, in canonical order) up to the watermark."""
    raise NotImplementedError


def to_wire(batch: Batch, target: Input) -> pa.RecordBatch:
    """Rows as a derived input receives them."""
    raise NotImplementedError


def result_rows(query: PhysicalQuery, rows: Batch) -> pa.RecordBatch:
    """The last stage's rows as the user sees them (``query.result_schema``)."""
    raise NotImplementedError
