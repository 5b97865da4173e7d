"""T15, thesis Figure 3.9: processing cost of Query 1 with protocol = telnet (about ten times the results of ftp).

Deviations: as T14, with windows of 2,000 to 16,000 time units (the thesis: 2,000 to 200,000).
"""

from __future__ import annotations

from dataclasses import replace

from muntin.research.engines import naive
from muntin.research.engines.choose import join_question
from muntin.research.engines.compare import Point
from muntin.research.engines.engine import DIRECT, NT, UPA, UPA50, join_of
from muntin.research.engines.study import Study, outcome
from muntin.research.engines.workload import synthetic
from muntin.research.harness import Check, Entry, Outcome, Setting

TELNET = 2


def study(windows: tuple[int, ...] = (2000, 4000, 8000, 16_000)) -> Study:
    """Query 1 with telnet; one calendar queue with 10 partitions, one with 50."""
    return Study(
        join_of(TELNET),
        naive.join_of(TELNET),
        lambda units: synthetic(units, 2),
        (NT, DIRECT, replace(UPA, name="UPA(10)"), UPA50),
        join_question(TELNET),
        windows,
        2,
    )


def judge(points: list[Point]) -> tuple[Check, ...]:
    """The figure's trends."""
    last = points[-1]
    others = ("NT", "UPA(10)", "UPA(50)")
    slowest = min(p.work("DIRECT") / max(p.work(n) for n in others) for p in points)
    parts = last.work("UPA(10)") / last.work("UPA(50)")
    gain = last.work("NT") / last.work("UPA(50)")
    return (
        Check("DIRECT slowest", f"DIRECT/next slowest >= {slowest:.2f}", slowest > 1),
        Check("UPA(50) < UPA(10) at the largest window", f"UPA(10)/UPA(50) {parts:.2f}", parts > 1),
        Check("NT/UPA(50) >= 3", f"NT/UPA(50) {gain:.2f}", gain >= 3),
    )


def run(setting: Setting) -> Outcome:
    """All engines at every window."""
    chosen = study((2000, 4000, 12_000)) if setting.smoke else study()
    points = chosen.points(setting)
    return outcome("Query 1 telnet", points, judge(points), chosen.common(points, setting))


ENTRY = Entry(
    "T15",
    "Q1 telnet: DIRECT by far slowest; UPA(10) slow when large; UPA(50) up to 10x faster than NT",
    "DIRECT slowest; UPA(50) < UPA(10) at the largest window; NT/UPA(50) >= 3 (stated up to 10)",
    run,
)
