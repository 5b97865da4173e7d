"""T16, thesis Figure 3.10: processing cost of Query 2, distinct source addresses (about 1,650).

Deviations: a synthetic trace; windows of 2,500 to 40,000 time units; operations decide. Values are
looked up
through a hash table with 10 partitions in every engine. DIRECT keeps its base window in arrival order, which is its
order of expiry, so only its results are looked through at every arrival. NT's hash chains grow at their heads, as
usual,
so the oldest tuple of a chain is found last.
"""

from __future__ import annotations

from muntin.research.engines.compare import Point
from muntin.research.engines.study import outcome
from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.thesis import distinct


def judge(points: list[Point]) -> tuple[Check, ...]:
    """The figure's ratio."""
    nt, direct = distinct.gains(points[-1])
    found = f"NT/UPA {nt:.1f}, DIRECT/UPA {direct:.1f}"
    return (Check("ratio >= 4 at the largest window", found, min(nt, direct) >= 4),)


def run(setting: Setting) -> Outcome:
    """All engines at every window."""
    points = distinct.points("source", setting)
    return outcome("Query 2 sources", points, judge(points), distinct.study("source", setting).common(points, setting))


ENTRY = Entry(
    "T16",
    "Q2 distinct sources: UPA one order of magnitude faster than NT and DIRECT",
    "ratio >= 4 at the largest window",
    run,
)
