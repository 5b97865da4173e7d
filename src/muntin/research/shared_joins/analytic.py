"""Average response times by formula (Hammad et al., 3.1.1 and 3.2): m rows arrive at once, all pairs join.

``t_p``: time to check a pair; S_i = rate * w_i rows in a window.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from muntin.research.harness import Clock
from muntin.research.shared_joins.units import Units, checked_units
from muntin.research.shared_joins.workload import Arrivals
from muntin.scheduling.slice_clock import Responses, play
from muntin.scheduling.slices import Policy, sizes_of

T_P, RATE, BURST = 1e-8, 100.0, 50
"""Seconds a pair, rows a second, rows that arrive together."""

WINDOWS = (1.0, 100.0, 200.0, 300.0, 400.0, 500.0, 600.0)


def lwo(windows: Sequence[float] = WINDOWS, m: int = BURST) -> NDArray[np.float64]:
    """Equation (1), seconds by window."""
    s = RATE * np.array(windows)
    return T_P / 2 * ((s + 1) + (m - 1) * s[-1])


def isolated(windows: Sequence[float] = WINDOWS, m: int = BURST) -> NDArray[np.float64]:
    """Each query alone: (t_p / 2) (m S_i + 1)."""
    return T_P / 2 * (m * RATE * np.array(windows) + 1)


def swf(windows: Sequence[float] = WINDOWS, m: int = BURST) -> NDArray[np.float64]:
    """Equation (2), seconds by window."""
    s = RATE * np.array(windows)
    before = np.append(0.0, s[:-1])
    return T_P * (m * before + (m + 1) / 2 * (s - before))


def counted(
    policy: Policy, windows: Sequence[float] = WINDOWS, m: int = BURST, clock: Clock = "virtual"
) -> Responses:
    """What the scheduler makes of the same rows, by counted pairs or by what these take on this machine."""
    if clock == "virtual":
        pairs = np.tile(np.diff(np.append(0.0, RATE * np.array(windows))), (m, 1))
        return play(policy, sizes_of(windows), np.zeros(m), pairs, pairs.astype(np.int64), 1 / T_P)
    found = timed(tuple(windows), m)
    return play(policy, sizes_of(windows), np.zeros(m), found.seconds, found.results, 1.0)


@cache
def timed(windows: tuple[float, ...] = WINDOWS, m: int = BURST) -> Units:
    """The same rows through the product's join."""
    return checked_units(burst(windows, m), windows, "hash")


def pair_time(windows: tuple[float, ...] = WINDOWS, m: int = BURST) -> float:
    """Seconds a pair on this machine."""
    found = timed(windows, m)
    return float(found.seconds.sum() / found.results.sum())


def burst(windows: Sequence[float], m: int) -> Arrivals:
    """``m`` rows of one stream, a microsecond apart, after those of the other that the largest window holds; all of one
    key."""
    held = int(RATE * max(windows))
    before = np.arange(held) / RATE
    times = np.concatenate([before, before[-1] + 0.5 / RATE + 1e-6 * np.arange(m)])
    streams = np.repeat(np.array([1, 0], np.int8), [held, m])
    return Arrivals(times, streams, np.zeros(held + m, np.int64), held)
