"""Sub-windows: rows of a group that enter and leave together become one row with a summary of them.

Algorithm 6 of Golab (2006), 6.2: a value is counted exactly inside its sub-window, and then only the k most frequent
are kept; or they become a sketch of frequent items. With SLIDE a sub-window is what comes between two instants. A
summary is given out when its sub-window is whole, that is when its first instant is answered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
from datasketches import frequent_strings_sketch
from numpy.typing import NDArray

from muntin.aggregates.description import Summary
from muntin.aggregates.frequent import list_type, map_size, to_texts
from muntin.aggregates.order import order_keys
from muntin.core.batch import Batch
from muntin.kernels.hashing import validity_of
from muntin.kernels.keys import key_ids
from muntin.operators.context import Context
from muntin.operators.held_back import held_back
from muntin.operators.operator import Described, Show
from muntin.state.shard_state import ShardState

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class SubWindows(Described):
    """Interval rows of ``groups`` and a value (the last column) to one row a group and sub-window, with its summary.

    ``k``: values of a list, or for how many a sketch is made. ``merging``: the rows are lists of parts of sub-windows,
    whose values are apart (they were spread by value): the most frequent of all are among those of the parts.
    """

    groups: tuple[str, ...]
    value: str
    k: int
    kind: Summary
    merging: bool = False

    stateful = True

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        rows = held_back(state, "waiting", inputs[0], ctx)
        return merged(self, rows) if self.merging else summarised(self, rows)

    def words(self, show: Show) -> str:
        if self.merging:
            return f"the {self.k} most frequent of lists of sub-windows"
        what = f"its {self.k} most frequent" if self.kind == "lists" else "a sketch"
        return f"{what} of {show.column(self.value)}, by sub-window"

    def keeps(self, inputs: Sequence[object], show: Show) -> str:
        return "rows of sub-windows that are not whole"


def summarised(op: SubWindows, rows: Batch) -> Batch:
    """Whole sub-windows of rows to their summaries."""
    column = rows.columns.column(op.value)
    of, count, first = _sub_windows(op, rows)
    valid = validity_of(column)
    kept = np.flatnonzero(valid) if len(valid) else np.arange(len(rows))
    values = column.take(pa.array(kept))
    ids, kinds, at = key_ids([pa.array(of[kept]), values], len(kept))
    many = np.bincount(ids, minlength=kinds).astype(np.int64)
    values, window = values.take(pa.array(at)), of[kept][at]
    return _whole(op, rows, first, _summary(op, values, window, many, count))


def merged(op: SubWindows, rows: Batch) -> Batch:
    """Lists of parts of sub-windows to one list each."""
    of, count, first = _sub_windows(op, rows)
    lists = rows.columns.column(op.value)
    entries = lists.field("items")
    window = np.repeat(of, np.diff(entries.offsets.to_numpy()))
    flat = entries.flatten()
    values, many = flat.field("item"), flat.field("count").to_numpy()
    total = np.zeros(count, np.int64)
    np.add.at(total, of, lists.field("rows").to_numpy())
    return _whole(op, rows, first, _lists(values, window, many, count, op.k, total))


def _sub_windows(op: SubWindows, rows: Batch) -> tuple[Ints, int, Ints]:
    times = [pa.array(rows.ts), pa.array(rows.exp)]
    return key_ids([*times, *(rows.columns.column(n) for n in op.groups)], len(rows))


def _whole(op: SubWindows, rows: Batch, first: Ints, summary: pa.Array) -> Batch:
    index = pa.array(first)
    columns = [rows.columns.column(n).take(index) for n in op.groups]
    names = [*op.groups, op.value]
    found = Batch(pa.RecordBatch.from_arrays([*columns, summary], names=names), rows.ts[first], rows.exp[first])
    return found.in_time()


def _summary(op: SubWindows, values: pa.Array, window: Ints, many: Ints, count: int) -> pa.Array:
    """One summary a sub-window of its distinct values and how often each is there; NULL for none."""
    total = np.zeros(count, np.int64)
    np.add.at(total, window, many)
    if op.kind == "lists":
        return _lists(values, window, many, count, op.k, total)
    order = np.lexsort([order_keys(values, "max"), window])
    texts, ordered = to_texts(values.take(pa.array(order))), many[order].tolist()
    ends = np.searchsorted(window[order], np.arange(count), side="right").tolist()
    found: list[bytes | None] = []
    for start, end in pairwise([0, *ends]):
        sketch = frequent_strings_sketch(map_size(op.k))
        for text, n in zip(texts[start:end], ordered[start:end], strict=True):
            sketch.update(text, n)
        found.append(bytes(sketch.serialize()) if end > start else None)
    return pa.array(found, pa.binary())


def _lists(values: pa.Array, window: Ints, many: Ints, count: int, k: int, total: Ints) -> pa.Array:
    """The k most frequent values of each sub-window (ties: the least value), the k-th count, and ``total``."""
    order = np.lexsort([order_keys(values, "max"), -many, window])
    sorted_windows = window[order]
    begin = np.searchsorted(sorted_windows, np.arange(count))
    size = np.searchsorted(sorted_windows, np.arange(count), side="right") - begin
    rank = np.arange(len(order)) - begin[sorted_windows]
    chosen = order[rank < k]
    full = size >= k
    delta = np.zeros(count, np.int64)
    delta[full] = many[order[begin[full] + k - 1]]
    entries = pa.StructArray.from_arrays(
        [values.take(pa.array(chosen)), pa.array(many[chosen])], names=["item", "count"]
    )
    offsets = np.append(0, np.cumsum(np.minimum(size, k)))
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), entries)
    found = pa.StructArray.from_arrays([lists, pa.array(delta), pa.array(total)], names=["items", "delta", "rows"])
    return found.cast(list_type(values.type))
