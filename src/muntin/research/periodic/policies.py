"""The six ways of scheduling that the thesis compares (its Table 8.1), run over the workload on a virtual clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray

from muntin.research.harness import Clock
from muntin.research.periodic.load import LOW, Counters, counters, model_of, queries
from muntin.research.periodic.product import counted
from muntin.scheduling.deadlines import Sharing, agenda
from muntin.scheduling.hybrid import cheapest
from muntin.scheduling.tasks import Task, aggressive, conservative, groups_of
from muntin.scheduling.virtual import Run, schedule

POLICIES: Mapping[str, tuple[str, Sharing]] = {
    "No-S": ("conservative", "none"),
    "AS": ("aggressive", "equal"),
    "CS": ("conservative", "equal"),
    "HS": ("hybrid", "equal"),
    "H-LS": ("hybrid", "late"),
    "H-LP": ("hybrid", "late_pending"),
}
"""Name -> how queries become tasks, and with what the most urgent task is run."""

By = OneOf["product", "document"]
"""Who counts work: the product's synopsis and meter, or the document's cost."""

TOP = 5.0
"""Updates: the greatest latency on the axis of Figure 8.8, that of No-S with 240 queries at the low rate."""

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Load:
    """``per_group``: queries of each of the eight groups; ``rate``: packets a second; ``updates``: seconds that are
    run; ``seed``: of the queries; ``finish``: whether queries work beyond the shared scan; ``by``: whose counts of work
    drive the clock and are known to the scheduler; ``clock``: by what the product's runs are measured."""

    per_group: int
    rate: int
    updates: int
    seed: int = 0
    finish: bool = True
    by: By = "product"
    clock: Clock = "virtual"

    @property
    def counts(self) -> Mapping[str, Counters]:
        """By group what a run takes: operations, or seconds on this machine."""
        if self.by == "document":
            return counters(self.rate, self.updates)
        return counted(self.rate, self.updates, self.clock)


@dataclass(frozen=True)
class Found:
    """``throughput``: runs of queries per second; ``latency``: mean over the queries of the mean number of updates by
    which a run came late; ``joint``: tasks that run together, the mean of the runs."""

    throughput: float
    latency: float
    joint: float = 1.0


@cache
def tasks_of(kind: str, load: Load) -> tuple[Task, ...]:
    """The workload's queries as tasks."""
    asked = queries(load.per_group, load.seed)
    if kind == "aggressive":
        return aggressive(asked)
    if kind == "conservative":
        return conservative(asked)
    known = load.counts
    found: list[Task] = []
    for group, mine in groups_of(asked).items():
        found += cheapest(conservative(mine), model_of(known[str(group)], load.finish))
    return tuple(found)


def work_of(tasks: Sequence[Task], known: Mapping[str, Counters], finish: bool) -> Callable[[Ints, int], float]:
    """Work of running tasks of a group together after so many updates."""
    windows = [np.array([q.window for q in t.queries]) for t in tasks]

    def work(chosen: Ints, update: int) -> float:
        mine = known[str(tasks[chosen[0]].group)]
        asked = np.concatenate([windows[i] for i in chosen])
        return float(mine.scan[update, asked.max()] + finish * mine.finish[update, asked].sum())

    return work


def run_with(policy: str, load: Load, speed: float) -> Found:
    """One policy over one workload, on a machine that does so much work a second."""
    kind, sharing = POLICIES[policy]
    tasks, known = tasks_of(kind, load), load.counts
    maintenance = sum(c.update for c in known.values())
    work = work_of(tasks, known, load.finish)
    return summary(tasks, schedule(agenda(tasks), sharing, work, load.updates, speed, lambda _: maintenance))


def summary(tasks: Sequence[Task], plan: Iterable[Run]) -> Found:
    """What the runs of a schedule come to."""
    late = [np.zeros(len(t.queries)) for t in tasks]
    runs, ended, scans = np.zeros(len(tasks), np.int64), 1.0, 0
    wanted = [np.array([q.period for q in t.queries]) for t in tasks]
    for run in plan:
        for i, since in zip(run.tasks, run.since, strict=True):
            late[i] += np.maximum(since - wanted[i], 0)
            runs[i] += 1
        ended, scans = run.ended, scans + 1
    means = np.concatenate([x / n for x, n in zip(late, np.maximum(runs, 1).tolist(), strict=True)])
    total = int(runs @ np.array([len(t.queries) for t in tasks]))
    return Found(total / ended, float(means.mean()), int(runs.sum()) / max(scans, 1))


@cache
def speed(updates: int, finish: bool, by: By, clock: Clock = "virtual") -> float:
    """Work that the machine does in a second: so much that No-S has the latency ``TOP`` with 240 queries at the low
    rate (found by halving). On the wall clock work is seconds here, so that is how many times as fast it is."""
    load = Load(30, LOW, updates, finish=finish, by=by, clock=clock)
    low, high = (1e4, 1e8) if clock == "virtual" else (1e-3, 1e3)
    while high / low > 1.01:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if run_with("No-S", load, middle).latency > TOP else (low, middle)
    return high


@cache
def measure(policy: str, load: Load, seeds: int = 1) -> Found:
    """One policy, the mean of so many random workloads."""
    fast = speed(load.updates, load.finish, load.by, load.clock)
    found = [run_with(policy, replace(load, seed=s), fast) for s in range(seeds)]
    means = (sum(getattr(f, what) for f in found) / seeds for what in ("throughput", "latency", "joint"))
    return Found(*means)
