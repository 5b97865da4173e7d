"""Runs several engines on the same trace, and what every figure of thesis 3.6 checks about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from muntin.research.engines.engine import Engine, Measure, Query, measure
from muntin.research.engines.naive import Naive
from muntin.research.engines.workload import Trace
from muntin.research.harness import Check, Plot


@dataclass(frozen=True)
class Point:
    """All engines at one window size, by name."""

    window: int
    measures: dict[str, Measure]

    def work(self, name: str) -> float:
        return self.measures[name].work

    def seconds(self, name: str) -> float:
        return self.measures[name].seconds


def run_point(query: Query, trace: Trace, window: int, engines: Sequence[Engine]) -> Point:
    """Every engine over the trace, once. Engines that are the same but for their name are run once."""
    found = {e: measure(query, trace, window, e) for e in {replace(e, name="") for e in engines}}
    return Point(window, {e.name: replace(found[replace(e, name="")], engine=e) for e in engines})


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


def choice_note(points: Sequence[Point], rivals: Sequence[str]) -> str:
    """How the optimizer's choice among the thesis' structures, told their statistics, does; it decides nothing."""
    ratios = [(_ratio(p.work, rivals), _ratio(p.seconds, rivals)) for p in points]
    told = ", ".join(f"{p.window}: {w:.2f} (time {s:.2f})" for p, (w, s) in zip(points, ratios, strict=True))
    return f"the optimizer's choice among the thesis' structures / better of {' and '.join(rivals)}, by window: {told}"


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
            "operations per 1,000 tuples",
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
    """One note a window: operations and microseconds per 1,000 tuples of each engine."""
    return tuple(
        f"window {p.window}: "
        + ", ".join(f"{n} {m.work:.0f} operations {1e6 * m.seconds:.0f} us" for n, m in p.measures.items())
        for p in points
    )
