"""T18, thesis Figure 3.12: space of Query 2, distinct source addresses.

Deviations: as T16; space is the number of stored tuples, averaged over the instants after the window has filled.
"""

from __future__ import annotations

import random

from muntin.research.engines.compare import Point, equal_answers
from muntin.research.engines.deltas import DeltaStar, Replay, replay
from muntin.research.harness import Check, Entry, Outcome, Plot, Setting
from muntin.research.thesis import distinct


def judge(points: list[Point]) -> tuple[Check, ...]:
    """The ratio, and the bound on the state of delta*."""
    nt, direct = distinct.savings(points[-1])
    worst = max(p.measures["UPA"].worst for p in points)
    return (
        Check(
            "stored tuples NT/UPA and DIRECT/UPA >= 10 at the largest window",
            f"stored NT/UPA {nt:.1f}, DIRECT/UPA {direct:.1f}",
            min(nt, direct) >= 10,
        ),
        Check(
            "delta* state <= 2 x |output| always", f"delta* state <= {worst / 100:.2f} x output", 100 <= worst <= 200
        ),
    )


def stored_curves(points: list[Point]) -> Plot:
    """Stored tuples against the window."""
    names = list(points[0].measures)
    series = {n: [(float(p.window), p.measures[n].stored) for p in points] for n in names}
    return Plot("stored tuples", "window (time units)", "stored tuples", series)


def judge_duplicate(latest: Replay, youngest: Replay) -> Check:
    """Which duplicate delta* must keep when lifetimes vary, as in a join's output."""
    found = f"on WK input {latest.wrong} wrong instants with the latest exp, {youngest.wrong} with the youngest"
    ok = latest.wrong == 0 and youngest.wrong > 0 and latest.worst <= 2
    return Check("on WK input the duplicate with the latest exp is kept (the printed youngest fails)", found, ok)


def variable_lifetimes(steps: int) -> list[tuple[int, int, int]]:
    """One tuple a step with a lifetime of 1 to 40 steps."""
    rng = random.Random(31)
    return [(t, t + rng.randint(1, 40), rng.randrange(12)) for t in range(steps)]


def run(setting: Setting) -> Outcome:
    """The runs of T16, and delta* over tuples whose lifetimes vary."""
    points = distinct.points("source", setting)
    steps = 500 if setting.smoke else 2000
    items = variable_lifetimes(steps)
    forms = [replay(DeltaStar(youngest), items, steps) for youngest in (False, True)]
    checks = (*judge(points), judge_duplicate(*forms), equal_answers(points))
    return Outcome(checks, (), (stored_curves(points),))


ENTRY = Entry(
    "T18",
    "Q2 distinct sources: UPA up to two orders of magnitude smaller",
    "stored tuples ratio NT/UPA and DIRECT/UPA >= 10 at the largest window; delta* state <= 2 x |output| always",
    run,
)
