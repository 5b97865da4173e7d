"""What a window of rows has of its stream as plain rows with numbers, and another window begun with it.

Two windows that number the same rows alike differ in what they keep of them: the larger one has all that the smaller
one would have, so a window that comes later can go on where one that was there from the start would be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch, concat_rows, forever
from muntin.operators.joins.counted_join import CountedJoin
from muntin.operators.joins.counted_rows import begin_counted
from muntin.operators.rows_window import NUMBER, RowsWindow, begin_rows
from muntin.state.keyed_table import KeyedTable
from muntin.state.shard_state import ShardState
from muntin.state.window_rows import START, int64s

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class NumberedRows:
    """Rows of a stream as a window of rows has them on a shard.

    ``keys``, ``had``: the partitions, and how many rows each has had; ``rows``, ``number``: rows that it keeps, with
    their numbers in their partitions; ``ahead``, ``times``: those that wait since their instant is not complete, in
    order of arrival, with their event times.
    """

    keys: pa.RecordBatch
    had: Ints
    rows: pa.RecordBatch
    number: Ints
    ahead: pa.RecordBatch
    times: Ints

    def rows_alone(self) -> NumberedRows:
        """Only the rows that are kept: another shard has the rest, too."""
        return replace(
            self, keys=self.keys.slice(0, 0), had=self.had[:0], ahead=self.ahead.slice(0, 0), times=self.times[:0]
        )


@dataclass(frozen=True)
class Numbering:
    """How an operator numbers an input: where its state has it, and by which of the ``schema``'s columns."""

    op: RowsWindow | CountedJoin
    input: int
    schema: pa.Schema
    by: tuple[str, ...]

    @property
    def structures(self) -> tuple[str, str, str]:
        """Of the rows, of the partitions and of what waits."""
        if isinstance(self.op, CountedJoin):
            return f"in{self.input}", f"partitions{self.input}", f"waiting{self.input}"
        return "held", "partitions", "waiting"

    def held(self, state: ShardState, watermark: int) -> NumberedRows:
        """What a state has whose instants before ``watermark`` are answered. Cost: all rows and partitions kept."""
        rows, partitions, waiting = self.structures
        table = KeyedTable(state, partitions, pa.schema([self.schema.field(n) for n in self.by]))
        table.load_all()
        chunks = [c.load() for c in state.list(rows)]
        number = NUMBER if isinstance(self.op, RowsWindow) else START
        ahead = [c.load() for c in state.list(waiting)]
        ahead = [r.take(pa.array(np.flatnonzero(int64s(r, START) >= watermark))) for r in ahead]
        return NumberedRows(
            table.keys, table.counter("rows"), self._rows(chunks), _int64s(chunks, number),
            self._rows(ahead), _int64s(ahead, START),
        )  # fmt: skip

    def _rows(self, chunks: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
        none = pa.RecordBatch.from_arrays([pa.array([], f.type) for f in self.schema], schema=self.schema)
        return concat_rows([none, *(c.select(self.schema.names) for c in chunks)])

    @property
    def spread(self) -> bool:
        """Whether every shard numbers all rows and keeps its own share of them."""
        return isinstance(self.op, CountedJoin) and self.op.inputs[self.input].spread is not None

    def begin(self, state: ShardState, given: NumberedRows, shard: int, shards: int) -> None:
        """Let an empty state on a shard go on where one is that has numbered these rows; of those it takes the ones
        that it needs."""
        ahead = Batch(given.ahead, given.times, forever(len(given.times)))
        if isinstance(self.op, CountedJoin):
            side = self.op.inputs[self.input]
            numbered = (given.keys, given.had), (given.rows, given.number)
            begin_counted(side, self.input, state, *numbered, ahead, shard, shards)
        else:
            begin_rows(self.op, state, (given.keys, given.had), (given.rows, given.number), ahead)


def _int64s(chunks: Sequence[pa.RecordBatch], name: str) -> Ints:
    return np.concatenate([np.empty(0, np.int64), *(int64s(c, name) for c in chunks)])
