"""Time correlations, learned from results: one histogram a stream (Gedik et al., 5.2.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Lags:
    """How much younger the parts of results that come from a stream are than those of stream 0: an equi-width
    histogram of T(t_i) - T(t_0) over [``low``, ``high``] seconds; ``weights`` (any scale) by bucket."""

    low: float
    high: float
    weights: NDArray[np.float64]

    @property
    def width(self) -> float:
        """Of a bucket, seconds."""
        return (self.high - self.low) / len(self.weights)

    def middles(self) -> NDArray[Any]:
        """The middle of each bucket."""
        return self.low + self.width * (np.arange(len(self.weights)) + 0.5)

    def share(self, starts: NDArray[Any], ends: NDArray[Any]) -> NDArray[Any]:
        """Of all results, those whose difference is in [start, end]; a bucket that is cut counts in part."""
        total = self.weights.sum()
        if not total > 0:
            return np.zeros(np.shape(starts))
        edges = self.low + self.width * np.arange(len(self.weights) + 1)
        below = np.concatenate(([0.0], np.cumsum(self.weights) / total))
        found: NDArray[Any] = np.interp(ends, edges, below) - np.interp(starts, edges, below)
        return found

    @staticmethod
    def of(differences: NDArray[np.float64], low: float, high: float, buckets: int) -> Lags:
        """From differences in seconds; those outside are left out."""
        return Lags(low, high, np.histogram(differences, buckets, (low, high))[0].astype(float))


def scores(lags: Sequence[Lags | None], i: int, l: int, span: float, parts: int) -> tuple[float, ...]:  # noqa: E741
    """p_i^k of the parts of window l (``span`` seconds) for new tuples of stream i: how likely T(t_i) - T(t_l) is
    within part k. ``lags[0]`` is not read: a stream is not younger than itself.

    Equations (1) for i = 0, (2) else, which takes the streams' differences to stream 0 as independent; for l = 0 that
    difference is 0.
    """
    b = span / parts
    starts = b * np.arange(parts)
    if i == 0:
        found = _known(lags, l).share(-starts - b, -starts)
    elif l == 0:
        found = _known(lags, i).share(starts, starts + b)
    else:
        other = _known(lags, l)
        total = other.weights.sum()
        own = _known(lags, i).share(starts[:, None] + other.middles(), starts[:, None] + b + other.middles())
        found = own @ (other.weights / total) if total > 0 else np.zeros(parts)
    return tuple(float(p) for p in np.maximum(found, 0.0))


def _known(lags: Sequence[Lags | None], which: int) -> Lags:
    found = lags[which]
    assert found is not None, "stream 0 alone has no histogram"
    return found
