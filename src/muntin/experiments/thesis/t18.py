"""T18, thesis Figure 3.12: space of Query 2, distinct source addresses.

Deviations: as T16; space is the number of stored tuples, averaged over the instants after the window has filled.
"""

from __future__ import annotations

from muntin.experiments.engines.compare import Point, equal_answers
from muntin.experiments.harness import Check, Entry, Outcome, Plot, Setting
from muntin.experiments.thesis import distinct


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
        Check("delta* state <= 2 x |output| always", f"delta* state <= {worst / 100:.2f} x output", 100 <= worst <= 200),
    )


def stored_curves(points: list[Point]) -> Plot:
    """Stored tuples against the window."""
    names = list(points[0].measures)
    series = {n: [(float(p.window), p.measures[n].stored) for p in points] for n in names}
    return Plot("stored tuples", "window (time units)", "stored tuples", series)


def run(setting: Setting) -> Outcome:
    """The runs of T16."""
    points = distinct.points("source", setting)
    return Outcome((*judge(points), equal_answers(points)), (), (stored_curves(points),))


ENTRY = Entry(
    "T18",
    "Q2 distinct sources: UPA up to two orders of magnitude smaller",
    "stored tuples ratio NT/UPA and DIRECT/UPA >= 10 at the largest window; delta* state <= 2 x |output| always",
    run,
)
