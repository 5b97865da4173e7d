"""Response times of the three policies on streams of section 5: one run for each policy, over the same rows.

The machine is as fast as makes the join busy for a given share of the time (``load``): the document's own machine kept
up with 100 rows a second of each stream by hash and 15 by nested loops, and its load is not given. On the wall clock
the product's join does every unit once, and what each took decides (``units``), scaled to that load; fewer rows come.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from muntin.research.harness import Check, Clock, Setting
from muntin.research.shared_joins.units import Units, checked_units
from muntin.research.shared_joins.workload import TABLE_1, Access, Arrivals, arrivals_of, rows_work
from muntin.scheduling.policies import POLICIES
from muntin.scheduling.slice_clock import Responses, play
from muntin.scheduling.slices import Policy, sizes_of

NAMES = ("lwo", "swf", "greedy")
HASH_RATE, NLJ_RATE = 100.0, 15.0
"""Rows a second of each stream (5.1.1, 5.1.2)."""


@dataclass(frozen=True)
class Study:
    """``windows`` of Table 1's name; ``access``; ``load``; expected size of bursts; ``rows``: new rows a run; ``rate``:
    rows a second of each stream; ``as_fast_as``: the access at whose speed the machine is (its load is ``load``)."""

    windows: str
    load: float
    rows: int
    access: Access = "hash"
    burst: float = 1.0
    rate: float = HASH_RATE
    as_fast_as: Access | None = None
    seeds: tuple[int, ...] = (1, 2, 3)
    clock: Clock = "virtual"

    def arrivals(self, seed: int) -> Arrivals:
        """The rows of a run."""
        return arrivals_of(self.rows, self.rate, max(TABLE_1[self.windows]), seed, self.burst)

    def units(self, seed: int, access: Access) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """(work, results) of its rows by slice: work in operations, or in seconds on this machine."""
        if self.clock == "virtual":
            return rows_work(self.arrivals(seed), TABLE_1[self.windows], access)
        found = timed(replace(self, load=0.0, access=access, as_fast_as=None, seeds=(seed,)))
        return found.seconds, found.results


@cache
def timed(study: Study) -> Units:
    """The units of a study's one run, done and timed; equal ones are done once."""
    return checked_units(study.arrivals(study.seeds[0]), TABLE_1[study.windows], study.access)


@dataclass(frozen=True)
class Found:
    """By policy, over all seeds: mean response by window in seconds (``mean``), the longest (``most``); the most outers
    that waited, or whose results were held, at a time."""

    mean: Mapping[str, NDArray[np.float64]]
    most: Mapping[str, NDArray[np.float64]]
    waiting: Mapping[str, int]
    held: Mapping[str, int]
    arrived: Mapping[str, int]
    """The most rows that arrived within a longest response."""

    def over_windows(self, policy: str) -> float:
        """The unweighted mean of the windows' means."""
        return float(self.mean[policy].mean())


@cache
def measured(study: Study) -> Found:
    """Play the study; equal ones are played once."""
    windows = TABLE_1[study.windows]
    runs: dict[str, list[Responses]] = {p: [] for p in NAMES}
    arrived = dict.fromkeys(NAMES, 0)
    for seed in study.seeds:
        rows = study.arrivals(seed)
        work, results = study.units(seed, study.access)
        paced = work if study.as_fast_as is None else study.units(seed, study.as_fast_as)[0]
        speed = float(paced.sum()) / rows.span / study.load
        come = rows.times[rows.first :]
        for p in NAMES:
            found = play(POLICIES[p], sizes_of(windows), come, work, results, speed)
            runs[p].append(found)
            arrived[p] = max(arrived[p], most_within(come, float(found.most.max())))
    return Found(
        {p: np.mean([r.mean for r in rs], axis=0) for p, rs in runs.items()},
        {p: np.max([r.most for r in rs], axis=0) for p, rs in runs.items()},
        {p: max(r.waiting for r in rs) for p, rs in runs.items()},
        {p: max(r.held for r in rs) for p, rs in runs.items()},
        arrived,
    )


@cache
def mean_under(study: Study, policy: Policy) -> tuple[float, ...]:
    """Mean response by window in seconds, over all seeds, under a policy that need not be one of the document's."""
    windows, means = TABLE_1[study.windows], []
    for seed in study.seeds:
        rows = study.arrivals(seed)
        work, results = study.units(seed, study.access)
        speed = float(work.sum()) / rows.span / study.load
        means.append(play(policy, sizes_of(windows), rows.times[rows.first :], work, results, speed).mean)
    return tuple(np.mean(means, axis=0).tolist())


def most_within(times: NDArray[np.float64], span: float) -> int:
    """The most arrivals in any interval of this length."""
    ends = np.searchsorted(times, times + span, side="right")
    return int((ends - np.arange(len(times))).max())


def rows_of(setting: Setting) -> int:
    """New rows of both streams a run: 20,000 (the document: 100,000), 3,000 in the small form; on the wall clock a
    tenth of that."""
    rows = 3_000 if setting.smoke else 20_000
    return rows if setting.clock == "virtual" else rows // 10


def seeds_of(setting: Setting) -> tuple[int, ...]:
    """One run in the small form."""
    return (1,) if setting.smoke else (1, 2, 3)


def by_clock(setting: Setting, checks: tuple[Check, ...], study: Study | None = None) -> tuple[Check, ...]:
    """What was judged; on the wall clock a claim that does not hold has as its reason where the time goes (of
    ``study``, else of Uniform by hash)."""
    if setting.clock == "virtual" or all(c.ok for c in checks):
        return checks
    why = where_time_goes(study or Study("Uniform", 0.0, rows_of(setting), clock="wall"))
    return tuple(c if c.ok else replace(c, reason=f"{c.reason}; {why}" if c.reason else why) for c in checks)


def where_time_goes(study: Study) -> str:
    """How long units take on this machine, whatever they find."""
    found = timed(replace(study, load=0.0, as_fast_as=None, seeds=study.seeds[:1], clock="wall"))
    took, looked = 1e6 * found.seconds.mean(axis=0), found.looked.mean(axis=0)
    fixed = 1e6 * float(np.median(found.seconds[found.looked <= np.quantile(found.looked, 0.1)]))
    least, most = int(looked.argmin()), int(looked.argmax())
    return (
        f"on this machine a unit takes {fixed:.0f} us however little it looks at; the slices of {study.windows} do not "
        f"take time as their rows: w{least + 1} {took[least]:.0f} us for {looked[least]:.1f} rows on average, "
        f"w{most + 1} {took[most]:.0f} us for {looked[most]:.1f}"
    )


def told(values: NDArray[np.float64]) -> str:
    """Milliseconds by window."""
    return ", ".join(f"{1e3 * v:.3g}" for v in values)
