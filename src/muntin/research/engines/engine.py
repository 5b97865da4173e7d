"""Engines: how results leave (negative tuples or expiry times) and what holds them; and running one over a trace."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from muntin.research.engines.workload import Trace
from muntin.research.kernels import strategies as k
from muntin.research.kernels.strategies_distinct import counters, delta_star, naive_delta
from muntin.research.kernels.strategies_join import join_query
from muntin.research.kernels.strategies_negation import except_query, negation_down, negation_up

Ints = NDArray[np.int64]

PARTITIONS = 10
"""Partitions of calendar queues and hash tables unless said (thesis 3.6.1)."""


@dataclass(frozen=True)
class Engine:
    """``negative``: windows announce expiry by negative tuples. ``kind``, ``parts``: what holds the results.

    ``star``: DISTINCT as delta*; ``down``: Query 4 with the negation pushed down (the join pulled up).
    """

    name: str
    negative: bool
    kind: int
    parts: int = PARTITIONS
    star: bool = False
    down: bool = False


NT = Engine("NT", True, k.HASH)
DIRECT = Engine("DIRECT", False, k.LIST)
UPA = Engine("UPA", False, k.CALENDAR, star=True)
UPA50 = replace(UPA, name="UPA(50)", parts=50)


@dataclass(frozen=True)
class Measure:
    """Per 1,000 tuples after the windows have filled: ``work`` (tuple accesses) and ``seconds`` of processor time.

    ``stored``: tuples held, on average; ``peak``: most results held; ``results``: results per tuple; ``premature``:
    the share of
    results that left early; ``log``: (rows, sum of hashes) of the answer at every instant; ``worst``: state over
    output in percent (delta*).
    """

    engine: Engine
    window: int
    work: float
    seconds: float
    stored: float
    peak: int
    results: float
    premature: float
    log: NDArray[np.int64]
    worst: int = 0


class Run:
    """One engine on one query: ``step(start, stop)`` processes tuples; ``w``, ``answer``, ``logs`` as in the
    kernels."""

    def __init__(self, instants: int) -> None:
        self.w = np.zeros(10, np.int64)
        self.answer = np.zeros(2, np.int64)
        self.clock = np.array([-1, -1, 0, 0, 0], np.int64)
        self.logs = np.zeros((instants + 1, 2), np.int64)
        self.worst = 0
        self.step: Callable[[int, int], None] = lambda start, stop: None


Query = Callable[[Trace, int, Engine, int], Run]
"""(trace, window, engine, room of each store) -> a run that is ready to go."""


def join_of(protocol: int) -> Query:
    """Query 1: links 0 and 1 joined on the source, both with this protocol."""

    def start(trace: Trace, window: int, engine: Engine, room: int) -> Run:
        run = _fresh(trace)
        events = np.stack([trace.ts, trace.link, trace.source, (trace.protocol == protocol).astype(np.int64)])
        sides = k.new_store(k.HASH, PARTITIONS, room), k.new_store(k.HASH, PARTITIONS, room)
        view = k.new_store(engine.kind, engine.parts, room, window)
        lazy = max(1, window // 20)
        run.step = lambda a, b: join_query(
            events, a, b, window, lazy, engine.negative, *sides, view, run.answer, run.clock, run.logs, run.w
        )
        return run

    return start


def distinct_of(column: str) -> Query:
    """Query 2: the distinct ``column`` ("source" or "pair") of one link. NT and DIRECT run delta, UPA delta*."""

    def start(trace: Trace, window: int, engine: Engine, room: int) -> Run:
        events = np.stack([trace.ts, trace.ts + window, getattr(trace, column)])
        return distinct_run(events, window, engine, room)

    return start


def distinct_run(events: Ints, window: int, engine: Engine, room: int, youngest: bool = False) -> Run:
    """Query 2 over tuples (ts, exp, value). ``youngest``: delta* as the thesis prints it."""
    run = Run(len(np.unique(events[0])))
    rest, index = k.new_store(k.HASH, PARTITIONS, room), k.new_store(k.HASH, PARTITIONS, room)
    order = k.new_store(k.LIST if engine.kind == k.HASH else engine.kind, engine.parts, room, window)

    def star(a: int, b: int) -> None:
        found = delta_star(events, a, b, youngest, rest, order, index, run.answer, run.clock, run.logs, run.w)
        run.worst = max(run.worst, found)

    def naive(a: int, b: int) -> None:
        naive_delta(events, a, b, engine.negative, rest, order, index, run.answer, run.clock, run.logs, run.w)

    run.step = star if engine.star else naive
    return run


def counters_run(events: Ints) -> Run:
    """Query 2 by counters (the strict form of DISTINCT) over tuples (ts, exp, value)."""
    run = Run(len(np.unique(events[0])))
    counts = np.zeros(int(events[2].max()) + 1, np.int64)
    run.step = lambda a, b: counters(events, a, b, counts, run.answer, run.clock, run.logs, run.w)
    return run


def negation(trace: Trace, window: int, engine: Engine, room: int) -> Run:
    """Query 3: link 0 minus link 1 on the source (EXCEPT ALL)."""
    run = _fresh(trace)
    events = np.stack([trace.ts, trace.link, trace.source])
    rows = np.full((3, len(trace)), -1, np.int64)
    rows[2] = 0
    values = np.zeros((5, int(trace.source.max()) + 1), np.int64)
    values[:2] = -1
    view = k.new_store(engine.kind, engine.parts, room, window, bag=True)
    run.step = lambda a, b: except_query(
        events, a, b, window, engine.negative, rows, values, view, run.answer, run.clock, run.logs, run.w
    )
    return run


def negation_and_join(trace: Trace, window: int, engine: Engine, room: int) -> Run:
    """Query 4: link 0 joined with the ftp tuples of link 1 on the source, unless link 2 has that source (NOT
    EXISTS)."""
    run = _fresh(trace)
    kept = (trace.link != 1) | (trace.protocol == 1)
    events = np.stack([trace.ts, trace.link, trace.source, kept.astype(np.int64)])
    values = int(trace.source.max()) + 1
    left, right = k.new_store(k.HASH, PARTITIONS, room), k.new_store(k.HASH, PARTITIONS, room)
    group = k.new_store(k.GROUP, values, room)
    view = k.new_store(k.HASH, engine.parts if engine.negative else PARTITIONS, room)
    mute = np.zeros(values, np.int64)
    lazy = max(1, window // 20)
    tail = (mute, view, run.answer, run.clock, run.logs, run.w)
    if engine.down:
        run.step = lambda a, b: negation_down(events, a, b, window, group, left, right, *tail)
    else:
        order = k.new_store(k.CALENDAR, engine.parts, room, window)
        run.step = lambda a, b: negation_up(
            events, a, b, window, lazy, engine.negative, left, right, group, order, *tail
        )
    return run


def measure(query: Query, trace: Trace, window: int, engine: Engine, repeats: int = 1) -> Measure:
    """Run the whole trace; count what comes after the windows have filled. ``seconds``: the least of the repeats."""
    full = int(np.searchsorted(trace.ts, trace.ts[0] + window))
    room, best, done = 1 << 12, float("inf"), 0
    while done < repeats:
        run = query(trace, window, engine, room)
        try:
            run.step(0, full)
            before = run.w.copy()
            began = time.process_time()
            run.step(full, len(trace))
            best = min(best, time.process_time() - began)
        except OverflowError:
            room *= 4
            continue
        done += 1
    return _measured(run, engine, window, before, best, len(trace) - full)


def _measured(run: Run, engine: Engine, window: int, before: Ints, seconds: float, tuples: int) -> Measure:
    run.logs[run.clock[1]] = run.answer
    spent = run.w - before
    results = int(spent[k.RESULTS])
    return Measure(
        engine,
        window,
        1000 * float(spent[: k.PREMATURE].sum()) / tuples,
        1000 * seconds / tuples,
        float(spent[k.STORED]) / max(1, int(spent[k.STEPS])),
        int(run.w[k.PEAK]),
        results / tuples,
        float(spent[k.PREMATURE]) / max(1, results),
        run.logs[: run.clock[1] + 1],
        run.worst,
    )


def _fresh(trace: Trace) -> Run:
    return Run(len(np.unique(trace.ts)))
