"""GrubJoin and RandomDrop over a workload, their time charged by work: a run is the same on every machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from muntin.optimizer.capacity.boxes import exchanged
from muntin.optimizer.harvest.lags import Lags, scores
from muntin.optimizer.harvest.problem import Counts, Problem, hashed_parts, low_selectivity_first, nested_loops
from muntin.optimizer.harvest.solvers import double_sided
from muntin.optimizer.harvest.throttle import Throttle
from muntin.research.harvest.streams import Workload
from muntin.research.kernels.harvest import DROPPED, OUTPUT, POPS, PUSHES, run_until

BUCKETS = 100
"""Of each histogram of lags."""

FORGET = 0.7
"""What of earlier measurements stays at an adaptation."""

Mode = Literal["harvest", "drop", "full"]


@dataclass(frozen=True)
class Setup:
    """How a run is done. ``budget``: work a second; ``every``: seconds between adaptations; ``omega``: share of the
    tuples that are shredded to learn; ``buffer``: tuples that may wait, by stream; ``base``: work of taking a tuple in;
    ``charge``: of costing one setting; ``forced``: second at which z is set to 1."""

    budget: float
    every: float = 5.0
    omega: float = 0.1
    buffer: int = 10
    base: float = 1.0
    charge: float = 0.0
    forced: float | None = None


@dataclass
class Trace:
    """What a run did. ``points``: at each adaptation (second, z, beta, setting). ``filled``: share of the buffers' room
    that was taken when z was set to 1. Counts are from ``warm`` on."""

    output: float = 0.0
    pushed: float = 0.0
    dropped: float = 0.0
    points: list[tuple[float, float, float, Counts]] = field(default_factory=list)
    seconds: float = 1.0
    last: Problem | None = None
    filled: float = 0.0

    @property
    def rate(self) -> float:
        """Results a second."""
        return self.output / self.seconds


def full_problem(load: Workload, rate: float | None = None, shares: Sequence[float] | None = None) -> Problem:
    """The join at a rate, its windows read whole, with the pairs' own selectivities."""
    lam = load.rate if rate is None else rate
    sigma = load.selectivity()
    drawn = [[float(f"{s:.1e}") for s in row] for row in sigma]  # so equal to 2 digits
    orders = load.orders or low_selectivity_first(drawn)
    x = shares or (1.0,) * load.m
    rates = tuple(lam * s for s in x)
    selectivity = tuple(tuple(sigma[i][w] for w in order) for i, order in enumerate(orders))
    flat = tuple(tuple((1.0,) * load.parts for _ in order) for order in orders)
    probe = hashed_parts if load.whole else nested_loops
    rows = tuple(r * load.span for r in rates)
    return Problem(rates, rows, (load.parts,) * load.m, orders, selectivity, flat, probe)


def saturation(load: Workload, rate: float = 100.0, base: float = 1.0) -> float:
    """The budget (work a second) that the full join just needs at ``rate``."""
    given = full_problem(load, rate)
    return given.total(given.full)[0] + base * sum(given.rates)


def drop_shares(load: Workload, budget: float, base: float = 1.0) -> tuple[float, ...]:
    """RandomDrop's boxes: the best by the static model (Ayad & Naughton), windows of time shrinking with them."""
    sigma = full_problem(load)

    def scaled(x: Sequence[float]) -> Problem:
        rates = tuple(r * s for r, s in zip(sigma.rates, x, strict=True))
        return replace(sigma, rates=rates, rows=tuple(r * load.span for r in rates))

    def work(x: Sequence[float]) -> float:
        given = scaled(x)
        return given.total(given.full)[0] + base * sum(given.rates)

    if work((1.0,) * load.m) <= budget:
        return (1.0,) * load.m
    return exchanged(lambda x: scaled(x).total(sigma.full)[1], work, load.m, budget, precision=1e-3)


