"""A figure of thesis 3.6: one query, several engines, growing windows, on the synthetic trace and on real flows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from muntin.research.engines import product_runs
from muntin.research.engines.choose import Question, choose
from muntin.research.engines.compare import (
    Point,
    choice_note,
    curves,
    equal_answers,
    equal_naive,
    run_point,
    table,
)
from muntin.research.engines.engine import Engine, Query
from muntin.research.engines.naive import Naive
from muntin.research.engines.workload import Trace, flows
from muntin.research.harness import Check, Outcome, Plot, Setting


@dataclass(frozen=True)
class Common:
    """What every figure has: checks, notes, and counts that do not decide."""

    checks: tuple[Check, ...]
    notes: tuple[str, ...]
    figures: dict[str, object]


@dataclass(frozen=True)
class Study:
    """``trace``: of so many time units. ``question``: the query's text, for the product and its optimizer.

    ``rivals``: the engines that a choice is held against. ``links``: how many the query reads.
    """

    query: Query
    naive: Naive
    trace: Callable[[int], Trace]
    engines: tuple[Engine, ...]
    question: Question
    windows: tuple[int, ...]
    links: int
    rivals: tuple[str, ...] = ("NT", "DIRECT")

    def points(self, setting: Setting) -> list[Point]:
        """All engines and the optimizer's choice at every window. Smoke runs measure fewer tuples."""
        found = []
        for window in self.windows:
            trace = self.trace(window + max(2000, min(20_000, 6_000_000 // window)) // (4 if setting.smoke else 1))
            found.append(self._point(trace, window))
        return found

    def product(self, setting: Setting) -> tuple[list[product_runs.ProductPoint], list[Point]]:
        """The product under its strategies over one more window than fills it, and an engine on the same trace."""
        found, beside = [], []
        for window in (self.windows[0], self.windows[-1]) if setting.smoke else self.windows:
            trace = self.trace(2 * window)
            found.append(product_runs.run_point(self.question.text, trace, window))
            beside.append(run_point(self.query, trace, window, self.engines[:1]))
        return found, beside

    def _point(self, trace: Trace, window: int) -> Point:
        return run_point(self.query, trace, window, (*self.engines, choose(self.question, trace, window)))

    def common(self, points: Sequence[Point], setting: Setting) -> Common:
        """Answers, the product's strategies and its own choice, real flows."""
        window = 60
        trace = self.trace(240)
        engines = (*self.engines, choose(self.question, trace, window))
        ours, beside = self.product(setting)
        checks = [
            equal_answers(points),
            equal_naive(self.query, trace, window, engines, self.naive, 240 * self.links),
            product_runs.equal_strategies(ours, [next(iter(p.measures.values())).log[:, 0] for p in beside]),
            product_runs.own_choice(ours),
        ]
        notes = [*table(points), choice_note(points, self.rivals), product_runs.unmeasured_note(ours)]
        figures = product_runs.figures(ours)
        if setting.shared is None:
            notes.append("real flows: skipped, there is no directory shared beside the repository")
            return Common(tuple(checks), tuple(notes), figures)
        real = self._real(setting)
        answers = equal_answers(real)
        checks.append(Check(f"on real flows: {answers.criterion}", f"real flows: {answers.measured}", answers.ok))
        notes += [*(f"real flows, {line}" for line in table(real)), f"real flows, {choice_note(real, self.rivals)}"]
        return Common(tuple(checks), tuple(notes), figures)

    def _real(self, setting: Setting) -> list[Point]:
        assert setting.shared is not None
        trace = flows(setting.shared, self.links)
        trace = trace.first(2500) if setting.smoke else trace
        return [self._point(trace, units * trace.unit) for units in ((50,) if setting.smoke else (50, 200))]


def outcome(name: str, points: Sequence[Point], own: Sequence[Check], common: Common) -> Outcome:
    """The entry's own checks, then the common ones, with curves of work and time."""
    plots: tuple[Plot, ...] = curves(name, points)
    return Outcome((*own, *common.checks), common.notes, plots, common.figures)
