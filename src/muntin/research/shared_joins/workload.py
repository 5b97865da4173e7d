"""Streams of integers as in Hammad et al., section 5: windows of their Table 1, exponential and bursty arrivals.

A row matches another with probability 0.002: keys are uniform over 500 integers. Arrivals of a burst are a microsecond
apart; their sizes are floors of Pareto values, and gaps between bursts exponential such that the rate stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray

from muntin.scheduling.slices import slices_of

TABLE_1: dict[str, tuple[float, ...]] = {
    "Uniform": (1, 100, 200, 300, 400, 500, 600),
    "Mostly-Small": (1, 5, 15, 30, 60, 300, 600),
    "Mostly-Large": (1, 60, 300, 420, 510, 570, 600),
    "Small-Large": (1, 5, 15, 300, 510, 570, 600),
}
"""Seven windows each, in seconds."""

KEYS = 500
"""Values of the join attribute: selectivity 0.002 for each row."""

Access = OneOf["hash", "nlj"]


@dataclass(frozen=True)
class Arrivals:
    """Rows of two streams in order of arrival: seconds, stream (0 or 1), key. Those before ``first`` are history, a
    largest window of it, that is there when the run begins."""

    times: NDArray[np.float64]
    streams: NDArray[np.int8]
    keys: NDArray[np.int64]
    first: int

    @property
    def span(self) -> float:
        """Seconds from the first new row to the last."""
        return float(self.times[-1] - self.times[self.first])


def arrivals_of(new: int, rate: float, history: float, seed: int, burst: float = 1.0) -> Arrivals:
    """So many new rows of both streams together, after ``history`` seconds; ``rate``: rows a second of a stream;
    ``burst``: expected size of a burst (1: exponential arrivals of single rows)."""
    rng = np.random.default_rng(seed)
    each = int(rate * history * 1.05) + new
    times = np.concatenate([_times(rng, each, rate, burst) for _ in range(2)])
    streams = np.repeat(np.array([0, 1], np.int8), each)
    keys = rng.integers(0, KEYS, 2 * each)
    order = np.argsort(times, kind="stable")
    times, streams, keys = times[order], streams[order], keys[order]
    first = int(np.searchsorted(times, history))
    end = first + new
    return Arrivals(times[:end], streams[:end], keys[:end], first)


def _times(rng: np.random.Generator, rows: int, rate: float, burst: float) -> NDArray[np.float64]:
    draws, gaps = rng.random(rows), rng.exponential(1.0, rows)
    sizes = np.ones(rows, np.int64) if burst <= 1 else pareto_sizes(draws, burst)
    bursts = int(np.searchsorted(np.cumsum(sizes), rows)) + 1
    sizes = sizes[:bursts]
    begins = np.cumsum(gaps[:bursts]) * sizes.mean() / rate
    begin = np.repeat(begins, sizes)
    place = np.arange(len(begin)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return (begin + place * 1e-6)[:rows]


def pareto_sizes(draws: NDArray[np.float64], expected: float) -> NDArray[np.int64]:
    """Burst sizes of the Pareto distribution with scale 1 and mean ``expected`` (before they are made whole), for
    uniform draws."""
    alpha = expected / (expected - 1)
    return np.floor((1 - draws) ** (-1 / alpha)).astype(np.int64)


def partners(rows: Arrivals, windows: Sequence[float], any_key: bool = False) -> NDArray[np.int64]:
    """By new row and slice, how many rows of the other stream arrived before it, no further back than the slice;
    of its key, or ``any_key``."""
    found = np.zeros((len(rows.times) - rows.first, len(slices_of(windows))), np.int64)
    keys = np.zeros_like(rows.keys) if any_key else rows.keys
    far = float(rows.times[-1]) * 2 + 2 * max(windows)  # apart from any other key's times
    new = np.arange(len(rows.times)) >= rows.first
    for stream in (0, 1):
        own, other = new & (rows.streams == stream), rows.streams != stream
        place = np.sort(keys[other] * far + rows.times[other])
        asked = keys[own] * far + rows.times[own]
        ends = [np.searchsorted(place, asked - w, side="right") for w in [0.0, *sorted(set(windows))]]
        found[own[rows.first :]] = np.stack([a - b for a, b in pairwise(ends)], axis=1)
    return found


def rows_work(
    rows: Arrivals, windows: Sequence[float], access: Access
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """(operations, results) by new row and slice. A row looked at is one operation, and so is a result given out
    (``research.unit``); a hash chain holds the rows of one key, nested loops look at all rows."""
    results = partners(rows, windows)
    looked = results if access == "hash" else partners(rows, windows, any_key=True)
    return (looked + results + 1).astype(np.float64), results

