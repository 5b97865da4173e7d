"""A table of counters, or of rows, by key, as runs in hash order: a step looks up the keys that it touches and writes
those that it changed.

A newer run overrides older ones key by key; a run carries its hashes and their directory, so a key is found in it by
one access, without reading the rest. A key whose ``live`` count is zero hides older entries and goes when all runs
become one. Cost of a step: keys touched x runs (``state.runs``: logarithmic), whatever the table holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import no_columns
from muntin.core.errors import StoreError
from muntin.kernels.hashing import exact, hash_columns
from muntin.kernels.index import bucket_bits, bucket_order
from muntin.kernels.keys import columns_equal, key_ids
from muntin.kernels.runs import probe
from muntin.state.runs import add_run, newest_first
from muntin.state.shard_state import ShardState
from muntin.state.window_rows import int64s

LIVE, NUMBER = "__live", "__number"
_HASH, _DIRECTORY = "__h", "__dir"
_OWN = (_HASH, _DIRECTORY)

Ints = NDArray[np.int64]


class KeyedTable:
    """Keys with dense ids, ``live`` counts, named int64 counters and named blobs (bytes or None), all arrays by id.

    Only keys that were asked for have an id (``ids_of``, ``load_all``); asking for more may replace the arrays.
    ``values``: further columns of any type, one row an id (NULL until ``put``).
    """

    def __init__(
        self, state: ShardState, structure: str, keys: pa.Schema, values: pa.Schema | None = None
    ) -> None:
        self._state, self._structure = state, structure
        self._value_types = {f.name: f.type for f in values or ()}
        self._values: dict[str, pa.Array] = {n: pa.nulls(0, t) for n, t in self._value_types.items()}
        self.keys = pa.RecordBatch.from_arrays([pa.array([], f.type) for f in keys], schema=keys)
        self.live: Ints = np.empty(0, np.int64)
        self.counters: dict[str, Ints] = {}
        self.blobs: dict[str, NDArray[np.object_]] = {}
        self._before: Ints = np.empty(0, np.int64)
        runs = newest_first(state, structure)
        self._runs = [c.load for c in runs]
        if runs and "alive" not in runs[0].meta:
            raise StoreError(
                f"the table {structure} was written by another release, which kept tables otherwise: run that release, "
                "or start the query with a new checkpoint"
            )
        self.alive, self._next = (runs[0].meta["alive"], runs[0].meta["next"]) if runs else (0, 1)
        """Live keys when the table was last saved, also those without an id here."""

    def __len__(self) -> int:
        return len(self.live)

    def blob(self, name: str) -> NDArray[np.object_]:
        """The blobs of that name, None where never set. The array is live."""
        return self.blobs.setdefault(name, np.full(len(self), None, np.object_))

    def counter(self, name: str) -> Ints:
        """The counter of that name, zero where never set. The array is live: kernels write into it."""
        return self.counters.setdefault(name, np.zeros(len(self), np.int64))

    def values(self, ids: Ints) -> dict[str, pa.Array]:
        """The further columns of some ids."""
        index = pa.array(ids)
        return {n: column.take(index) for n, column in self._values.items()}

    def put(self, ids: Ints, columns: Mapping[str, pa.Array]) -> None:
        """Set the further columns of some ids (each at most once). Cost: the ids in use."""
        at = np.arange(len(self))
        at[ids] = len(self) + np.arange(len(ids))
        index = pa.array(at)
        self._values = {n: pa.concat_arrays([c, columns[n]]).take(index) for n, c in self._values.items()}

    def numbers(self) -> Ints:
        """A number for each id that stays with its key while the table remembers it; no other key ever had it unless
        all keys had gone. Numbers of keys that are not saved are given anew."""
        number = self.counter(NUMBER)
        new = np.flatnonzero(number == 0)
        number[new] = self._next + np.arange(len(new))
        self._next += len(new)
        return number

    def ids_of(self, keys: pa.RecordBatch, rows: int) -> Ints:
        """The id of each row's key; unknown keys get zero counts. Without key columns there is one key, always."""
        known = len(self)
        if not self.keys.schema.names:
            if known == 0:
                self.keys = no_columns(1)
                self._grow(1)
                self._look_up(0)
            return np.zeros(rows, np.int64)
        both = concat_keys([self.keys, keys], self.keys.schema)
        ids, count, first = key_ids(both.columns, known + rows)
        if count > known:
            self.keys = both.take(pa.array(first))
            self._grow(count)
            self._look_up(known)
        return ids[known:]

    def load_all(self) -> None:
        """Give every live key an id. Cost: the table."""
        if not self._runs:
            return
        if not self.keys.schema.names:
            self.ids_of(self.keys, 0)
            return
        whole = self._merged([load() for load in reversed(self._runs)], True)
        self._runs = []
        self._state.looked += whole.num_rows
        known = len(self)
        both = concat_keys([self.keys, whole.select(self.keys.schema.names)], self.keys.schema)
        ids, _, first = key_ids(both.columns, both.num_rows)
        self.keys, ids = both.take(pa.array(first)), ids[known:]
        self._grow(len(first))
        new = np.flatnonzero(ids >= known)
        self._fill(whole, new, ids[new])

    def save(self, touched: Ints) -> None:
        """Write the touched keys as a run."""
        if len(touched) == 0:
            return
        self.alive += int((self.live[touched] != 0).sum()) - int((self._before[touched] != 0).sum())
        self._before[touched] = self.live[touched]
        meta = {"alive": self.alive, "next": self._next}
        add_run(self._state, self._structure, self._rows(touched), self._merged, lambda _: meta)

    def _grow(self, count: int) -> None:
        more = count - len(self)
        if more > 0:
            zeros = np.zeros(more, np.int64)
            self.live, self._before = np.append(self.live, zeros), np.append(self._before, zeros)
            self.counters = {n: np.append(a, zeros) for n, a in self.counters.items()}
            self.blobs = {n: np.append(a, np.full(more, None, np.object_)) for n, a in self.blobs.items()}
            none = {n: pa.nulls(more, t) for n, t in self._value_types.items()}
            self._values = {n: pa.concat_arrays([c, none[n]]) for n, c in self._values.items()}

    def _look_up(self, known: int) -> None:
        """Fill in what the runs say of the ids from ``known`` on, each from the newest run that has it."""
        missing = np.arange(known, len(self))
        if not self._runs:
            return
        keys = self.keys.slice(known) if self.keys.schema.names else self.keys
        hashes = hash_columns(keys.columns, len(missing))
        for load in self._runs:
            if len(missing) == 0:
                return
            rows = load()
            self._state.looked += len(missing)
            place = self._places(rows, keys, missing - known, hashes[missing - known])
            found = np.flatnonzero(place >= 0)
            if len(found):
                self._fill(rows, place[found], missing[found])
                missing = missing[place < 0]

    def _places(self, run: pa.RecordBatch, keys: pa.RecordBatch, index: Ints, hashes: Ints) -> Ints:
        """Where the keys of ``index`` are in a run; -1 for those that are not."""
        own = int64s(run, _HASH)
        place = probe(own, _int32s(run, _DIRECTORY), bucket_bits(run.num_rows), hashes)
        if exact([f.type for f in keys.schema]) and all(c.null_count == 0 for c in keys.columns):
            return place
        hit = np.flatnonzero(place >= 0)
        same = self._same(run, place[hit], keys, index[hit])
        for i in hit[~same].tolist():  # another key with this hash
            alike = np.flatnonzero(own == hashes[i])
            equal = self._same(run, alike, keys, np.repeat(index[i : i + 1], len(alike)))
            place[i] = alike[equal][0] if equal.any() else -1
        return place

    def _same(self, run: pa.RecordBatch, place: Ints, keys: pa.RecordBatch, index: Ints) -> NDArray[np.bool_]:
        same = np.ones(len(place), np.bool_)
        for name in keys.schema.names:
            same &= columns_equal(run.column(name).take(pa.array(place)), keys.column(name).take(pa.array(index)))
        return same

    def _fill(self, rows: pa.RecordBatch, place: Ints, ids: Ints) -> None:
        names = {*self.keys.schema.names, *self._values, *_OWN}
        if self._values:
            self.put(ids, {n: rows.column(n).take(pa.array(place)) for n in self._values})
        for field in rows.schema:
            if field.name in names:
                continue
            if pa.types.is_binary(field.type):
                found = np.empty(len(place), np.object_)
                found[:] = rows.column(field.name).take(pa.array(place)).to_pylist()
                self.blob(field.name)[ids] = found
            elif field.name == LIVE:
                self.live[ids] = self._before[ids] = int64s(rows, LIVE)[place]
            else:
                self.counter(field.name)[ids] = int64s(rows, field.name)[place]

    def _rows(self, ids: Ints) -> pa.RecordBatch:
        keys = self.keys.take(pa.array(ids)) if self.keys.schema.names else no_columns(len(ids))
        columns = {n: keys.column(n) for n in keys.schema.names}
        columns[LIVE] = pa.array(self.live[ids])
        columns |= {n: pa.array(values[ids]) for n, values in self.counters.items()}
        columns |= {n: pa.array(blobs[ids].tolist(), pa.binary()) for n, blobs in self.blobs.items()}
        columns |= self.values(ids)
        return _hashed(columns, hash_columns(keys.columns, len(ids)))

    def _merged(self, runs: list[pa.RecordBatch], every: bool) -> pa.RecordBatch:
        """Several runs, oldest first, as one: of each key the newest entry; of ``every`` run, only live keys."""
        names = self.keys.schema.names
        whole = concat_aligned(runs)
        hashes = int64s(whole, _HASH)
        ids, count, _ = key_ids([whole.column(n) for n in names], whole.num_rows, hashes)
        newest = np.empty(count, np.int64)
        newest[ids] = np.arange(whole.num_rows)
        if every:
            newest = newest[int64s(whole, LIVE)[newest] != 0]
        kept = whole.take(pa.array(newest))
        return _hashed({n: kept.column(n) for n in kept.schema.names if n not in _OWN}, hashes[newest])


