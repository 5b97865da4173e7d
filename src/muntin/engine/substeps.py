"""A step taken in several, each up to a later instant, where its output would have no room at once.

Answers do not depend on how time is cut into steps, so an operator that would give more rows than a step may says up
to where they fit (``operators.context.Cut``); the step is then done again from the state before it, only so far, and
goes on from there. What a cut throws away costs no more than what the steps around it give: a substep reaches at most
twice as far as the one before, less where what that one gave says that it would not fit, and only rows of its own time
are handed to it.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from muntin.core.batch import Batch
from muntin.core.errors import BudgetError
from muntin.dataflow.graph import Graph
from muntin.dataflow.routes import Route
from muntin.engine.clocks import Times
from muntin.engine.deferral import lowest
from muntin.engine.level import Arrived, LevelOutput, States, run_level
from muntin.engine.meter import Meter
from muntin.engine.rows import TS
from muntin.engine.valve import Valve
from muntin.kernels.hashing import buffer_values
from muntin.operators.context import Cut

MOST = 1 << 20
"""Rows that one operator may give in a step that can be cut: what a step costs beside its rows is then little."""

MOST_WIDE = 1 << 19
"""The same where rows take more than ``NARROW`` bytes."""

NARROW = 96
"""Bytes of a row and its times: so many times ``MOST`` are 100 MB."""

FILL = 0.75
"""Which part of that a substep aims at, going by what the one before gave."""


def substeps(
    graph: Graph,
    level: int,
    shard: int,
    shards: int,
    states: States,
    arrived: Arrived,
    times: Times,
    meter: Meter | None = None,
    most: int | None = None,
    valve: Valve | None = None,
) -> Iterator[LevelOutput]:
    """As ``engine.level.run_level``, in one substep or several, in the order of time.

    No operator gives more than ``most`` rows (``MOST``, ``MOST_WIDE``) in a substep, except at an instant at which
    there are more.
    """
    most = most or (MOST if graph.row_bytes[level] <= NARROW else min(MOST, MOST_WIDE))
    here = [s for v, s in states.items() if graph.levels[v] == level]
    low, end = lowest(times, here), max(times.watermarks)
    waiting = Waiting(arrived)
    reach = waiting.reach(low, end, most)
    while True:
        own = {v: s for v, s in states.items() if graph.levels[v] == level}
        before = {v: ({n: list(c) for n, c in s.chunks.items()}, pickle.dumps(s.heads)) for v, s in own.items()}
        now = waiting.until(reach) if reach < end else waiting.all()
        try:
            part = _between(times, low, reach)
            output = run_level(graph, level, shard, shards, states, now, part, meter, most, valve)
        except Cut as cut:
            assert low < cut.at < reach, (low, cut.at, reach)
            for v, (chunks, heads) in before.items():
                states[v].chunks, states[v].heads = chunks, pickle.loads(heads)
            reach = cut.at
            continue
        except MemoryError as e:
            raise BudgetError(
                f"memory ran out while a step was taken ({e}): more rows meet at one instant than there is room for. "
                "Take shorter windows or a stricter condition, or aggregate each stream in a sub-query"
            ) from e
        yield output
        if reach >= end:
            return
        waiting.gone(reach)
        growth = _growth(output, most)
        taken = sum(rows.num_rows for rows in now.values())
        far = min(end, reach + int((reach - low) * growth))
        low, reach = reach, waiting.reach(reach, far, min(most, max(1, int(taken * growth))) if taken else most)


def _growth(output: LevelOutput, most: int) -> float:
    """How much larger than this substep the next one may be, in time and rows, by the most that an operator gave."""
    given = max((len(rows) for rows in output.rows.values()), default=0)
    return 2.0 if given == 0 else min(2.0, max(1.0, FILL * most / given))


class Waiting:
    """Rows that arrived, from which substeps take those of their own time. Cost: one sort by time, if there is more
    than one substep."""

    def __init__(self, arrived: Arrived) -> None:
        self._rows = dict(arrived)
        self._times = {key: buffer_values(rows.column(TS), np.int64) for key, rows in arrived.items()}
        self._sorted = False

    def all(self) -> Arrived:
        """All that is left."""
        return self._rows

    def until(self, reach: int) -> Arrived:
        """The rows before ``reach`` in event time."""
        self._sort()
        return {key: rows.slice(0, self._before(key, reach)) for key, rows in self._rows.items()}

    def gone(self, reach: int) -> None:
        """The rows before ``reach`` were taken."""
        self._sort()
        for key in self._rows:
            taken = self._before(key, reach)
            self._rows[key], self._times[key] = self._rows[key].slice(taken), self._times[key][taken:]

    def reach(self, low: int, far: int, most: int) -> int:
        """How far ``most`` of the rows reach beyond ``low``, at most ``far``."""
        if sum(map(len, self._times.values())) <= most:
            return far
        self._sort()
        if self._number(far) <= most:
            return far
        first, last = low, far
        while last - first > 1:
            middle = (first + last) // 2
            first, last = (middle, last) if self._number(middle) <= most else (first, middle)
        return first if first > low else far

    def _number(self, reach: int) -> int:
        """How many rows come before ``reach``."""
        return sum(self._before(key, reach) for key in self._rows)

    def _before(self, key: tuple[int, Route], reach: int) -> int:
        return int(np.searchsorted(self._times[key], reach))

    def _sort(self) -> None:
        """Rows of one time stay in the order in which they arrived."""
        if self._sorted:
            return
        for key, times in self._times.items():
            if not (times[1:] >= times[:-1]).all():
                order = np.argsort(times, kind="stable")
                self._rows[key], self._times[key] = self._rows[key].take(pa.array(order)), times[order]
        self._sorted = True


def whole_step(
    graph: Graph,
    level: int,
    shard: int,
    shards: int,
    states: States,
    arrived: Arrived,
    times: Times,
    meter: Meter | None = None,
    valve: Valve | None = None,
) -> LevelOutput:
    """The output of all substeps of a step together, of the vertices whose rows leave the level: only what is between
    its operators is bounded."""
    parts = list(substeps(graph, level, shard, shards, states, arrived, times, meter, valve=valve))
    if len(parts) == 1:
        return parts[0]
    leaving = {*graph.roots, *(c.vertex for c in graph.channels)}
    rows = {v: Batch.concat([p.rows[v] for p in parts]) for v in parts[0].rows if v in leaving}
    bad: Counter[tuple[int, str]] = Counter()
    for vertex, table, number in (b for p in parts for b in p.bad_updates):
        bad[vertex, table] += number
    shed, harvested = [x for p in parts for x in p.shed], [x for p in parts for x in p.harvested]
    return LevelOutput(rows, [(v, t, n) for (v, t), n in bad.items()], shed, harvested)


def _between(times: Times, low: int, reach: int) -> Times:
    """The part of a step's times from ``low`` to ``reach``."""
    befores = tuple(min(max(b, low), w) for b, w in zip(times.befores, times.watermarks, strict=True))
    marks = tuple(max(b, min(w, reach)) for b, w in zip(befores, times.watermarks, strict=True))
    return replace(times, befores=befores, watermarks=marks, reach=reach)
