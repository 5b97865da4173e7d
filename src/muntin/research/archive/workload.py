"""The thesis' workload (4.4): uniform keys and lifetimes, a building stage, 36 updates, a probe and a scan after
each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from muntin.archive.layout import Layout, wave
from muntin.research.archive.pages import KEYS, UPDATES, Cost, Ints, PagedIndex

SMALL, LARGE = 50_000, 500_000
"""Records: a pair of sizes 1:10 (the thesis has 500,000 and 5,000,000)."""

SQUARES = (2, 3, 4, 5)


def size(smoke: bool, large: bool = False) -> int:
    """Records of a run."""
    return (LARGE if large else SMALL) // (5 if smoke else 1)


@dataclass
class Run:
    """Averages of an index over the updates: pages of an update, a probe, a scan; sub-indices touched; the dearest
    update."""

    update: float
    probe: float
    scan: float
    touched: float
    worst: int
    read: float = 0.0

    @property
    def plain(self) -> dict[str, float]:
        """For the record."""
        return {k: round(float(getattr(self, k)), 2) for k in ("update", "probe", "scan", "touched", "worst", "read")}


@dataclass(frozen=True)
class Arrivals:
    """Records of the building stage and of each update: key, time, expiry."""

    every: int
    span: int
    parts: tuple[tuple[Ints, Ints, Ints], ...]


@lru_cache(maxsize=4)
def arrivals(records: int, varying: float = 1.0, seed: int = 4) -> Arrivals:
    """One record a unit of time on average, lifetimes uniform up to a span in which ``2 * records`` come, so that
    ``records`` live. ``varying``: the rate of each interval varies at random by up to this factor; the sum is the
    same."""
    rng = np.random.default_rng(seed)
    every = max(2 * records // UPDATES, 1)
    span = every * UPDATES
    rates = rng.uniform(1, varying, 2 * UPDATES) if varying > 1 else np.ones(2 * UPDATES)
    counts = np.round(rates / rates.mean() * every).astype(np.int64)
    parts = []
    for at, count in enumerate(counts.tolist()):
        time = np.sort(rng.integers(at * every + 1, (at + 1) * every + 1, count))
        parts.append((rng.integers(0, KEYS, count), time, time + rng.integers(1, span + 1, count)))
    built = tuple(np.concatenate(c) for c in zip(*parts[:UPDATES], strict=True))
    return Arrivals(every, span, (built, *parts[UPDATES:]))  # type: ignore[arg-type]


def run(layout: Layout, records: int, varying: float = 1.0, seed: int = 4) -> Run:
    """An index through all updates."""
    given, rng = arrivals(records, varying, seed), np.random.default_rng(seed + 1)
    index = PagedIndex(layout, records, given.every)
    now = UPDATES * given.every
    key, time, exp = given.parts[0]
    live = exp > now
    index.build(key[live], time[live], exp[live], now)
    updates, probes, scans = list[Cost](), list[Cost](), list[Cost]()
    for part in given.parts[1:]:
        now += given.every
        updates.append(index.update(*part, now))
        probes.append(index.probe(int(rng.integers(KEYS))))
        scans.append(index.scan())
    update, probe, scan = (float(np.mean([c.pages for c in costs])) for costs in (updates, probes, scans))
    touched = float(np.mean([c.cells for c in updates]))
    read = float(np.mean([c.read for c in updates]))
    return Run(update, probe, scan, touched, max(c.pages for c in updates), read)


def figures(runs: Mapping[str, Run]) -> dict[str, Any]:
    """Runs for the record."""
    return {name: found.plain for name, found in runs.items()}


def compared(records: int, sides: tuple[int, ...] = SQUARES, varying: float = 1.0) -> dict[str, Run]:
    """The indices of Figures 4.5 to 4.7, by the thesis' names and number of sub-indices."""
    found: dict[str, Run] = {}
    for g in sides:
        n = g * g
        found[f"Rebuild {n}"] = run(Layout(g, g), records, varying)
        found[f"NoRebuild {n}"] = run(Layout(g, g, update="norebuild"), records, varying)
        found[f"Rebuild chr {n}"] = run(Layout(g, g, "chronological"), records, varying)
        found[f"NoRebuild chr {n}"] = run(Layout(g, g, "chronological", "norebuild"), records, varying)
        found[f"R-ins {n}"] = run(wave("R-ins", n), records, varying)
        found[f"D-ins {n}"] = run(wave("D-ins", n), records, varying)
    return found
