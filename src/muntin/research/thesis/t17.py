"""T17, thesis Figure 3.11: processing cost of Query 2, distinct source-destination pairs (about ten times the sources).

Deviations: as T16. "Large windows" are the upper half of the list.
"""

from __future__ import annotations

from muntin.research.engines.compare import Point
from muntin.research.engines.study import outcome
from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.thesis import distinct


def judge(points: list[Point], sources: list[Point]) -> tuple[Check, ...]:
    """The figure's trends; ``sources``: the runs of T16."""
    large = points[len(points) // 2 :]
    gain, fewer = distinct.gains(points[-1])[0], distinct.gains(sources[-1])[0]
    slowest = min(p.work("DIRECT") / max(p.work("NT"), p.work("UPA")) for p in large)
    return (
        Check("NT/UPA >= 1.3", f"NT/UPA {gain:.2f}", gain >= 1.3),
        Check("DIRECT slowest at large windows", f"DIRECT/next slowest >= {slowest:.2f}", slowest > 1),
        Check("advantage smaller than in T16", f"{gain:.2f} < {fewer:.2f}", gain < fewer),
    )


def run(setting: Setting) -> Outcome:
    """All engines at every window."""
    points = distinct.points("pair", setting)
    own = judge(points, distinct.points("source", setting))
    return outcome("Query 2 pairs", points, own, distinct.study("pair", setting).common(points, setting))


ENTRY = Entry(
    "T17",
    "Q2 distinct pairs: UPA ~2x faster than NT (weak delta); DIRECT poor",
    "NT/UPA >= 1.3; DIRECT slowest at large windows; advantage smaller than in T16",
    run,
)
