"""The workload of the scheduling figures (Golab 2006, section 8.5.1): packets, synopses of counts, random queries.

The document's cost is in counters touched. A group shares a basic interval synopsis, one interval a second: the
interval holds a counter for each distinct value that came in it. A run adds the counters of the intervals that it
reads, youngest to oldest, into one table; each query then goes once through the counters of its window (top k by a heap
of k). An update counts each packet once a group. What the product counts of the same runs is ``periodic.product``.

Deviations: the document lists six sets of attributes for its eight groups; source with protocol and destination with
port are the two others here. All queries are top k: where the product finds quantiles of several windows at once, what
one adds depends on the others. One-time queries read a running synopsis in two accesses and are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from muntin.scheduling.costs import CostModel
from muntin.scheduling.tasks import PeriodicQuery

SHORTEST, LONGEST = 20, 100
"""Intervals of the shortest and the longest window."""

GROUPS: Mapping[str, tuple[str, ...]] = {
    "source": ("source",),
    "destination": ("destination",),
    "source, destination": ("source", "destination"),
    "protocol": ("protocol",),
    "port": ("port",),
    "protocol, port": ("protocol", "port"),
    "source, protocol": ("source", "protocol"),
    "destination, port": ("destination", "port"),
}

VALUES = {"source": 1000, "destination": 1000, "protocol": 100, "port": 100}
"""Distinct values at the low rate."""

LOW, HIGH = 1500, 3000
"""Packets a second."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Counters:
    """What is counted of a group's synopsis. ``scan[k, n]``: work of a run over the n youngest intervals after update
    k, whoever reads them (the counters in them); ``finish[k, n]``: what each query over n of them adds of its own (the
    different values in them); ``update``: work of an update. n from 0 to ``LONGEST``."""

    scan: Floats
    finish: Floats
    update: float


@cache
def counters(rate: int, updates: int) -> Mapping[str, Counters]:
    """By group, over so many updates, the windows full from the first; at the high rate there are twice the values."""
    packets, more = draw(rate, LONGEST + updates + 1), rate // LOW
    return {group: _count(*keys_of(packets, names, more)) for group, names in GROUPS.items()}


def draw(rate: int, seconds: int) -> Mapping[str, NDArray[np.int64]]:
    """Packets by attribute, those of a second a row."""
    rng, more = np.random.default_rng(8), rate // LOW
    return {name: rng.integers(0, n * more, (seconds, rate)) for name, n in VALUES.items()}


def keys_of(
    packets: Mapping[str, NDArray[np.int64]], names: tuple[str, ...], more: int
) -> tuple[NDArray[np.int64], int]:
    """(the packets' values of a set of attributes as numbers, how many there can be)."""
    key, values = packets[names[0]], VALUES[names[0]] * more
    for name in names[1:]:
        key, values = key * (VALUES[name] * more) + packets[name], values * VALUES[name] * more
    return key, values


def _count(keys: NDArray[np.int64], values: int) -> Counters:
    last = np.full(values, -1)
    ages = np.zeros((len(keys), LONGEST + 1))
    own = np.zeros(len(keys))
    seen = np.zeros(len(keys) + 1, np.int64)  # values by the interval in which they came last
    for k, row in enumerate(keys):
        new = np.unique(row)
        own[k] = len(new)
        before = last[new]
        np.subtract.at(seen, before[before >= 0], 1)
        last[new], seen[k] = k, len(new)
        young = seen[max(0, k + 1 - LONGEST) : k + 1][::-1]
        ages[k, 1 : len(young) + 1] = np.cumsum(young)
    total = np.concatenate([[0.0], np.cumsum(own)])
    n = np.arange(LONGEST + 1)
    at = np.arange(LONGEST, len(keys))[:, None]
    return Counters(total[at + 1] - total[at + 1 - n], ages[LONGEST:], float(keys.shape[1]))


def queries(per_group: int, seed: int = 0) -> tuple[PeriodicQuery, ...]:
    """So many of each group: windows of 20 to 100 updates, periods of 1 to half the window, all equally likely."""
    rng = np.random.default_rng((8, seed))
    found = []
    for group in GROUPS:
        for i in range(per_group):
            window = int(rng.integers(SHORTEST, LONGEST + 1))
            found.append(PeriodicQuery(f"{group} {i}", group, window, int(rng.integers(1, window // 2 + 1))))
    return tuple(found)


def model_of(found: Counters, finish: bool = True) -> CostModel:
    """What the scheduler knows of a group: mean work by the number of intervals. ``finish``: whether queries go
    through the counters of their windows, or answer for nothing once these are added up."""
    scan, own = found.scan.mean(axis=0), found.finish.mean(axis=0) * finish
    return CostModel(lambda n: float(scan[n]), lambda q: float(own[q.window]))
