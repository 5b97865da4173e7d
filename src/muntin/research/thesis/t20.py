"""T20, thesis Figure 3.14: processing cost of Query 3, the negation of two links on the source address.

UPA is forced to the thesis' structure, a calendar queue whose premature deletions search all partitions, and must lose
with it. The engine's own choice is the product's: its optimizer, given the query's text and the statistics of the
windows, leaves the calendar queue for negative tuples where results leave early too often (in the notes). Deviations: a
synthetic trace; windows of 25 to 1,600 time units; operations decide. Negation keeps duplicates (EXCEPT ALL) with both
corrections of the rules of 2.2.2. Premature expirations are counted as a share of all results. They are few when the
links share few sources, which is the second trace.
"""

from __future__ import annotations

from dataclasses import replace

from muntin.research.engines import naive
from muntin.research.engines.choose import NEGATION
from muntin.research.engines.compare import Point, equal_answers
from muntin.research.engines.engine import DIRECT, NT, UPA, negation
from muntin.research.engines.study import Study, outcome
from muntin.research.engines.workload import synthetic
from muntin.research.harness import Check, Entry, Outcome, Setting

WINDOWS = (25, 50, 100, 200, 400, 800, 1600)


def study(shared: float = 1.0) -> Study:
    """Query 3; ``shared``: the share of the second link's tuples whose sources the first link may have."""
    return Study(
        negation,
        naive.negation,
        lambda units: synthetic(units, 2, shared=shared),
        (NT, DIRECT, UPA),
        NEGATION,
        WINDOWS,
        2,
    )


def judge(points: list[Point], rare: list[Point]) -> tuple[Check, ...]:
    """The crossover, and its absence where few results leave early (``rare``)."""
    first, last = points[0], points[-1]
    small, large = first.work("UPA") / first.work("NT"), last.work("UPA") / last.work("NT")
    early = last.measures["UPA"].premature
    few = max(p.measures["UPA"].premature for p in rare)
    worst = max(p.work("UPA") / p.work("NT") for p in rare)
    return (
        Check("UPA <= NT at the smallest window", f"UPA/NT {small:.2f} at the smallest", small <= 1),
        Check("UPA > NT at the largest window", f"{large:.2f} at the largest", large > 1),
        Check(">= 25% premature", f"{early:.0%} premature there", early >= 0.25),
        Check(
            "with < 5% premature expirations UPA <= NT at all sizes",
            f"with {few:.1%} premature UPA/NT <= {worst:.2f}",
            few < 0.05 and worst <= 1,
        ),
    )


def run(setting: Setting) -> Outcome:
    """Both traces, all engines at every window."""
    chosen, other = study(1.0), study(0.02)
    points, rare = chosen.points(setting), other.points(setting)
    common = chosen.common([*points, *rare], setting)
    shares = tuple(f"window {p.window}: {p.measures['UPA'].premature:.0%} premature" for p in points)
    checks = (*judge(points, rare), equal_answers(rare))
    return outcome("Query 3", points, checks, replace(common, notes=(*common.notes, *shares)))


ENTRY = Entry(
    "T20",
    "Q3 negation: UPA (calendar queue) slightly better for small windows, worse beyond; ~40% premature expirations",
    "a crossover exists: UPA<=NT at the smallest window and UPA>NT at the largest, with >= 25% premature; "
    "with <5% premature expirations UPA <= NT at all sizes",
    run,
)
