"""What the product counts of the workload's queries: its synopsis runs them, and its meter says what that took.

The queries are ``FREQUENT(key, 10)`` over windows of one stream. The product answers them from frequency counts by pane
of a second, the document's basic interval synopsis. Queries that run together are the windows of one operator
(``operators.synopsis``): it goes through the counts of the longest window once, from the youngest on, and for each
window through the few values that are then among the most frequent. Work is ``engine.meter.Counter.work``: rows taken
in and given out, and what was looked at.

Asking it for each of the schedules' runs (some 100,000 of up to 30 ms) would take hours. So it is asked once by shape,
in between on straight lines: for the longest window and one more, and for one window, the latter as the mean of
``PHASES`` updates in a row, since small chunks of panes are merged by eights and a run looks at whole ones. Of more
windows each adds what it adds to the longest alone; a test holds that to runs of many windows, within 2 %.

On the wall clock the same runs are timed, the least of ``REPEATS``, and seconds take the place of operations.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch, forever
from muntin.core.schema import Schema
from muntin.core.time import SECOND
from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_queries
from muntin.dataflow.sharing.rules import shared_graph
from muntin.engine.meter import Counter, Meter
from muntin.operators.context import Context
from muntin.operators.synopsis import Synopsis, Window
from muntin.plan.catalog import Catalog, Stream
from muntin.research.harness import Clock
from muntin.research.periodic.load import (
    GROUPS,
    LONGEST,
    LOW,
    SHORTEST,
    VALUES,
    Counters,
    Floats,
    draw,
    keys_of,
)
from muntin.state.pane_partials import TIER
from muntin.state.shard_state import ShardState

TOP = 10
"""Values that a query shows."""

ALONE, BESIDE = (20, 100), (20, 30, 45, 60, 80, 100)
"""Windows that are measured, in seconds: alone, and beside the longest. What one goes through grows with its length;
the number of its values does so ever more slowly."""

PHASES = TIER

REPEATS = 3

CATALOG = Catalog((Stream("packets", Schema.of(ts=pa.int64(), key=pa.int64()), "ts", ts_unit=SECOND),))


def planned() -> Synopsis:
    """The operator that the product makes of two of the queries."""
    text = "SELECT FREQUENT(key, {k}) AS best FROM packets [RANGE {n} SECONDS SLIDE 1 SECOND]"
    graph = shared_graph(plan_queries([bind(text.format(k=TOP, n=n), CATALOG) for n in (SHORTEST, LONGEST)]))
    (found,) = (v.op for v in graph.vertices if isinstance(v.op, Synopsis))
    return found


@dataclass
class Product:
    """The synopsis of a group after so many ``updates``, one a second."""

    op: Synopsis
    state: ShardState
    updates: int = 0

    @staticmethod
    def empty() -> Product:
        """Before the first update."""
        return Product(planned(), ShardState(heads={"first": 0}))

    @property
    def at(self) -> int:
        """The time of the last update."""
        return self.updates * SECOND

    def update(self, keys: NDArray[np.int64]) -> Counter:
        """Take in the packets of a second without answering; what that took."""
        self.updates += 1
        until = self.at + 1
        rows = self._rows(keys)
        shown = dict.fromkeys(range(len(self.op.windows)), until)
        ctx = Context(self.at, until, self.at, 0, None, None, shown_of=shown)
        began = time.perf_counter()
        found = self.op.step([rows], self.state, ctx)
        return self._counted(len(rows), found, began)

    def run(self, windows: Sequence[int]) -> tuple[Counter, Batch]:
        """(what answering windows of so many seconds together took, their answers)."""
        asked = tuple(Window("", 0, n * SECOND, SECOND, 0, (0,)) for n in windows)
        ctx = Context(self.at, self.at + 1, self.at, 0, None, None)
        op, nothing = replace(self.op, windows=asked), self._rows(np.empty(0, np.int64))
        began = time.perf_counter()
        found = op.current([nothing], self.state, self.at, ctx)
        return self._counted(0, found, began), found

    def _rows(self, keys: NDArray[np.int64]) -> Batch:
        columns = pa.RecordBatch.from_arrays([pa.array(keys)], names=[self.op.arguments[0].column])
        return Batch(columns, np.full(len(keys), self.at), forever(len(keys)))

    def _counted(self, rows: int, out: Batch, began: float) -> Counter:
        return Meter().passed(0, rows, out, self.state, time.perf_counter() - began)


@cache
def counted(rate: int, updates: int, clock: Clock = "virtual") -> Mapping[str, Counters]:
    """As ``load.counters``, measured; once for groups with as many values each (of source and of destination, say)."""
    packets, more = draw(rate, LONGEST + PHASES), rate // LOW
    kinds = {group: tuple(VALUES[n] for n in names) for group, names in GROUPS.items()}
    one = {kind: GROUPS[group] for group, kind in kinds.items()}
    found = {kind: _measured(keys_of(packets, names, more)[0], updates, clock) for kind, names in one.items()}
    return {group: found[kind] for group, kind in kinds.items()}


def _measured(keys: NDArray[np.int64], updates: int, clock: Clock) -> Counters:
    product = Product.empty()
    for k in keys[:LONGEST]:
        product.update(k)
    whole = _run(product, (LONGEST,), clock)
    own = _lines(BESIDE, [max(0.0, _run(product, (LONGEST, n), clock) - whole) for n in BESIDE])
    taken, alone = [], []
    for k in keys[LONGEST:]:
        taken.append(_of(product.update(k), clock))
        alone.append([max(0.0, _run(product, (n,), clock) - own[n]) for n in ALONE])
    scan = _lines(ALONE, np.mean(alone, axis=0))
    every = (updates + 1, 1)
    return Counters(np.tile(scan, every), np.tile(own, every), float(np.mean(taken)))


def _run(product: Product, windows: Sequence[int], clock: Clock) -> float:
    if clock == "virtual":
        return float(product.run(windows)[0].work)
    return min(product.run(windows)[0].seconds for _ in range(REPEATS))


def _of(took: Counter, clock: Clock) -> float:
    return float(took.work) if clock == "virtual" else took.seconds


def _lines(lengths: Sequence[int], values: Sequence[float] | Floats) -> Floats:
    """By length from 0 on."""
    return np.interp(np.arange(LONGEST + 1), [0, *lengths], [0, *values])
