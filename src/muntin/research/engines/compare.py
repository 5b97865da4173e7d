"""Runs several engines on the same trace, and what every figure of thesis 3.6 checks about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from muntin.research.engines.engine import Engine, Measure, Query, measure
from muntin.research.engines.naive import Naive
from muntin.research.engines.workload import Trace
from muntin.research.harness import Check, Plot

MARGIN = 1.10
"""How far the engine's own choice may stay behind the better of NT and DIRECT."""


@dataclass(frozen=True)
class Point:
    """All engines at one window size, by name."""

    window: int
    measures: dict[str, Measure]

    def work(self, name: str) -> float:
        return self.measures[name].work

    def seconds(self, name: str) -> float:
        return self.measures[name].seconds


def run_point(query: Query, trace: Trace, window: int, engines: Sequence[Engine], repeats: int) -> Point:
    """Every engine over the trace; repeats go round in turn, so that a busy machine hits all of them alike.

    Engines that are the same but for their name are run once.
    """
    best: dict[Engine, Measure] = {}
    for _ in range(repeats):
        for e in {replace(e, name="") for e in engines}:
            found = measure(query, trace, window, e)
            kept = best.get(e)
            best[e] = found if kept is None else replace(kept, seconds=min(kept.seconds, found.seconds))
    return Point(window, {e.name: replace(best[replace(e, name="")], engine=e) for e in engines})


def settle(query: Query, trace: Trace, point: Point, rivals: Sequence[str], more: int = 8) -> Point:
    """Repeat measures while the own choice looks slow: the least of more runs is nearer to the undisturbed time."""
    for _ in range(more):
        if _ratio(point.seconds, rivals) <= MARGIN:
            return point
        again = run_point(query, trace, point.window, [m.engine for m in point.measures.values()], 1)
        point = Point(
            point.window,
            {n: replace(m, seconds=min(m.seconds, again.seconds(n))) for n, m in point.measures.items()},
        )
    return point


def _ratio(cost: Callable[[str], float], rivals: Sequence[str]) -> float:
    return cost("own") / min(cost(n) for n in rivals)


def equal_answers(points: Sequence[Point]) -> Check:
    """All engines give the same answer at every instant of every run."""
    worse = [p.window for p in points if len({m.log.tobytes() for m in p.measures.values()}) > 1]
    instants = sum(len(next(iter(p.measures.values())).log) for p in points)
    found = f"answers equal at {instants} instants" if not worse else f"answers differ at windows {worse}"
    return Check("all engines give equal answers at every instant", found, not worse)


def equal_naive(query: Query, trace: Trace, window: int, engines: Sequence[Engine], naive: Naive, size: int) -> Check:
    """Every engine equals a recomputation from scratch at every instant of the first ``size`` tuples."""
    short = trace.first(size)
    expected = naive(short, window)
    wrong = [e.name for e in engines if not np.array_equal(measure(query, short, window, e).log, expected)]
    found = f"equal to naive recomputation at {len(expected)} instants" if not wrong else f"wrong: {', '.join(wrong)}"
    return Check("answers equal a naive recomputation of a prefix", found, not wrong)


def own_choice(points: Sequence[Point], rivals: Sequence[str]) -> tuple[Check, Check]:
    """The engine's own choice is at most 10 % behind the better rival at every window, in work and in time."""
    work = max(_ratio(p.work, rivals) for p in points)
    seconds = max(_ratio(p.seconds, rivals) for p in points)
    better = " and ".join(rivals)
    return (
        Check(
            f"own choice / better of {better} <= 1.10 in work at every window",
            f"own work ratio {work:.2f}",
            work <= MARGIN,
        ),
        Check(
            f"own choice / better of {better} <= 1.10 in time at every window",
            f"own time ratio {seconds:.2f}",
            seconds <= MARGIN,
        ),
    )


def slope(points: Sequence[Point], name: str) -> float:
    """Growth of work per unit of window, from the first point to the last."""
    a, b = points[0], points[-1]
    return (b.work(name) - a.work(name)) / (b.window - a.window)


def curves(name: str, points: Sequence[Point]) -> tuple[Plot, ...]:
    """Work and time against the window."""
    names = list(points[0].measures)
    return (
        Plot(
            f"{name} work",
            "window (time units)",
            "tuple accesses per 1,000 tuples",
            {n: [(p.window, p.work(n)) for p in points] for n in names},
        ),
        Plot(
            f"{name} time",
            "window (time units)",
            "ms per 1,000 tuples",
            {n: [(p.window, 1e3 * p.seconds(n)) for p in points] for n in names},
        ),
    )


def table(points: Sequence[Point]) -> tuple[str, ...]:
    """One note a window: work and microseconds per 1,000 tuples of each engine."""
    return tuple(
        f"window {p.window}: "
        + ", ".join(f"{n} {m.work:.0f} accesses {1e6 * m.seconds:.0f} us" for n, m in p.measures.items())
        for p in points
    )
