"""A table of counters by key, kept as a base chunk and small deltas: a batch writes the keys that it changed.

Newer chunks override older ones key by key. When the deltas outgrow the base, everything live is rewritten once, so a
row is rewritten a constant number of times on average. A key whose ``live`` count is zero is absent.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.kernels.keys import key_ids
from muntin.state.shard_state import ShardState
from muntin.state.window_rows import int64s

LIVE = "__live"


class KeyedTable:
    """Keys with dense ids, ``live`` counts, named int64 counters and named blobs (bytes or None), all arrays by id.

    Loading costs one pass over the keys; ``ids_of`` one hash access a row.
    """

    def __init__(self, state: ShardState, structure: str, keys: pa.Schema) -> None:
        self._state, self._structure = state, structure
        self.keys = pa.RecordBatch.from_arrays([pa.array([], f.type) for f in keys], schema=keys)
        self.live: NDArray[np.int64] = np.empty(0, np.int64)
        self.counters: dict[str, NDArray[np.int64]] = {}
        self.blobs: dict[str, NDArray[np.object_]] = {}
        self._load()

    def __len__(self) -> int:
        return len(self.live)

    def _load(self) -> None:
        chunks = [c.load() for c in self._state.list(self._structure)]
        if not chunks:
            return
        names = self.keys.schema.names
        keys = _concat([c.select(names) for c in chunks], self.keys.schema)
        rows = sum(c.num_rows for c in chunks)
        kinds = {f.name: f.type for c in chunks for f in c.schema if f.name not in names}
        counters = sorted(n for n, t in kinds.items() if not pa.types.is_binary(t))
        ids, count, first = key_ids(keys.columns, rows)
        newest = np.empty(count, np.int64)
        newest[ids] = np.arange(rows)
        self.keys = keys.take(pa.array(first)) if len(names) else keys.slice(0, count)
        for name in counters:
            joined = np.concatenate([_counter(c, name) for c in chunks])[newest]
            if name == LIVE:
                self.live = joined
            else:
                self.counters[name] = joined
        for name in kinds.keys() - set(counters):
            self.blobs[name] = np.concatenate([_blob(c, name) for c in chunks])[newest]

    def blob(self, name: str) -> NDArray[np.object_]:
        """The blobs of that name, None where never set. The array is live."""
        return self.blobs.setdefault(name, np.full(len(self), None, np.object_))

    def counter(self, name: str) -> NDArray[np.int64]:
        """The counter of that name, zero where never set. The array is live: kernels write into it."""
        return self.counters.setdefault(name, np.zeros(len(self), np.int64))

    def ids_of(self, keys: pa.RecordBatch, rows: int) -> NDArray[np.int64]:
        """The id of each row's key; unknown keys are added with zero counts."""
        known = len(self)
        if not self.keys.schema.names:
            self._grow(max(known, 1))
            return np.zeros(rows, np.int64)
        both = _concat([self.keys, keys], self.keys.schema)
        ids, count, first = key_ids(both.columns, known + rows)
        if count > known:
            self.keys = both.take(pa.array(first))
            self._grow(count)
        return ids[known:]

    def _grow(self, count: int) -> None:
        more = count - len(self)
        if more > 0:
            self.live = np.append(self.live, np.zeros(more, np.int64))
            self.counters = {n: np.append(a, np.zeros(more, np.int64)) for n, a in self.counters.items()}
            self.blobs = {n: np.append(a, np.full(more, None, np.object_)) for n, a in self.blobs.items()}

    def save(self, touched: NDArray[np.int64]) -> None:
        """Write the touched keys as a delta, or everything live when the deltas have outgrown it."""
        written = sum(c.meta["n"] for c in self._state.list(self._structure))
        lives = np.flatnonzero(self.live)
        if written + len(touched) > 2 * len(lives) + 64:
            self._state.replace(self._structure, list(self._state.list(self._structure)), None)
            self._write(lives)
        else:
            self._write(touched)

    def _write(self, ids: NDArray[np.int64]) -> None:
        if len(ids) == 0:
            return
        keys = self.keys.take(pa.array(ids)).columns if self.keys.schema.names else []
        arrays = [*keys, pa.array(self.live[ids])]
        names = [*self.keys.schema.names, LIVE]
        for name, values in self.counters.items():
            arrays.append(pa.array(values[ids]))
            names.append(name)
        for name, blobs in self.blobs.items():
            arrays.append(pa.array(blobs[ids].tolist(), pa.binary()))
            names.append(name)
        self._state.append(self._structure, pa.RecordBatch.from_arrays(arrays, names=names))


def _counter(rows: pa.RecordBatch, name: str) -> NDArray[np.int64]:
    return int64s(rows, name) if name in rows.schema.names else np.zeros(rows.num_rows, np.int64)


def _blob(rows: pa.RecordBatch, name: str) -> NDArray[np.object_]:
    found = np.full(rows.num_rows, None, np.object_)
    if name in rows.schema.names:
        found[:] = rows.column(name).to_pylist()
    return found


def _concat(parts: list[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    if not schema.names:
        return parts[0]
    table = pa.Table.from_batches(parts, schema).combine_chunks()
    if len(table) == 0:
        return parts[0].slice(0, 0)
    return table.to_batches()[0]
