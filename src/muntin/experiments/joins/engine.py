"""Running a strategy over a merged input: its results, what was counted, and the time it took."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from muntin.core.time import FOREVER
from muntin.experiments.joins.setting import Join, Strategy
from muntin.experiments.joins.tables import grouping, plan_of
from muntin.kernels import multiway as k
from muntin.kernels.multiway_batch import batched
from muntin.kernels.multiway_eager import eager
from muntin.kernels.multiway_lazy import lazy

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
    and at most."""

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

    @property
    def expiry(self) -> int:
        """Accesses for expiry: chains visited, and tuples looked at in them."""
        return self.chains + self.ages

    @property
    def accesses(self) -> int:
        """All accesses, each as 1: tuples looked at in loops, expiry, searches, inserts and results.

        A comparison of times needs no access of its own: the tuple is there.
        """
        return self.looked + self.scanned + self.expiry + self.searched + self.inserts + self.results


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


def prepared(given: Merged, streams: int) -> k.Rows:
    """The kernel's arrays of the input. Negative tuples do not count as rows of a stream."""
    size = len(given)
    real = given.partner < 0
    where = [np.flatnonzero(real & (given.stream == s)) for s in range(streams)]
    number, follow = np.zeros(size, np.int64), np.full(size, size, np.int64)
    for rows in where:
        number[rows] = np.arange(1, len(rows) + 1)
        follow[rows[:-1]] = rows[1:]
    return k.Rows(
        ts=given.ts,
        stream=given.stream,
        partner=given.partner,
        number=number,
        values=given.values,
        follow=follow,
        at=np.concatenate(where).astype(np.int64),
        start=np.cumsum([0, *(len(r) for r in where)]).astype(np.int64),
    )


def run(join: Join, given: Merged, strategy: Strategy, keep: bool = False, warm: int = 0) -> Run:
    """Run over the whole input; the first ``warm`` rows fill the windows and are not counted. ``keep``: the results
    too, for which the run is made twice.

    Raises:
        ConfigError: the strategy does not suit the join.
    """
    plan, rows = plan_of(join, strategy), prepared(given, join.width)
    state = k.new_state(rows, plan, given.exp)
    step = stepper(join, strategy, rows, plan, state)
    step(warm, False)
    before = state.work.copy()
    began = time.process_time()
    step(len(given), True)
    seconds = time.process_time() - began
    counts = _counts(state.work, before)
    if keep:
        state = k.new_state(rows, plan, given.exp, int(state.work[k.RESULTS]))
        stepper(join, strategy, rows, plan, state)(len(given), True)
    n = join.width
    return Run(counts, seconds, len(given) - warm, state.sink[:, :n], state.sink[:, n], state.sink[:, n + 1])


Step = Callable[[int, bool], None]
"""(row to stop at, whether the input ends there)."""


def stepper(join: Join, strategy: Strategy, rows: k.Rows, plan: k.Plan, state: k.State) -> Step:
    """The kernel of a strategy; it goes on from where it stopped."""
    tau, every = strategy.interval, strategy.expire
    match strategy.algorithm:
        case "eager":
            return lambda stop, end: eager(rows, plan, state, stop, every)
        case "lazy":
            return lambda stop, end: lazy(rows, plan, state, stop, tau, every or tau, strategy.careless, end)
        case _:
            by, restore = grouping(join), strategy.algorithm == "restore"
            return lambda stop, end: batched(rows, plan, state, by, stop, tau, restore, end)


def _counts(work: Ints, before: Ints) -> Counts:
    spent = work - before
    spent[[k.HELD, k.PEAK]] = work[[k.HELD, k.PEAK]]
    return Counts(*(int(c) for c in spent))
