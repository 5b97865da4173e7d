"""The synthetic input of Golab & Ozsu (2003), 6.1, and of the thesis, 5.4.1.

One tuple per iteration of a loop, of stream i with probability lambda_i / sum of lambda; its timestamp is the number of
the iteration, its value uniform over 1 ... v_i. So a unit of time, in which stream i brings lambda_i tuples, is sum of
lambda iterations, and the windows are that many times T_i long. (Windows of T_i iterations instead would not give the
cost ratios of Table 8: they would hold a fifteenth of the tuples.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from muntin.optimizer.multiway.streams import JoinStream
from muntin.research.joins.engine import Merged, Run, merged, run
from muntin.research.joins.setting import Algorithm, Join, Order, Strategy, Window, by_origin


@dataclass(frozen=True)
class Load:
    """Streams, the windows over them, an input, and how many of its rows only fill the windows."""

    streams: tuple[JoinStream, ...]
    given: Merged
    warm: int

    @property
    def unit(self) -> float:
        """Iterations, and so tuples, in a unit of time."""
        return sum(s.rate for s in self.streams)

    @property
    def join(self) -> Join:
        """Equality on the one attribute; nested loops for a stream with one bucket, else hash."""
        return Join.on_one([Window(buckets=s.buckets) for s in self.streams])

    def ticks(self, units: float) -> int:
        """Iterations in so many units of time, at least one."""
        return max(1, round(units * self.unit))

    def hashed(self, *buckets: int) -> Load:
        """The same input with so many buckets on each window (one number: on all)."""
        each = buckets if len(buckets) > 1 else buckets * len(self.streams)
        return replace(self, streams=tuple(replace(s, buckets=b) for s, b in zip(self.streams, each, strict=True)))

    def measure(self, strategy: Strategy) -> Run:
        """Run it; what fills the windows is not counted."""
        return run(self.join, self.given, strategy, warm=self.warm)

    def fastest(self, strategies: Sequence[Strategy], repeats: int) -> list[float]:
        """Microseconds per tuple of each, the least of repeats that go round in turn, so that a busy machine hits all
        alike."""
        times = [[self.measure(s).seconds for s in strategies] for _ in range(repeats)]
        return [1e6 * min(column) / (len(self.given) - self.warm) for column in zip(*times, strict=True)]


def synthetic(
    rates: Sequence[float],
    spans: Sequence[float],
    distinct: Sequence[int],
    tuples: int,
    seed: int = 2003,
    balanced: bool = False,
) -> Load:
    """``tuples`` to be counted, after the longest window and a little more of others.

    ``balanced``: every v tuples of a stream have each of its v values once, in random order. Costs of eager evaluation
    have the same expectation as with independent values, and vary far less where a window has few tuples of the values
    that join.
    """
    streams = tuple(JoinStream(r, t, v) for r, t, v in zip(rates, spans, distinct, strict=True))
    unit = sum(rates)
    warm = round(1.1 * max(spans) * unit)
    rng = np.random.default_rng(seed)
    size = warm + tuples
    stream = rng.choice(len(streams), size, p=np.array(rates) / unit).astype(np.int64)
    value = rng.integers(1, np.array(distinct)[stream], endpoint=True).astype(np.int64)
    if balanced:
        for s, v in enumerate(distinct):
            here = np.flatnonzero(stream == s)
            blocks = rng.permuted(np.tile(np.arange(1, v + 1), (len(here) // v + 1, 1)), axis=1)
            value[here] = blocks.reshape(-1)[: len(here)]
    given = merged(np.arange(size, dtype=np.int64), stream, value)
    return Load(streams, given.with_windows(tuple(round(t * unit) for t in spans)), warm)


def strategy(load: Load, algorithm: Algorithm, order: Order, interval: float = 0, expire: float = 0) -> Strategy:
    """New tuples outermost, the rest in the global ``order``; intervals in units of time, 0 as in ``Strategy``."""
    tau = load.ticks(interval) if interval else 0
    every = load.ticks(expire) if expire else 0
    return Strategy(algorithm, by_origin(order), tau, every)
