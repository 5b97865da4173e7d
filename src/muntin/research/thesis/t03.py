"""T3, thesis Figures 1.4 and 8.1: two queries with periods 2 and 3.

The instants are those at which the product answers two queries with these SLIDEs; the alternative runs the second
whenever the first one runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import lcm

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.product import bound, catalog, local

UNTIL = 60


def instants(slide: int) -> set[int]:
    """When the product answers a query with this period."""
    query = bound(f"SELECT Rstream(COUNT(*) AS n) FROM S [RANGE 12 SECONDS SLIDE {slide} SECONDS]", catalog(S="a"))
    rows = {"S": [{"ts": t, "a": t} for t in range(1, UNTIL + 1)]}
    return {r.ts for r in local(query, rows, until=UNTIL)}


def shared(first: Iterable[int], second: Iterable[int]) -> list[int]:
    """Instants at which both run."""
    return sorted(set(first) & set(second))


def judge(first: set[int], second: set[int]) -> tuple[Check, ...]:
    """``first``, ``second``: instants of the queries with periods 2 and 3."""
    both = shared(first, second)
    expected = list(range(lcm(2, 3), UNTIL + 1, lcm(2, 3)))
    aligned = shared(first, first)
    extra = len(aligned) - len(second)
    found = f"both run at {both}"
    return (
        Check("coincidence exactly at multiples of 6", found, both == expected),
        Check(
            "running Q2 whenever Q1 runs shares every run, for more runs of Q2",
            f"aligned: {len(aligned)} shared runs, {extra} more runs of Q2",
            len(aligned) == UNTIL // 2 and extra > 0,
        ),
    )


def run(setting: Setting) -> Outcome:
    """A minute of both schedules."""
    return Outcome(judge(instants(2), instants(3)))


ENTRY = Entry(
    "T3",
    "queries with periods 2 and 3 coincide every 6 time units; alternative: run Q2 whenever Q1 runs",
    "schedule simulator shows coincidence exactly at multiples of 6",
    run,
)
