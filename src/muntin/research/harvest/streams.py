"""The epsilon-join's streams of 6.2: X_i(t) = ((D / eta) (t + tau_i) + kappa_i N(0, 1)) mod D."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Rate = Callable[[float], float]


@lru_cache(maxsize=64)
def _selectivity(load: Workload) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, load.drawn_selectivity()))


@dataclass(frozen=True)
class Workload:
    """``rate``: tuples a second of each stream; ``steps``: (from second, rate) that follow it. ``whole``: values are
    rounded down, for an equi-join. ``orders``: of each direction, instead of low selectivity first."""

    rate: float
    kappa: tuple[float, ...] = (2.0, 2.0, 50.0)
    tau: tuple[float, ...] = (0.0, 5.0, 15.0)
    seconds: float = 60.0
    span: float = 20.0
    parts: int = 10
    epsilon: float = 1.0
    domain: float = 1000.0
    eta: float = 50.0
    steps: tuple[tuple[float, float], ...] = ()
    whole: bool = False
    seed: int = 1
    orders: tuple[tuple[int, ...], ...] = ()

    @property
    def m(self) -> int:
        """Streams."""
        return len(self.kappa)

    def values(self, stream: int, t: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
        """X_i at these times."""
        lead = (self.domain / self.eta) * (t + self.tau[stream])
        found = np.mod(lead + self.kappa[stream] * rng.standard_normal(len(t)), self.domain)
        return np.floor(found) if self.whole else found

    @cached_property
    def arrivals(self) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """(times, streams, values, two uniform numbers each), in order of time: a tuple at a random instant of each
        slot of 1 / rate seconds, so that rates are even and no two times are equal."""
        rng = np.random.default_rng(self.seed)
        times, streams, values = [], [], []
        for i in range(self.m):
            parts = [(0.0, self.rate), *self.steps, (self.seconds, 0.0)]
            t = np.concatenate([a + _slots(b - a, r, rng) for (a, r), (b, _) in pairwise(parts)])
            times.append(t)
            streams.append(np.full(len(t), i, np.int64))
            values.append(self.values(i, t, rng))
        at = np.concatenate(times)
        order = np.argsort(at, kind="stable")
        luck = rng.random((len(at), 2))
        return at[order], np.concatenate(streams)[order], np.concatenate(values)[order], luck

    def selectivity(self) -> tuple[tuple[float, ...], ...]:
        """sigma_il: how likely a new tuple of i and one of the window on l match, by drawing pairs."""
        return _selectivity(replace(self, rate=1.0, steps=(), seconds=1.0, seed=1))

    def drawn_selectivity(self, samples: int = 200_000) -> list[list[float]]:
        """As ``selectivity``, drawn now."""
        rng = np.random.default_rng(7)
        found = [[1.0] * self.m for _ in range(self.m)]
        for i in range(self.m):
            for other in range(self.m):
                if other == i:
                    continue
                t = rng.random(samples) * self.eta + self.span
                u = t - rng.random(samples) * self.span
                near = np.abs(self.values(i, t, rng) - self.values(other, u, rng)) <= self.tolerance
                found[i][other] = max(float(near.mean()), 1.0 / samples)
        return found

    @property
    def tolerance(self) -> float:
        """Difference of values up to which they match."""
        return 0.5 if self.whole else self.epsilon

    def at(self, rate: float) -> Workload:
        """The same at another rate."""
        return replace(self, rate=rate)


def _slots(seconds: float, rate: float, rng: np.random.Generator) -> NDArray[np.float64]:
    n = round(seconds * rate)
    found: NDArray[np.float64] = (np.arange(n) + rng.random(n)) / rate
    return found


def streams(m: int, aligned: bool) -> tuple[Sequence[float], Sequence[float]]:
    """(kappa, tau) of 3, 4 or 5 streams; lags of the fourth and fifth go on as those of the first three."""
    kappa = (2.0, 2.0, 50.0, 50.0, 50.0)[:m]
    return kappa, (0.0,) * m if aligned else (0.0, 5.0, 15.0, 10.0, 17.0)[:m]
