"""A figure of thesis 3.6: one query, several engines, growing windows, on the synthetic trace and on real flows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from muntin.research.engines.compare import (
    Point,
    curves,
    equal_answers,
    equal_naive,
    own_choice,
    run_point,
    settle,
    table,
)
from muntin.research.engines.engine import Engine, Query
from muntin.research.engines.naive import Naive
from muntin.research.engines.workload import Trace, flows
from muntin.research.harness import Check, Outcome, Plot, Setting


@dataclass(frozen=True)
class Study:
    """``trace``: of so many time units. ``choose``: the engine's own choice for a trace and a window.

    ``rivals``: the engines that the own choice is held against. ``links``: how many the query reads.
    """

    query: Query
    naive: Naive
    trace: Callable[[int], Trace]
    engines: tuple[Engine, ...]
    choose: Callable[[Trace, int], Engine]
    windows: tuple[int, ...]
    links: int
    rivals: tuple[str, ...] = ("NT", "DIRECT")
    repeats: int = 2

    def points(self, setting: Setting) -> list[Point]:
        """All engines and the own choice at every window. Smoke runs leave out repeats and measure fewer tuples."""
        found = []
        for window in self.windows:
            trace = self.trace(window + max(2000, min(20_000, 6_000_000 // window)) // (4 if setting.smoke else 1))
            found.append(self._point(trace, window, 1 if setting.smoke else self.repeats))
        return found

    def _point(self, trace: Trace, window: int, repeats: int) -> Point:
        engines = (*self.engines, self.choose(trace, window))
        return settle(self.query, trace, run_point(self.query, trace, window, engines, repeats), self.rivals)

    def common(self, points: Sequence[Point], setting: Setting) -> tuple[tuple[Check, ...], tuple[str, ...]]:
        """Checks of every figure (answers, own choice, real flows), and notes."""
        window = 60
        trace = self.trace(240)
        engines = (*self.engines, self.choose(trace, window))
        checks = [
            equal_answers(points),
            equal_naive(self.query, trace, window, engines, self.naive, 240 * self.links),
            *own_choice(points, self.rivals),
        ]
        if setting.shared is None:
            return tuple(checks), (
                *table(points),
                "real flows: skipped, there is no directory shared beside the repository",
            )
        real = self._real(setting)
        on_flows = [equal_answers(real), own_choice(real, self.rivals)[0]]
        checks += [Check(f"on real flows: {c.criterion}", f"real flows: {c.measured}", c.ok) for c in on_flows]
        return tuple(checks), (*table(points), *(f"real flows, {line}" for line in table(real)))

    def _real(self, setting: Setting) -> list[Point]:
        assert setting.shared is not None
        trace = flows(setting.shared, self.links)
        trace = trace.first(2500) if setting.smoke else trace
        return [self._point(trace, units * trace.unit, 1) for units in ((50,) if setting.smoke else (50, 200))]


def outcome(
    name: str, points: Sequence[Point], own: Sequence[Check], common: tuple[tuple[Check, ...], tuple[str, ...]]
) -> Outcome:
    """The entry's own checks, then the common ones, with curves of work and time."""
    checks, notes = common
    plots: tuple[Plot, ...] = curves(name, points)
    return Outcome((*own, *checks), notes, plots)
