"""T19, thesis Figure 3.13: space of Query 2, distinct source-destination pairs. Deviations: as T18."""

from __future__ import annotations

from muntin.research.engines.compare import Point, equal_answers
from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.thesis import distinct
from muntin.research.thesis.t18 import stored_curves


def judge(points: list[Point], sources: list[Point]) -> tuple[Check, ...]:
    """The ratio against both rivals, and against T18's; ``sources``: the runs of T18."""
    ratio, other = min(distinct.savings(points[-1])), min(distinct.savings(sources[-1]))
    return (
        Check("ratio > 1.3", f"stored min(NT,DIRECT)/UPA {ratio:.2f}", ratio > 1.3),
        Check("lower than T18's", f"{ratio:.2f} < {other:.2f}", ratio < other),
    )


def run(setting: Setting) -> Outcome:
    """The runs of T17."""
    points = distinct.points("pair", setting)
    own = judge(points, distinct.points("source", setting))
    return Outcome((*own, equal_answers(points)), (), (stored_curves(points),))


ENTRY = Entry("T19", "Q2 distinct pairs: UPA still significantly smaller", "ratio > 1.3, lower than T18's", run)
