"""The thesis' join algorithms against the period Delta (5.4.3): Table 5.5's parameters, the optimal order, operations
(``research.unit``) per 1,000 tuples. The range of Delta is not in the text: here half a window. Delta is the interval
of expiry for eager evaluation, of re-execution for the lazy ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Literal as OneOf

from muntin.research.harness import Plot
from muntin.research.joins.engine import Counts
from muntin.research.joins.measured import load_of
from muntin.research.joins.parameters import TABLE_5_5
from muntin.research.joins.setting import Algorithm
from muntin.research.joins.workload import strategy

ORDER = (1, 0, 2, 3)
DELTAS = (2, 5, 10, 15, 20, 30, 40, 50)
NAMES: dict[str, Algorithm] = {"eager": "eager", "lazy": "no-restore", "lazyR": "restore"}

Unit = OneOf["operations", "accesses"]

Curve = dict[int, float]
"""Delta -> cost; eager has 0 too."""
Curves = dict[str, Curve]


@cache
def _runs(buckets: int, tuples: int) -> dict[str, dict[int, Counts]]:
    load = load_of(TABLE_5_5, tuples / 13, 36).hashed(buckets)
    found: dict[str, dict[int, Counts]] = {name: {} for name in NAMES}
    for name, algorithm in NAMES.items():
        for delta in (0, *DELTAS) if name == "eager" else DELTAS:
            intervals = (0, delta) if name == "eager" else (delta, 0)
            found[name][delta] = load.measure(strategy(load, algorithm, ORDER, *intervals)).counts
    return found


def costs(buckets: int, tuples: int, unit: Unit = "operations") -> Curves:
    """Operations (or accesses) per 1,000 tuples by algorithm and Delta; the same call is measured once."""
    runs = _runs(buckets, tuples)
    return {n: {d: 1000 * getattr(c, unit) / tuples for d, c in curve.items()} for n, curve in runs.items()}


def figures(tuples: int, buckets: Sequence[int]) -> dict[str, Curves]:
    """The costs in the unit that does not decide."""
    return {f"accesses per 1,000 tuples, {b} buckets": costs(b, tuples, "accesses") for b in buckets}


def parts(c: Counts, tuples: int) -> str:
    """What the operations of a run are, per tuple."""
    named = (("looks", c.looked + c.scanned), ("comparisons of times", c.times), ("visits for expiry", c.expiry))
    return ", ".join(f"{n / tuples:.1f} {name}" for name, n in named)


def counted(tuples: int, buckets: int, *at: tuple[str, int]) -> str:
    """The parts of runs (algorithm, Delta): why one is dearer than another."""
    runs = _runs(buckets, tuples)
    told = "; ".join(f"{n} at {d}: {parts(runs[n][d], tuples)}" for n, d in at)
    return f"operations a tuple with {buckets} bucket(s), {told}"


def told(curves: Curves) -> str:
    """The numbers, for notes."""
    return "; ".join(f"{n} " + ", ".join(f"{d}: {c:.0f}" for d, c in curve.items()) for n, curve in curves.items())


def plot(name: str, curves: Curves) -> Plot:
    """The figure."""
    series = {n: [(float(d), c) for d, c in curve.items()] for n, curve in curves.items()}
    return Plot(name, "Delta", "operations per 1,000 tuples", series, log=False)
