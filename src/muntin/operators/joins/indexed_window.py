"""A window as chunks that can be entered: rows in bucket order of their first hash index, further indexes beside them.

Everything that a probe needs is stored with the chunk, so a batch opens what it probes and rebuilds nothing. A further
hash index costs 28 bytes a row (hash, start, expiry, row number, directory), a sorted column 12.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from muntin.core.batch import Batch
from muntin.core.time import FOREVER
from muntin.kernels.gathering import reordered
from muntin.kernels.hashing import hash_columns
from muntin.kernels.index import bucket_order
from muntin.operators.context import Context
from muntin.state.shard_state import Chunk, ShardState
from muntin.state.window_rows import (
    EXP,
    START,
    WEIGHT,
    bounds,
    cancel,
    expire,
    int64s,
    merge_closed,
    scan_out,
    timed,
    trim,
)

HASH, DIRECTORY, SORTED = "__h", "__dir", "__v"

TIMES_BYTES = 16
"""Of start and expiry, for each row."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Side = tuple[Ints, Ints, Ints]
"""Hash, start and expiry of rows."""


@dataclass(frozen=True)
class Layout:
    """What a window's rows are indexed by: columns of each hash index (the first orders the rows), sorted columns.

    None: an index that is left out (its number stays with it)."""

    indexes: tuple[tuple[str, ...] | None, ...]
    bands: tuple[str, ...] = ()


class OpenChunk:
    """A chunk of a window, opened when first probed."""

    def __init__(self, chunk: Chunk) -> None:
        self.meta = chunk.meta
        self._chunk = chunk
        self._rows: pa.RecordBatch | None = None
        self._by_time: tuple[NDArray[np.int32], Ints, Ints] | None = None

    @property
    def rows(self) -> pa.RecordBatch:
        """All rows of the chunk, loaded when they are first asked for."""
        if self._rows is None:
            self._rows = self._chunk.load()
        return self._rows

    def probe_side(self, index: int = 0) -> Side:
        """Hash, start and expiry in the order of an index."""
        x = _suffix(index)
        return int64s(self.rows, HASH + x), int64s(self.rows, START + x), int64s(self.rows, EXP + x)

    @property
    def indexes(self) -> list[int]:
        """The numbers of the hash indexes that it was stored with."""
        found = (n.removeprefix(HASH) for n in self.rows.schema.names if n.startswith(HASH))
        return [int(x) if x else 0 for x in found if not x or x.isdigit()]

    def has(self, index: int) -> bool:
        """Whether the chunk was stored with an index."""
        return HASH + _suffix(index) in self.rows.schema.names

    def directory(self, index: int = 0) -> NDArray[np.int32]:
        """Where each bucket of an index begins."""
        return _int32s(self.rows, DIRECTORY + _suffix(index))

    def row_numbers(self, index: int, found: NDArray[np.integer]) -> Ints:
        """Rows of the chunk at positions of an index."""
        rows = found if index == 0 else _int32s(self.rows, f"__row{index}")[found]
        return rows.astype(np.int64)

    def sorted_column(self, number: int) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """A sorted column's values in order, and their rows."""
        values = self.rows.column(f"{SORTED}{number}")
        plain = np.frombuffer(values.buffers()[1], np.float64)[values.offset : values.offset + len(values)]
        return plain, _int32s(self.rows, f"__at{number}")

    def times(self) -> tuple[Ints, Ints]:
        """Start and expiry, by row."""
        return int64s(self.rows, START), int64s(self.rows, EXP)

    def in_band(
        self, number: int, limits: tuple[Floats, Floats], since: Ints, before: Ints
    ) -> tuple[tuple[Ints, Ints], NDArray[np.int32]]:
        """((low, high), order): for each interval and limits of a sorted column the places [low, high) in an order of
        the rows outside of which none is within both, by value or by time, whichever leaves fewer."""
        (low, high), (values, rows) = limits, self.sorted_column(number)
        lo = np.searchsorted(values, low, side="left").astype(np.int64)
        hi = np.where(np.isinf(high), len(values), np.searchsorted(values, high, side="right")).astype(np.int64)
        first, last, order = self.by_time(since, before)
        hi = np.where(first < last, np.maximum(lo, hi), lo)
        if int((last - first).sum()) < int((hi - lo).sum()):
            return (first, last), order
        return (lo, hi), rows

    def by_time(self, since: Ints, before: Ints) -> tuple[Ints, Ints, NDArray[np.int32]]:
        """(low, high, order): for each interval the places [low, high) in the order of start outside of which no row
        meets it."""
        if self._by_time is None:
            start, exp = self.times()
            by_start = np.argsort(start, kind="stable")
            self._by_time = by_start.astype(np.int32), start[by_start], np.maximum.accumulate(exp[by_start])
        order, starts, last = self._by_time
        low = np.searchsorted(last, since, side="right")
        return low, np.maximum(np.searchsorted(starts, before, side="left"), low), order

    def starting(self, ctx: Context) -> NDArray[np.bool_] | None:
        """Which rows start in this step; None if none does."""
        if self.meta["max_start"] < ctx.low or self.meta["min_start"] >= ctx.high:
            return None
        mask = ctx.within(int64s(self.rows, START))
        return mask if mask.any() else None


