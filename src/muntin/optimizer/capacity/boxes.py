"""Drop boxes at the sources of a plan that keep it feasible and cost the least output (Ayad & Naughton 2004, 4).

Boxes above a join never help (observation 3). With windows of rows, work and output are linear in the shares: a
continuous knapsack. Windows of time shrink with what is dropped, so both are polynomials; where all windows are of
time the best shares are the one solution of a geometric program, which exchanging work between pairs of boxes finds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations

from muntin.optimizer.capacity.model import Plan, Source, alone, flow, is_linear, read_by

Shares = tuple[float, ...]
Polynomial = Callable[[Sequence[float]], float]


@dataclass(frozen=True)
class Boxes:
    """Share of each source that is let in (1: no box), and what the plan then gives (tuples a second) and takes."""

    shares: Shares
    output: float
    work: float

    @property
    def worth(self) -> float:
        """R(p) = lambda / C, what plans are compared by (equation 21)."""
        return self.output / self.work if self.work else math.inf


def selections_box(works: Sequence[float]) -> float:
    """Share of the one box that a chain of selections needs, at its source (equation 16); ``works``: C of each."""
    return min(1.0, 1 / sum(works)) if sum(works) > 0 else 1.0


def ratios(plan: Plan, sources: Sequence[Source]) -> tuple[float, ...]:
    """Output gained by utilisation spent on each source; they order the knapsack (step 2)."""
    flows = [alone(plan, sources, i) for i in range(len(sources))]
    return tuple(f.rate / f.work if f.work else math.inf for f in flows)


def best_boxes(plan: Plan, sources: Sequence[Source], capacity: float = 1.0) -> Boxes:
    """The shares with the most output at a utilisation of at most ``capacity``.

    Cost: O(n) evaluations with windows of rows; some thousands of them with windows of time.
    """
    if is_linear(sources):
        flows = [alone(plan, sources, i) for i in range(len(sources))]
        return linear_boxes([f.rate for f in flows], [f.work for f in flows], capacity)
    whole = flow(plan, sources)
    if whole.work <= capacity:
        return Boxes((1.0,) * len(sources), whole.rate, whole.work)
    shares = exchanged(
        lambda x: flow(plan, sources, x).rate,
        lambda x: flow(plan, sources, x).work,
        len(sources),
        capacity,
        [i in read_by(plan) for i in range(len(sources))],
    )
    kept = flow(plan, sources, shares)
    return Boxes(shares, kept.rate, kept.work)


def linear_boxes(gains: Sequence[float], works: Sequence[float], capacity: float) -> Boxes:
    """The best boxes where each source adds so much output and work at share 1."""
    if sum(works) <= capacity:
        return Boxes((1.0,) * len(gains), sum(gains), sum(works))
    x = knapsack(gains, works, capacity)
    return Boxes(
        x, sum(g * y for g, y in zip(gains, x, strict=True)), sum(w * y for w, y in zip(works, x, strict=True))
    )


def knapsack(gains: Sequence[float], works: Sequence[float], capacity: float) -> Shares:
    """Most ``gains`` . x with ``works`` . x <= ``capacity``, 0 <= x <= 1: the last one in part."""
    shares = [0.0] * len(gains)
    order = sorted(range(len(gains)), key=lambda i: -(gains[i] / works[i]) if works[i] else -math.inf)
    left = capacity
    for i in order:
        shares[i] = 1.0 if works[i] <= left else left / works[i]
        left -= shares[i] * works[i]
        if left <= 0:
            break
    return tuple(shares)


def exchanged(
    output: Polynomial,
    work: Polynomial,
    n: int,
    capacity: float,
    used: Sequence[bool] | None = None,
    precision: float = 1e-7,
) -> Shares:
    """Shares in (0, 1] (1 of what is not ``used``) with ``work`` = ``capacity``: no exchange between two of them gives
    more ``output``.

    Both grow with each share. The best there is where output is one monomial and work a posynomial (a logarithm of the
    shares makes it convex): windows of time alone. Else the best near equal shares. ``precision``: relative,
    of a share.
    """
    which = [i for i in range(n) if used is None or used[i]]
    shares = _lowered(work, [1.0] * n, which, capacity)
    step = 1.0
    while step > precision:
        better = False
        for i, j in permutations(which, 2):
            tried = list(shares)
            tried[i] = min(1.0, tried[i] * math.exp(step))
            tried = _lowered(work, tried, (j,), capacity)
            if work(tried) <= capacity * (1 + 1e-9) and output(tried) > output(shares) * (1 + 1e-12):
                shares, better = tried, True
        step = step if better else step / 2
    return tuple(shares)


def _lowered(work: Polynomial, shares: list[float], which: Sequence[int], capacity: float) -> list[float]:
    """The shares ``which`` times the greatest factor that keeps the work in bounds, found by bisection."""

    def scaled(factor: float) -> list[float]:
        return [s * factor if i in which else s for i, s in enumerate(shares)]

    low, high = 0.0, 1 / max(shares[i] for i in which)
    if work(scaled(high)) <= capacity:
        return scaled(high)
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if work(scaled(middle)) <= capacity else (low, middle)
    return scaled(low)
