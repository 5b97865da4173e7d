"""Periodic and one-time queries beside window updates on one processor, under a deterministic clock (7.5).

Four schedulers: Serial (an update waits for the query under way), WS (updates at once, a query goes on over the state
at its start), LWS (Algorithm 7: updates at once, queries that conflict start over, reading in order of index), and TTU
(Algorithm 8). A query reads one sub-window (its summary) after the other. Updates come every ``t``; the rate of each
interval, by which its summary is dear to read, varies by up to 10. One-time queries have priority: they suspend a
periodic one between two reads, but under Serial, where a query holds its window until it ends.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal as OneOf

import numpy as np

Kind = OneOf["Serial", "WS", "LWS", "TTU"]
KINDS: tuple[Kind, ...] = ("Serial", "WS", "LWS", "TTU")

READ_MS = 10.0
"""To read the summary of a sub-window of mean rate for a group of five queries (ours: the thesis gives no costs)."""
UPDATE_MS = 5.0
"""To update the summaries with a new sub-window (ours)."""
CHECK_MS = 0.02
"""To choose what to read and to note it, in the schedulers that allow interleaving (ours)."""


@dataclass(frozen=True)
class Load:
    """``n`` sub-windows of ``t`` milliseconds, ``periodic`` queries in groups of five, ``one_time`` queries a
    sub-window (their gaps have that mean, in milliseconds: ``gap``)."""

    n: int
    t: float
    periodic: int
    one_time: int = 0
    gap: float = 1000.0
    read_ms: float = READ_MS
    """To read a summary of mean rate."""


@dataclass
class Job:
    """A query or group: its window in sub-windows, and its present execution. ``start``: the newest sub-window when it
    began; ``asked``: when."""

    size: int
    urgent: bool
    asked: float
    start: int = -1
    read: set[int] = field(default_factory=set)


@dataclass
class Outcomes:
    """What was seen after the window had filled once."""

    staleness: list[float] = field(default_factory=list)
    one_time_staleness: list[float] = field(default_factory=list)
    response: list[float] = field(default_factory=list)
    between: list[float] = field(default_factory=list)
    executed: int = 0
    aborts: int = 0

    @property
    def abort_share(self) -> float:
        """Of all executions that were begun."""
        return self.aborts / max(self.executed + self.aborts, 1)


class Simulation:
    """One scheduler under one load; time in milliseconds."""

    def __init__(self, kind: Kind, load: Load, seed: int) -> None:
        rng = random.Random(seed)
        self.kind, self.load = kind, load
        self.rates = [rng.uniform(1, 10) / 5.5 for _ in range(8 * load.n)]
        sizes = [rng.randint(1, load.n) for _ in range(load.periodic // 5)]
        self.ready = [Job(size, False, 0.0) for size in sizes]
        self.last: dict[int, float] = {}
        self.urgent: list[Job] = []
        self.arrivals = self._arrivals(rng)
        self.now, self.newest = 0.0, load.n - 1
        self.updated = [0.0] * load.n  # when each version was there
        self.found = Outcomes()

    def _arrivals(self, rng: random.Random) -> list[Job]:
        """One-time queries over the run: as many in each interval, at gaps of that mean."""
        jobs: list[Job] = []
        for interval in range(self.load.n if self.load.one_time else 0):
            at = interval * self.load.t
            for _ in range(self.load.one_time):
                at += rng.expovariate(1 / self.load.gap)
                jobs.append(Job(rng.randint(1, self.load.n), True, at))
        return sorted(jobs, key=lambda j: j.asked)

    def run(self) -> Outcomes:
        """One window length."""
        end = self.load.n * self.load.t
        current: Job | None = None
        while self.now < end:
            self._take_in()
            if (current is None or self.kind != "Serial") and self._due():
                self._update(current)
                continue
            if current is None or (self.urgent and not current.urgent and self.kind != "Serial"):
                if current is not None:
                    self.ready.insert(0, current)
                current = self.urgent.pop(0) if self.urgent else self.ready.pop(0)
                if current.start < 0:
                    current.start = self.newest
            if self._step(current):
                self._report(current)
                current = None
        return self.found

    def _take_in(self) -> None:
        while self.arrivals and self.arrivals[0].asked <= self.now:
            self.urgent.append(self.arrivals.pop(0))

    def _due(self) -> bool:
        return self.now >= (self.newest - self.load.n + 2) * self.load.t

    def _update(self, current: Job | None) -> None:
        self.newest += 1
        self.now += UPDATE_MS * self._rate(self.newest)
        self.updated.append(self.now)
        if self.kind in ("LWS", "TTU"):
            for job in [*self.ready, *self.urgent, *([current] if current else [])]:
                if (self.newest - job.size) in job.read:
                    job.read.clear()
                    self.found.aborts += 1

    def _rate(self, version: int) -> float:
        return self.rates[version % len(self.rates)]

    def _step(self, job: Job) -> bool:
        """Read one sub-window; whether it was the last."""
        top = job.start if self.kind == "WS" else self.newest
        left = [v for v in range(top - job.size + 1, top + 1) if v not in job.read]
        if self.kind == "TTU":
            version = left[-1]
        elif self.kind == "LWS":
            version = min(left, key=lambda v: v % self.load.n)
        else:
            version = left[0]
        self.now += self.load.read_ms * self._rate(version) + (0.0 if self.kind == "Serial" else CHECK_MS)
        job.read.add(version)
        return len(left) == 1

    def _report(self, job: Job) -> None:
        top = max(job.read)
        age = self.now - self.updated[top]
        self.found.executed += 1
        if job.urgent:
            self.found.response.append(self.now - job.asked)
            self.found.one_time_staleness.append(age)
            return
        self.found.staleness.append(age)
        if id(job) in self.last:
            self.found.between.append(self.now - self.last[id(job)])
        self.last[id(job)] = self.now
        job.read, job.start = set(), -1
        self.ready.append(job)


@dataclass(frozen=True)
class Means:
    """Averages over repetitions."""

    abort_share: float
    staleness: float
    between: float
    throughput: float
    response: float
    one_time_staleness: float

    @property
    def plain(self) -> dict[str, float]:
        """For the record."""
        return {k: round(v, 4) for k, v in vars(self).items()}


@lru_cache(maxsize=256)
def measured(kind: Kind, load: Load, repetitions: int) -> Means:
    """A scheduler under a load; ``throughput``: executions a second."""
    runs = [Simulation(kind, load, seed).run() for seed in range(repetitions)]
    seconds = load.n * load.t / 1000
    return Means(
        _mean([r.abort_share for r in runs]), _mean([x for r in runs for x in r.staleness]),
        _mean([x for r in runs for x in r.between]), _mean([r.executed / seconds for r in runs]),
        _mean([x for r in runs for x in r.response]), _mean([x for r in runs for x in r.one_time_staleness]),
    )  # fmt: skip


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.0


SIZES = (10, 40, 70, 100)
FAST, SLOW = 1000.0, 5000.0


def periodic(n: int, t: float) -> Load:
    """40 periodic queries with t = 1 s, 100 with 5 s."""
    return Load(n, t, 40 if t == FAST else 100)


def mixed(n: int) -> Load:
    """t = 5 s, 100 periodic queries, 5 one-time ones a sub-window, a second apart."""
    return Load(n, SLOW, 100, one_time=5)
