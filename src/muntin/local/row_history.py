"""Windows of rows of a new query that go on from what others have numbered, and what they hold at the start.

Such a window must know how many rows have come before it and which were the last, so its state is made of another's.
What stands above gets the rows that it holds (of a join: the pairs) as entering at the watermark, also from an operator
that goes on: so it is never asked to take back a row that it had not got.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch, concat_rows
from muntin.core.schema import Schema
from muntin.dataflow.history import KeptNumbers
from muntin.dataflow.routes import Keyed, Single, route
from muntin.dataflow.row_history import NumberedInput, columns_needed
from muntin.operators.compute import project
from muntin.operators.context import Context
from muntin.operators.operator import Described, Operator, Show
from muntin.operators.row_history import NumberedRows
from muntin.operators.source import Source
from muntin.state.keyed_table import concat_keys
from muntin.state.shard_state import ShardState
from muntin.state.snapshots import Snapshot

Ints = NDArray[np.int64]

_OWN = "__own"
"""Beside rows on their way to shards: their number or time."""


@dataclass(frozen=True)
class Opening(Described):
    """An operator that goes on: in the step that ends at ``upto`` it shows what it holds, as entering at ``at``, and
    nothing else; its state stays as it is."""

    op: Operator
    at: int
    upto: int

    stateful = True

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        none = [b.where(np.zeros(len(b), np.bool_)) for b in inputs]
        seen = ShardState({n: list(c) for n, c in state.chunks.items()})
        found = self.op.current(none, seen, self.at, replace(ctx, low=self.at, high=self.at))
        assert found is not None
        return found if ctx.high == self.upto else found.where(np.zeros(len(found), np.bool_))

    def words(self, show: Show) -> str:
        return self.op.words(show)


@dataclass(frozen=True)
class Unmarked(Described):
    """An operator that reports when rows of its further inputs come and go, in a step in which none of them did: they
    only show what was there."""

    op: Operator

    stateful = True

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        marks = (b.where(np.zeros(len(b), np.bool_)) for b in inputs[1:])
        return self.op.step([inputs[0], *marks], state, ctx)

    def words(self, show: Show) -> str:
        return self.op.words(show)


def rows_of(kept: KeptNumbers, held: Snapshot, watermark: int) -> tuple[NumberedRows, int]:
    """What a vertex keeps, over all shards, in the stream's columns, and its bytes."""
    given, parts, size = kept.given, [], 0
    for shard, state in sorted(held.of(given.vertex).items()):
        if shard == 0 or not given.everywhere or given.numbering.spread:
            own = given.numbering.held(state, watermark)
            parts.append(own.rows_alone() if shard and given.everywhere else own)
            size += sum(c.meta["bytes"] for c in state.list(given.numbering.structures[0]))
    return _joined(parts, given), size


def _joined(parts: Sequence[NumberedRows], given: NumberedInput) -> NumberedRows:
    called = {own: name for name, own in given.named.items()}

    def renamed(rows: pa.RecordBatch) -> pa.RecordBatch:
        names = [n for n in rows.schema.names if n in called]
        return rows.select(names).rename_columns([called[n] for n in names])

    keys = [renamed(p.keys) if given.by else p.keys for p in parts]
    return NumberedRows(
        concat_keys(keys, keys[0].schema) if given.by else keys[0],
        np.concatenate([p.had for p in parts]),
        concat_rows([renamed(p.rows) for p in parts]), np.concatenate([p.number for p in parts]),
        concat_rows([renamed(p.ahead) for p in parts]), np.concatenate([p.times for p in parts]),
    )  # fmt: skip


def begin(wanted: NumberedInput, found: NumberedRows, states: Mapping[int, ShardState]) -> None:
    """Let the states of a vertex, by shard, go on from these rows of its stream."""
    numbering, source = wanted.numbering, wanted.source
    keys = _named_keys(wanted, found.keys)
    rows, ahead = (_shipped(source, part, numbering.schema) for part in (found.rows, found.ahead))
    shards = len(states)
    had, kept, later = (
        dict(_spread(part, own, wanted, shards)) for part, own in
        ((keys, found.had), (rows, found.number), (ahead, found.times))
    )  # fmt: skip
    for shard, state in states.items():
        none = np.empty(0, np.int64)
        parts = ((had, keys), (kept, rows), (later, ahead))
        own = [of.get(shard, (whole.slice(0, 0), none)) for of, whole in parts]
        numbering.begin(state, NumberedRows(*(x for pair in own for x in pair)), shard, shards)


def _named_keys(wanted: NumberedInput, keys: pa.RecordBatch) -> pa.RecordBatch:
    """Partitions in the columns of the vertex."""
    if not wanted.by:
        return keys
    columns = [keys.column(c.name) for c in wanted.by]
    return pa.RecordBatch.from_arrays(columns, names=list(wanted.numbering.by))


def _shipped(source: Source, rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Rows of a stream as a source sends them: all of them have passed its filter."""
    needed = Schema(tuple(f for f in source.stream.schema if f.name in columns_needed(source)))
    own = project(source.columns, rows.select(needed.names))
    return pa.RecordBatch.from_arrays(own.columns, schema=schema)


def _spread(
    rows: pa.RecordBatch, own: Ints, wanted: NumberedInput, shards: int
) -> Iterator[tuple[int, tuple[pa.RecordBatch, Ints]]]:
    """Rows, each with a number, by the shard that has them."""
    names = rows.schema.names
    way = wanted.route
    if isinstance(way, Keyed):  # by the source's names, which an operator over two inputs calls otherwise
        place = {f"c{k}": n for k, n in enumerate(wanted.numbering.schema.names)}
        way = Keyed(tuple(place[c] for c in way.columns))
    if not names:  # the one partition that there is, on every shard that gets rows
        yield from ((s, (rows, own)) for s in range(1 if isinstance(way, Single) else shards))
        return
    for shard, part in route(rows.append_column(_OWN, pa.array(own)), way, shards, 0):
        yield shard, (part.select(names), part.column(_OWN).to_numpy())
