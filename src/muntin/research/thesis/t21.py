"""T21, thesis Figure 3.15: processing cost of Query 4, a negation and a join, in both orders.

Deviations: windows of 32 to 2,048 time units; operations decide; UPA's calendar queue has 10 partitions.
The trace has sessions (``engines.workload.sessions``): a source is active for about 32 time units on all links, and is
seen on the negated link in 40 % of its sessions. Without that locality a join over a small window finds nothing, and
negative tuples with the negation pulled up cost less than with the join pulled up; see the notes.

Negation is NOT EXISTS, as the query is written (3.6.1). Under the duplicate-preserving EXCEPT ALL the two orders
are not
the same query: one tuple of S1 that joins two of S2, against one of S3, gives 2 - 1 = 1 result with the negation above
the join and (1 - 1) x 2 = 0 below it. DIRECT cannot run the query, which has negative tuples by its nature.
"""

from __future__ import annotations

from dataclasses import replace

from muntin.research.engines import naive
from muntin.research.engines.choose import NEGATION_AND_JOIN
from muntin.research.engines.compare import Point
from muntin.research.engines.engine import NT, UPA, measure, negation_and_join
from muntin.research.engines.study import Study, outcome
from muntin.research.engines.workload import sessions, synthetic
from muntin.research.harness import Check, Entry, Outcome, Setting

WINDOWS = (32, 64, 128, 256, 512, 1024, 2048)
UP = replace(UPA, name="UPA(negation up)")
JOIN_UP = replace(NT, name="NT(join up)", down=True)
RIVALS = ("NT", "NT(join up)")


def study() -> Study:
    """Query 4 on the trace with sessions."""
    return Study(
        negation_and_join,
        naive.negation_and_join,
        lambda units: sessions(units, active=8, length=32, watched=0.4),
        (NT, JOIN_UP, UP),
        NEGATION_AND_JOIN,
        WINDOWS,
        3,
        rivals=RIVALS,
    )


def judge(points: list[Point]) -> tuple[Check, ...]:
    """The figure's ordering."""
    first, last = points[0], points[-1]
    order = max(p.work("NT(join up)") / p.work("NT") for p in points)
    best = min(last.work(n) for n in RIVALS) / last.work(UP.name)
    small = first.work("NT(join up)") / min(first.work(n) for n in ("NT", UP.name))
    return (
        Check("NT(join up) < NT everywhere", f"NT(join up)/NT <= {order:.2f}", order < 1),
        Check("UPA best at the largest window", f"better NT/UPA {best:.2f} at the largest", best > 1),
        Check("NT(join up) best or tied at the smallest", f"NT(join up)/next {small:.2f} at the smallest", small <= 1),
    )


def without_locality(setting: Setting) -> str:
    """What the independent trace of the other figures gives at two windows."""
    parts = []
    for window in (64, 1024):
        trace = synthetic(window + 2000, 3)
        work = {e.name: measure(negation_and_join, trace, window, e).work for e in (NT, JOIN_UP, UP)}
        parts.append(f"window {window}: " + ", ".join(f"{n} {w:.0f}" for n, w in work.items()))
    return "without locality, " + "; ".join(parts)


def run(setting: Setting) -> Outcome:
    """All plans at every window."""
    chosen = study()
    points = chosen.points(setting)
    common = chosen.common(points, setting)
    notes = (*common.notes, without_locality(setting))
    return outcome("Query 4", points, judge(points), replace(common, notes=notes))


ENTRY = Entry(
    "T21",
    "Q4: NT(join up) beats NT(negation up); UPA(negation up) best for large windows; NT(join up) best for small",
    "NT(join up) < NT everywhere; UPA best at the largest window; NT(join up) best or tied at the smallest",
    run,
)
