"""The thesis' join algorithms against the period Delta (5.4.3): Table 5.5's parameters, the optimal order, counted
tuple accesses per 1,000 tuples. Delta is the interval of expiry for eager evaluation, of re-execution for the lazy
ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from muntin.research.harness import Plot
from muntin.research.joins.measured import load_of
from muntin.research.joins.parameters import TABLE_5_5
from muntin.research.joins.setting import Algorithm
from muntin.research.joins.workload import strategy

ORDER = (1, 0, 2, 3)
DELTAS = (2, 5, 10, 15, 20, 30)
NAMES: dict[str, Algorithm] = {"eager": "eager", "lazy": "no-restore", "lazyR": "restore"}

Curve = dict[int, float]
"""Delta -> cost; eager has 0 too."""
Curves = dict[str, Curve]


@cache
def _runs(buckets: int, tuples: int) -> dict[str, dict[int, tuple[float, float]]]:
    """Accesses and comparisons of times per 1,000 tuples."""
    load = load_of(TABLE_5_5, tuples / 13, 36).hashed(buckets)
    found: dict[str, dict[int, tuple[float, float]]] = {name: {} for name in NAMES}
    for name, algorithm in NAMES.items():
        for delta in (0, *DELTAS) if name == "eager" else DELTAS:
            intervals = (0, delta) if name == "eager" else (delta, 0)
            r = load.measure(strategy(load, algorithm, ORDER, *intervals))
            found[name][delta] = 1000 * r.counts.accesses / r.tuples, 1000 * r.counts.times / r.tuples
    return found


def costs(buckets: int, tuples: int) -> Curves:
    """Accesses per 1,000 tuples by algorithm and Delta; the same call is measured once."""
    return {name: {d: c for d, (c, _) in curve.items()} for name, curve in _runs(buckets, tuples).items()}


def restoring(tuples: int, deltas: Sequence[int]) -> Curve:
    """lazyR with nested loops at other periods."""
    load = load_of(TABLE_5_5, tuples / 13, 36)
    runs = {d: load.measure(strategy(load, "restore", ORDER, d)) for d in deltas}
    return {d: 1000 * r.counts.accesses / r.tuples for d, r in runs.items()}


def with_times(buckets: int, tuples: int) -> Curves:
    """As ``costs``, with each comparison of times as one more access."""
    return {name: {d: c + t for d, (c, t) in curve.items()} for name, curve in _runs(buckets, tuples).items()}


def told(curves: Curves) -> str:
    """The numbers, for notes."""
    return "; ".join(f"{n} " + ", ".join(f"{d}: {c:.0f}" for d, c in curve.items()) for n, curve in curves.items())


def plot(name: str, curves: Curves) -> Plot:
    """The figure."""
    series = {n: [(float(d), c) for d, c in curve.items()] for n, curve in curves.items()}
    return Plot(name, "Delta", "tuple accesses per 1,000 tuples", series, log=False)
