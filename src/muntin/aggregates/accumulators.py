"""What accumulators share: each replays a schedule of events and emissions with its own kernel.

An accumulator owns named int64 counters in the table of groups (so its state is written only for groups that changed)
or structures beside it, and turns them into one value per emission.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.kernels.hashing import as_int64, decimal_words
from muntin.kernels.schedule import Schedule
from muntin.state.keyed_table import KeyedTable
from muntin.state.shard_state import ShardState
from muntin.state.window_rows import int64s

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Events:
    """Rows entering and leaving groups, in time order; ``rows`` holds the argument columns.

    ``exp`` is the expiry of each row; ``keys`` the group columns (for what keeps its state by key); ``sign`` what the
    event does to the group's count; ``entering``: at the row's start (else at its expiry).
    """

    rows: pa.RecordBatch
    keys: pa.RecordBatch
    time: Ints
    exp: Ints
    group: Ints
    sign: NDArray[np.int8]
    entering: NDArray[np.bool_]


@dataclass(frozen=True)
class Replay:
    """Everything a kernel replays in one step. ``low`` / ``high``: the instants of the step."""

    events: Events
    schedule: Schedule
    groups: KeyedTable
    state: ShardState
    low: int
    high: int


class Accumulator(Protocol):
    """``values``: one value per emission, as an Arrow array of the aggregate's type; moves the counters on."""

    def values(self, replay: Replay) -> pa.Array: ...


def decimals(low: Ints, high: Ints, none: NDArray[np.bool_], type: pa.DataType) -> pa.Array:
    """Decimals out of the words of their 128-bit integers; NULL where ``none``."""
    words = np.stack([low, high], axis=1).tobytes()
    mask = pa.array(~none).buffers()[1] if none.any() else None
    return pa.Array.from_buffers(type, len(low), [mask, pa.py_buffer(words)])


def weights_of(rows: pa.RecordBatch, column: str) -> Ints:
    """How many rows or values each partial stands for; empty where the rows are no partials."""
    return int64s(rows, column) if column else np.empty(0, np.int64)


def int128_words(column: pa.Array) -> tuple[Ints, Ints]:
    """Integers or decimals as the low and high words of 128-bit integers; NULLs are any number."""
    if pa.types.is_decimal(column.type):
        return decimal_words(column)
    low = as_int64(column)
    return low, np.zeros_like(low) if column.type == pa.uint64() else low >> 63
