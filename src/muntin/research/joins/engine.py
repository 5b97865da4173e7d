"""Running a strategy over a merged input: its results, what was counted, and the time it took."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from muntin.core.time import FOREVER
from muntin.research.joins.setting import Join, Strategy
from muntin.research.joins.tables import grouping, orders_table, windows_table
from muntin.research.kernels import multiway as k
from muntin.research.kernels.multiway_batch import batched
from muntin.research.kernels.multiway_eager import eager
from muntin.research.kernels.multiway_lazy import lazy

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Merged:
    """Rows of all streams in time order, times not negative; at equal times by stream, and negative tuples last.

    ts, stream: int64[N]. values: int64[attributes, N]. exp: int64[N], the last instant at which a row joins: ts + T for
    a window that holds k.ts - T <= ts <= k.ts. partner: int64[N], -1, or the row that a negative tuple undoes.
    """

    ts: Ints
    stream: Ints
    values: Ints
    exp: Ints
    partner: Ints

    def __len__(self) -> int:
        return len(self.ts)

    def with_windows(self, spans: tuple[int, ...]) -> Merged:
        """The same rows with time windows of these lengths."""
        return Merged(self.ts, self.stream, self.values, self.ts + np.array(spans)[self.stream], self.partner)


def merged(ts: Ints, stream: Ints, values: Ints, exp: Ints | None = None, partner: Ints | None = None) -> Merged:
    """An input; without ``exp`` rows do not expire by time. ``values``: one attribute or several."""
    none = np.full(len(ts), -1, np.int64)
    return Merged(
        ts,
        stream,
        np.ascontiguousarray(np.atleast_2d(values)),
        np.full(len(ts), FOREVER, np.int64) if exp is None else exp,
        none if partner is None else partner,
    )


@dataclass(frozen=True)
class Counts:
    """What a run did; see ``kernels.multiway`` for what each one counts. ``held``, ``peak``: rows of state, at the end
    and at most; ``spent``: ``looked`` by the stream of the new tuples."""

    comparisons: int
    looked: int
    scanned: int
    times: int
    chains: int
    ages: int
    searched: int
    deletions: int
    inserts: int
    results: int
    held: int
    peak: int
    spent: tuple[int, ...]

    @property
    def expiry(self) -> int:
        """Accesses for expiry: chains visited, and tuples looked at in them."""
        return self.chains + self.ages

    @property
    def accesses(self) -> int:
        """All accesses, each as 1: tuples looked at in loops, expiry, searches, inserts and results.

        A comparison of times needs no access of its own: the tuple is there. The thesis' engines count in this unit.
        """
        return self.looked + self.scanned + self.expiry + self.searched + self.inserts + self.results

    @property
    def operations(self) -> int:
        """Accesses and comparisons of times, each as 1: Golab & Ozsu (2003), 4.2, count operations on attributes, of
        which the timestamp is one."""
        return self.accesses + self.times


@dataclass(frozen=True)
class Run:
    """``counts`` and ``seconds`` of processor time of the rows after the warm-up; ``tuples``: their number.

    rows: int64[results, n], a row number per stream, of all results from the start if they were kept; sign: int64, 1 or
    -1; when: int64, the instant at which a result was reported.
    """

    counts: Counts
    seconds: float
    tuples: int
    rows: Ints
    sign: Ints
    when: Ints

    def found(self) -> list[tuple[int, ...]]:
        """The results as sorted tuples of row numbers."""
        return sorted(tuple(int(i) for i in row) for row in self.rows)


def new_state(join: Join, given: Merged, strategy: Strategy, room: int = 0) -> k.State:
    """A run that has not begun; with ``room`` for results to keep.

    Raises:
        ConfigError: the strategy does not suit the join.
    """
    strategy.check(join)
    size, n = len(given), join.width
    real = given.partner < 0  # negative tuples do not count as rows of a stream
    where = [np.flatnonzero(real & (given.stream == s)) for s in range(n)]
    cells = np.full((size, k.VALUE + len(given.values)), -1, np.int64)
    cells[:, [k.TS, k.STREAM]] = np.stack([given.ts, given.stream], axis=1)
    cells[:, [k.PARTNER, k.UNTIL]] = np.stack([given.partner, given.exp], axis=1)
    cells[:, k.VALUE :] = given.values.T
    cells[:, k.FOLLOW] = size
    for rows in where:
        cells[rows, k.NUMBER] = np.arange(1, len(rows) + 1)
        cells[rows[:-1], k.FOLLOW] = rows[1:]
    wins = windows_table(join, strategy)
    wins[:, k.START] = np.cumsum([0, *(len(r) for r in where[:-1])])
    return k.State(
        cells=cells,
        wins=wins,
        orders=orders_table(join, strategy),
        chains=np.full((sum(w.buckets * w.parts for w in join.windows), 3), -1, np.int64),
        stack=np.full((n, 4), -1, np.int64),
        work=np.zeros(k.COUNTERS, np.int64),
        clock=np.array([-1, -1, 0], np.int64),
        at=np.concatenate(where).astype(np.int64),
        upto=np.zeros((n, size if wins[:, k.ROWS].any() else 1), np.int64),
        sink=np.zeros((room, n + 2), np.int64),
    )


def run(join: Join, given: Merged, strategy: Strategy, keep: bool = False, warm: int = 0) -> Run:
    """Run over the whole input; the first ``warm`` rows fill the windows and are not counted. ``keep``: the results
    too, for which the run is made twice.

    Raises:
        ConfigError: the strategy does not suit the join.
    """
    state, n = new_state(join, given, strategy), join.width
    step = stepper(join, strategy, state)
    step(warm, False)
    work, spent = state.work.copy(), state.wins[:, k.SPENT].copy()
    began = time.process_time()
    step(len(given), True)
    seconds = time.process_time() - began
    counts = _counts(state, work, spent)
    if keep:
        state = new_state(join, given, strategy, int(state.work[k.RESULTS]))
        stepper(join, strategy, state)(len(given), True)
    return Run(counts, seconds, len(given) - warm, state.sink[:, :n], state.sink[:, n], state.sink[:, n + 1])


Step = Callable[[int, bool], None]
"""(row to stop at, whether the input ends there)."""


def stepper(join: Join, strategy: Strategy, state: k.State) -> Step:
    """The kernel of a strategy; it goes on from where it stopped."""
    tau, every = strategy.interval, strategy.expire
    match strategy.algorithm:
        case "eager":
            return lambda stop, end: eager(state, stop, every)
        case "lazy":
            return lambda stop, end: lazy(state, stop, tau, every or tau, strategy.careless, end)
        case _:
            by, restore = grouping(join), strategy.algorithm == "restore"
            return lambda stop, end: batched(state, by, stop, tau, restore, end)


def _counts(state: k.State, work: Ints, spent: Ints) -> Counts:
    done = state.work - work
    done[[k.HELD, k.PEAK]] = state.work[[k.HELD, k.PEAK]]
    names = [f.name for f in fields(Counts)][:-1]
    by_origin = tuple(int(c) for c in state.wins[:, k.SPENT] - spent)
    return Counts(**{n: int(c) for n, c in zip(names, done, strict=True)}, spent=by_origin)
