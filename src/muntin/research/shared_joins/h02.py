"""H2, Hammad et al. Figure 2: the trace of largest window only."""

from __future__ import annotations

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.shared_joins.pairs import FIGURE, FIGURE_WINDOWS, SharedJoin, Trace
from muntin.scheduling.lwo import LWO

A11 = [("a11", "b8"), ("a11", "b4"), ("a11", "b0")]
B12 = [("a9", "b12"), ("a5", "b12"), ("a1", "b12")]


def judge(trace: Trace) -> tuple[Check, ...]:
    """What leaves after each slice, and for whom."""
    steps = [{q: [p] for q in range(i, 3)} for pairs in (A11, B12) for i, p in enumerate(pairs)]
    outers = [u.outer for u in trace.units]
    return (
        Check("each pair leaves for the windows that reach it", f"{trace.steps}", trace.steps == steps),
        Check("b12 starts when a11 has scanned all of w3", f"outers {outers}", outers == [0, 0, 0, 1, 1, 1]),
    )


def run(setting: Setting) -> Outcome:
    """Both rows have arrived when the first scan begins."""
    return Outcome(judge(SharedJoin(LWO, FIGURE_WINDOWS).run(FIGURE, 6, lambda n: 0)))


ENTRY = Entry(
    "H2",
    "(a11,b8)->Q1,Q2,Q3; (a11,b4)->Q2,Q3; (a11,b0)->Q3; then (a9,b12),(a5,b12),(a1,b12) in the same way",
    "exact trace; b12 starts only after a11 has scanned all of w3",
    run,
)