def _hashed(columns: dict[str, pa.Array], hashes: Ints) -> pa.RecordBatch:
    """Rows in bucket order, with what finds them there."""
    if len(hashes) == 0:
        return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    order, directory = bucket_order(hashes)
    index = pa.array(order)
    made = {n: c.take(index) for n, c in columns.items()}
    made |= {_HASH: pa.array(hashes[order]), _DIRECTORY: pa.array(directory)}
    return pa.RecordBatch.from_arrays(list(made.values()), names=list(made))


def concat_aligned(runs: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Runs as one; counters that a run lacks are zero there, blobs NULL."""
    types = {f.name: f.type for r in runs for f in r.schema}
    parts = [
        pa.RecordBatch.from_arrays([_column(r, n, t) for n, t in types.items()], names=list(types)) for r in runs
    ]
    return pa.Table.from_batches(parts).combine_chunks().to_batches()[0]


def _column(rows: pa.RecordBatch, name: str, type: pa.DataType) -> pa.Array:
    if name in rows.schema.names:
        return rows.column(name)
    if pa.types.is_binary(type):
        return pa.nulls(rows.num_rows, type)
    return pa.array(np.zeros(rows.num_rows, np.int64))


def concat_keys(parts: list[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    """Key columns of several batches, one after the other."""
    table = pa.Table.from_batches(parts, schema).combine_chunks()
    return table.to_batches()[0] if len(table) else parts[0].slice(0, 0)


def _int32s(rows: pa.RecordBatch, name: str) -> NDArray[np.int32]:
    column = rows.column(name)
    return np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + len(column)]
