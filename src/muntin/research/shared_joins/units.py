"""Scheduling units of a shared join as the product does them: what each gives and looks at, and how long it takes.

A unit is one outer row against one slice of the other stream's window. The product's join of two windows does it, by
hash or over a condition that no hash index serves, as a turn of a join that is done slice by slice
(``operators.joins.slices``), up to the columns of its results. Of the rows that came before, the last ``BLOCK`` lie in
chunks of their own. Not in a unit's time: taking rows in, queues, and the router.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch
from muntin.core.errors import InternalError
from muntin.core.time import FOREVER, SECOND
from muntin.dataflow.graph import Graph
from muntin.operators.context import Context
from muntin.operators.joins.graph_join import combinations, layouts_of
from muntin.operators.joins.indexed_window import Layout, OpenChunk, store_rows
from muntin.operators.joins.join_graph import GraphJoin, common_key
from muntin.operators.joins.join_statistics import JoinMonitor
from muntin.operators.joins.pair_join import pair_join
from muntin.operators.joins.slices import Slices
from muntin.operators.joins.window_join import WindowJoin
from muntin.research.shared_joins.product import HASH, LOOPS, plans_of, text
from muntin.research.shared_joins.workload import Access, Arrivals, partners
from muntin.scheduling.slices import slices_of
from muntin.state.shard_state import ShardState

BLOCK = 500

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Units:
    """By new row and slice: results, rows of state looked at, seconds."""

    results: Ints
    looked: Ints
    seconds: NDArray[np.float64]


def units_of(rows: Arrivals, windows: Sequence[float], access: Access) -> Units:
    """Do all units, those of a row one after another; the rows are taken to whole microseconds, none with another."""
    join, new = Join(windows, access), len(rows.times) - rows.first
    shape = new, len(join.slices)
    found = Units(np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape))
    starts = microseconds(rows.times)
    for begin in range(rows.first, len(starts), BLOCK):
        join.hold(rows, starts, begin, begin + BLOCK)
        for outer in range(begin, min(begin + BLOCK, len(starts))):
            stream = int(rows.streams[outer])
            own = join.outer(stream, int(starts[outer]), int(rows.keys[outer]))
            for number in range(len(join.slices)):
                at = outer - rows.first, number
                found.results[at], found.looked[at], found.seconds[at] = join.unit(stream, own, number)
    return found


def checked_units(rows: Arrivals, windows: Sequence[float], access: Access) -> Units:
    """As ``units_of``; raises InternalError if any unit has other results than are counted without a join."""
    found = units_of(rows, windows, access)
    at = replace(rows, times=microseconds(rows.times).astype(np.float64))
    counted = partners(at, [w * SECOND for w in windows])
    if not np.array_equal(found.results, counted):
        raise InternalError(f"{int((found.results != counted).sum())} units have other results than are counted")
    return found


def microseconds(times: NDArray[np.float64]) -> Ints:
    """Ascending seconds as whole microseconds, each greater than the one before."""
    place = np.arange(len(times))
    return np.maximum.accumulate(np.round(times * SECOND).astype(np.int64) - place) + place


@dataclass
class Join:
    """The product's join for queries with ``windows`` (seconds), and what its two windows hold."""

    windows: Sequence[float]
    access: Access
    held: list[list[OpenChunk]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.slices = [(int(a * SECOND), int(b * SECOND)) for a, b in slices_of(self.windows)]
        longest = text(int(max(self.windows)), HASH if self.access == "hash" else LOOPS)
        (plan,) = plans_of([longest], False)
        (op,) = (v.op for v in Graph.of([plan]).vertices if isinstance(v.op, WindowJoin | GraphJoin))
        self.op = replace(op, slices=Slices(tuple(b for _, b in self.slices)))
        self.schemas = [pa.schema([(f"c{2 * i}", pa.int64()), (f"c{2 * i + 1}", pa.int64())]) for i in (0, 1)]
        if isinstance(self.op, WindowJoin):
            self.layouts = [Layout((keys,)) for keys in self.op.keys]
        else:
            self.layouts = layouts_of(self.op, None, None)

    def hold(self, rows: Arrivals, starts: Ints, begin: int, end: int) -> None:
        """Rows before ``begin`` that some window still holds, and beside them those up to ``end``."""
        reach = int(starts[begin]) - self.slices[-1][1]
        self.held, batches = [], []
        for stream in (0, 1):
            old = (rows.streams[:begin] == stream) & (starts[:begin] > reach)
            young = rows.streams[begin:end] == stream
            before, now = np.flatnonzero(old), begin + np.flatnonzero(young)
            parts = [(starts[at], rows.keys[at]) for at in (before, now)]
            batches.append(self._batch(stream, *parts[0]))
            self.held.append([c for part in parts for c in self._chunks(stream, *part)])
        self._measure(batches)

    def outer(self, stream: int, start: int, key: int) -> list[OpenChunk]:
        """One row as the join keeps it."""
        return self._chunks(stream, np.array([start]), np.array([key]))

    def unit(self, stream: int, own: list[OpenChunk], number: int) -> tuple[int, int, float]:
        """(results, rows looked at, seconds) of an outer row of a stream against a slice of the other's window."""
        start = own[0].meta["min_start"]
        apart = None if len(self.slices) == 1 else self.slices[number]
        ctx = Context(start, start + 1, FOREVER, 0, None, None, fifo=(True, True), apart=apart)
        windows = [own, self.held[1]] if stream == 0 else [self.held[0], own]
        self.monitor.state.looked = 0
        began = time.perf_counter()
        if isinstance(self.op, WindowJoin):
            found = pair_join(self.op, windows, self.schemas, ctx, self.monitor)
        else:
            found = combinations(self.op, windows, self.schemas, ctx, self.monitor)
        took = time.perf_counter() - began
        return sum(map(len, found)), self.monitor.state.looked, took

    def _batch(self, stream: int, starts: Ints, keys: Ints) -> Batch:
        columns = pa.RecordBatch.from_arrays([pa.array(keys), pa.array(keys)], schema=self.schemas[stream])
        return Batch(columns, starts, starts + self.slices[-1][1])

    def _chunks(self, stream: int, starts: Ints, keys: Ints) -> list[OpenChunk]:
        state = ShardState()
        store_rows(state, "in", self._batch(stream, starts, keys), self.layouts[stream])
        return [OpenChunk(c) for c in state.list("in")]

    def _measure(self, batches: list[Batch]) -> None:
        """What the join knows of its inputs, as after a step that took these rows in."""
        if isinstance(self.op, WindowJoin):
            names = tuple(tuple(s.names) for s in self.schemas)
            self.monitor = JoinMonitor(common_key(self.op.keys, names), ShardState(), once=True)
        else:
            self.monitor = JoinMonitor(self.op, ShardState())
        self.monitor.arrived(batches, [len(b) for b in batches])
