"""What aggregates over distinct values share: rows by (group, value), and what happens when a value's
first row comes or its last one goes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from muntin.aggregates.accumulators import Accumulator, Replay
from muntin.kernels import sums
from muntin.kernels.hashing import validity_of
from muntin.state.keyed_table import KeyedTable


@dataclass(frozen=True)
class OfDistinct:
    """An aggregate over each value once: a value enters with the first row that has it and leaves with the last.

    ``inner``: the aggregate over what enters and leaves, the other events being NULL to it.
    """

    name: str
    arg: str
    inner: Accumulator

    def values(self, replay: Replay) -> pa.Array:
        ev = replay.events
        column = ev.rows.column(self.arg)
        pairs, ids = pairs_of(self.name, replay, column)
        valid = validity_of(column)
        sign = np.zeros(len(ids), np.int8)
        sums.first_and_last(ev.sign, ids, valid, pairs.live, sign)
        pairs.save(np.unique(ids[valid] if len(valid) else ids))
        once = pc.if_else(pa.array(sign != 0), column, pa.scalar(None, column.type))
        at = ev.rows.schema.get_field_index(self.arg)
        rows = ev.rows.set_column(at, self.arg, once)
        return self.inner.values(replace(replay, events=replace(ev, rows=rows, sign=sign)))


def pairs_of(name: str, replay: Replay, column: pa.Array) -> tuple[KeyedTable, NDArray[np.int64]]:
    """The table of (group, value) pairs, and the pair of each event."""
    ev = replay.events
    parts = column.flatten() if pa.types.is_struct(column.type) else [column]
    names = ["value" if len(parts) == 1 else f"value{i}" for i in range(len(parts))]
    keys = pa.RecordBatch.from_arrays([*ev.keys.columns, *parts], names=[*ev.keys.schema.names, *names])
    pairs = KeyedTable(replay.state, f"{name}.pairs", keys.schema)
    return pairs, pairs.ids_of(keys, len(ev.time))