@dataclass
class Simulation:
    """One run, from adaptation to adaptation."""

    load: Workload
    setup: Setup
    mode: Mode

    def __post_init__(self) -> None:
        load, m = self.load, self.load.m
        self.given = full_problem(load)
        self.at, self.streams, self.values, self.luck = load.arrivals
        n = len(self.at)
        self.clock = np.zeros(2)
        self.buffers = np.zeros((m, max(self.setup.buffer, 1)), np.int64)
        self.sizes = np.zeros(m, np.int64)
        self.times, self.kept = np.zeros((m, n + 1)), np.zeros((m, n + 1))
        self.window = np.zeros((m, 2), np.int64)
        self.orders = np.array(self.given.orders, np.int64)
        self.counters = np.zeros((5, m))
        self.found = np.zeros((m, m - 1, 2))
        self.hist = np.zeros((m, BUCKETS))
        self.throttle = Throttle()
        self.counts: Counts = self.given.full
        self.problem = self.given
        self.shares = drop_shares(load, self.setup.budget, self.setup.base) if self.mode == "drop" else (1.0,) * load.m

    def chosen(self) -> NDArray[np.bool_]:
        """By stream, hop and part whether it is read; beyond the streams what shredded tuples read: everything."""
        m, parts = self.load.m, self.load.parts
        found = np.ones((2 * m, m - 1, parts), np.bool_)
        for i in range(m):
            for j in range(m - 1):
                found[i, j] = False
                found[i, j, list(self.problem.read(self.counts, i, j))] = True
        return found

    def go(self, until: float) -> None:
        """On to a second."""
        load, setup = self.load, self.setup
        omega = setup.omega if self.mode == "harvest" else 0.0
        run_until(
            until, self.clock, self.at, self.streams, self.values, self.luck, np.array(self.shares), self.buffers,
            self.sizes, setup.buffer, self.times, self.kept, self.window, np.full(load.m, load.span),
            np.full(load.m, load.parts), self.orders, self.chosen(), setup.budget, setup.base,
            (load.tolerance, 1.0 if load.whole else 0.0), self.throttle.fraction, omega, self.counters, self.found,
            self.hist, load.span,
        )  # fmt: skip

    def adapt(self, arrived: float, consumed: float, rate: float) -> float:
        """A new z, and the setting that follows from what shredding showed; beta."""
        self.throttle = self.throttle.adapted(arrived, consumed)
        beta = consumed / arrived if arrived else 1.0
        if self.mode == "harvest":
            self.problem = self._learned(rate)
            solved = double_sided(self.problem, self.throttle.fraction)
            self.counts = solved.counts
            self.clock[0] += solved.evaluated * self.setup.charge / self.setup.budget
            self.found *= FORGET
            self.hist *= FORGET
        return beta

    def _learned(self, rate: float) -> Problem:
        load, given = self.load, self.given
        lags = [None, *(Lags(-load.span, load.span, self.hist[i]) for i in range(1, load.m))]
        selectivity = []
        for i, own in enumerate(given.selectivity):
            measured = [m / c if c > 50 else s for s, (c, m) in zip(own, self.found[i], strict=True)]
            selectivity.append(tuple(max(s, 1e-7) for s in measured))
        ranked = tuple(
            tuple(scores(lags, i, w, load.span, load.parts) for w in order) for i, order in enumerate(given.orders)
        )
        rates = (rate,) * load.m
        return replace(
            given, rates=rates, rows=tuple(r * load.span for r in rates), selectivity=tuple(selectivity), scores=ranked
        )


def run(load: Workload, setup: Setup, mode: Mode, warm: float = 20.0) -> Trace:
    """A run of the workload; what is before ``warm`` seconds is not counted."""
    sim, trace = Simulation(load, setup, mode), Trace(seconds=load.seconds - warm)
    before, base, t = sim.counters.copy(), None, 0.0
    stops = sorted({*np.arange(setup.every, load.seconds + 1e-9, setup.every).tolist(), warm, load.seconds})
    for stop in stops:
        sim.go(stop)
        if base is None and stop >= warm:
            base = sim.counters.copy()
        if stop % setup.every > 1e-9 and setup.every - stop % setup.every > 1e-9:
            continue
        moved = sim.counters - before
        before, elapsed, t = sim.counters.copy(), stop - t, stop
        rate = float(moved[PUSHES].sum()) / elapsed / load.m
        beta = sim.adapt(float(moved[PUSHES].sum()), float(moved[POPS].sum()), rate)
        trace.points.append((stop, sim.throttle.fraction, beta, sim.counts))
        if setup.forced is not None and abs(stop - setup.forced) < 1e-9:
            sim.throttle, sim.counts = Throttle(), sim.given.full
            trace.filled = float(sim.sizes.mean()) / setup.buffer
    total = sim.counters - (np.zeros_like(sim.counters) if base is None else base)
    trace.output, trace.last = float(total[OUTPUT].sum()), sim.problem
    trace.pushed, trace.dropped = float(total[PUSHES].sum()), float(total[DROPPED].sum())
    return trace