def store_rows(state: ShardState, structure: str, batch: Batch, layout: Layout, pane: int | None = None) -> None:
    """Append rows as a chunk, indexed as the layout says; as one of each ``pane`` (microseconds of start), if given."""
    if len(batch) == 0:
        return
    if pane is not None:
        numbers = batch.ts // pane
        for number in np.unique(numbers):
            store_rows(state, structure, batch.where(numbers == number), layout)
        return
    rows = timed(batch.columns, batch.ts, batch.exp)
    if batch.sign is not None:
        rows = rows.append_column(WEIGHT, pa.array(batch.sign))
    rows = _indexed(_in_order(rows), layout)
    state.append(structure, rows, level=0, **bounds(rows))


def let_go(state: ShardState, structure: str, batch: Batch, layout: Layout, ctx: Context) -> None:
    """At the end of a step: drop chunks whose rows have all expired before its end (one-time queries read those that
    were valid at its last instant), merge those of closed panes. ``batch``: the window's rows of this step. Under
    strategy "direct" all rows are looked at for expired ones."""
    rebuild = rebuilder(layout, batch.columns.schema.names)
    expire(state, structure, ctx.high, keep_forever=True)
    if ctx.scan and ctx.high < FOREVER:
        scan_out(state, structure, ctx.high + 1, rebuild)
    elif batch.sign is None and ctx.high < FOREVER:
        trim(state, structure, ctx.high, rebuild)
    pane = ctx.pane if batch.sign is None else None  # what a negative tuple cancels may stand in any older chunk
    merge_closed(state, structure, ctx.high, pane, rebuild=rebuild)


def repack(state: ShardState, structure: str, layout: Layout, names: list[str]) -> None:
    """Store anew the chunks that have an index which the layout leaves out."""
    left_out = [n for n, columns in enumerate(layout.indexes) if columns is None]
    rebuild = rebuilder(layout, names)
    for chunk in list(state.list(structure)):
        if any(OpenChunk(chunk).has(n) for n in left_out):
            meta = {k: v for k, v in chunk.meta.items() if k not in ("n", "bytes")}
            state.replace(structure, [chunk], rebuild(chunk.load()), **meta)


def rebuilder(layout: Layout, names: list[str]) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """How rows of several chunks become one chunk, without what negative tuples took away; ``names``: the operator's
    own columns."""

    def rebuild(rows: pa.RecordBatch) -> pa.RecordBatch:
        signed = WEIGHT in rows.schema.names
        plain = rows.select([*names, START, EXP, *([WEIGHT] if signed else [])])
        if signed:
            plain = cancel(plain, WEIGHT)
            if plain.num_rows == 0:
                return plain
        return _indexed(_in_order(plain), layout)

    return rebuild


def _in_order(rows: pa.RecordBatch) -> pa.RecordBatch:
    """The rows by start, and those that start together by expiry: rows of several event times may start at one tick
    and leave at different ones."""
    start, exp = int64s(rows, START), int64s(rows, EXP)
    later = start[1:] > start[:-1]
    if (later | ((start[1:] == start[:-1]) & (exp[1:] >= exp[:-1]))).all():
        return rows
    return reordered(rows, np.lexsort((exp, start)))


def _indexed(rows: pa.RecordBatch, layout: Layout) -> pa.RecordBatch:
    """Rows in order (``_in_order``), put in bucket order of the first index, with all indexes added."""
    n = rows.num_rows
    extra: dict[str, pa.Array] = {}
    for number, columns in enumerate(layout.indexes):
        if columns is None:
            continue
        h = hash_columns([rows.column(c) for c in columns], n)
        x = _suffix(number)
        if number == 0:
            order, directory = bucket_order(h)
            rows = reordered(rows, order)
        else:  # the rows stand in bucket order of the first by now
            start, exp = int64s(rows, START), int64s(rows, EXP)
            order, directory = _by_time(h, start, exp)
            extra |= {START + x: pa.array(start[order]), EXP + x: pa.array(exp[order])}
            extra |= {f"__row{number}": pa.array(order.astype(np.int32))}
        extra |= {HASH + x: pa.array(h[order]), DIRECTORY + x: pa.array(directory)}
    for number, name in enumerate(layout.bands):
        values = as_float(rows.column(name))
        order = np.argsort(values, kind="stable")
        extra |= {f"{SORTED}{number}": pa.array(values[order]), f"__at{number}": pa.array(order.astype(np.int32))}
    return pa.RecordBatch.from_arrays([*rows.columns, *extra.values()], names=[*rows.schema.names, *extra])


def _by_time(h: Ints, start: Ints, exp: Ints) -> tuple[Ints, NDArray[np.int32]]:
    """Bucket order of rows that are not in order: inside a bucket they ascend by start and expiry all the same."""
    by_time = np.lexsort((exp, start))
    order, directory = bucket_order(h[by_time])
    return by_time[order], directory


def as_float(column: pa.Array) -> NDArray[np.float64]:
    """Numbers and times as float64 in their order; NULL, like NaN, after all others."""
    kind = column.type
    if pa.types.is_temporal(kind):
        column = column.cast(pa.int64()) if kind.bit_width == 64 else column.cast(pa.int32())
    plain = pc.cast(column, pa.float64(), safe=False)
    return np.asarray(pc.fill_null(plain, float("nan")).to_numpy(zero_copy_only=False), np.float64)


def _suffix(index: int) -> str:
    return "" if index == 0 else str(index)


def _int32s(rows: pa.RecordBatch, name: str) -> NDArray[np.int32]:
    column = rows.column(name)
    return np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + len(column)]
