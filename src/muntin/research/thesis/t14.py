"""T14, thesis Figure 3.8: processing cost of Query 1 with protocol = ftp (few results).

Deviations: a synthetic trace (``engines.workload``) and windows of 125 to 2,000 time units, not 2,000 and more;
operations decide, processor time stands beside them. The view of the result is expired at every instant, so that the
answer is right at every instant; the sides of the join every 5 % of the window. Every engine probes the other side
through the same hash table with 10 partitions, so they differ in how tuples leave. "Small and medium" windows are those
up to the middle of the list.
"""

from __future__ import annotations

from muntin.research.engines import naive
from muntin.research.engines.choose import join_question
from muntin.research.engines.compare import Point, slope
from muntin.research.engines.engine import DIRECT, NT, UPA, join_of
from muntin.research.engines.study import Study, outcome
from muntin.research.engines.workload import synthetic
from muntin.research.harness import Check, Entry, Outcome, Setting

FTP = 1


def study(windows: tuple[int, ...] = (125, 250, 500, 1000, 2000)) -> Study:
    """Query 1 with ftp."""
    return Study(
        join_of(FTP),
        naive.join_of(FTP),
        lambda units: synthetic(units, 2),
        (NT, DIRECT, UPA),
        join_question(FTP),
        windows,
        2,
    )


def judge(points: list[Point]) -> tuple[Check, ...]:
    """The figure's trends."""
    last = points[-1]
    ratio = min(last.work("NT"), last.work("DIRECT")) / last.work("UPA")
    medium = points[: (len(points) + 1) // 2]
    direct = max(p.work("DIRECT") / p.work("NT") for p in medium)
    grows = slope(points, "DIRECT"), slope(points, "UPA")
    return (
        Check("min(NT,DIRECT)/UPA >= 1.3 at the largest window", f"min(NT,DIRECT)/UPA {ratio:.2f}", ratio >= 1.3),
        Check("DIRECT < NT at small and medium windows", f"DIRECT/NT <= {direct:.2f}", direct < 1),
        Check("slope(DIRECT) > slope(UPA)", f"slopes {grows[0]:.2f} > {grows[1]:.2f}", grows[0] > grows[1]),
    )


def run(setting: Setting) -> Outcome:
    """All engines at every window."""
    chosen = study()
    points = chosen.points(setting)
    return outcome("Query 1 ftp", points, judge(points), chosen.common(points, setting))


ENTRY = Entry(
    "T14",
    "Q1 ftp: UPA nearly 2x faster than NT and DIRECT as windows grow; DIRECT beats NT but degrades",
    "UPA fastest at large windows with min(NT,DIRECT)/UPA >= 1.3 (stated ~2); DIRECT<NT at small/medium windows; "
    "slope(DIRECT) > slope(UPA)",
    run,
)
