"""T3, thesis Figures 1.4 and 8.1: two queries with periods 2 and 3.

The instants are those at which the product answers two queries, a count and a sum, with these SLIDEs; in the
alternative the product runs the second with the first one's SLIDE.
"""

from __future__ import annotations

from math import lcm

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.product import bound, catalog, local

UNTIL = 60
FIRST = "SELECT Rstream(COUNT(*) AS n) FROM S [RANGE 12 SECONDS SLIDE {} SECONDS]"
SECOND = "SELECT Rstream(SUM(a) AS s) FROM S [RANGE 12 SECONDS SLIDE {} SECONDS]"

Answers = dict[int, tuple[object, ...]]
"""Instant -> what the product answers then."""


def answers(text: str, slide: int) -> Answers:
    """What the product answers with this period, and when."""
    rows = {"S": [{"ts": t, "a": t * t % 17} for t in range(1, UNTIL + 1)]}
    found = local(bound(text.format(slide), catalog(S="a")), rows, until=UNTIL)
    return {r.ts: r.values for r in found}


def judge(first: Answers, second: Answers, aligned: Answers) -> tuple[Check, ...]:
    """``first``, ``second``: the queries with periods 2 and 3; ``aligned``: the second, run whenever the first is."""
    both = sorted(set(first) & set(second))
    alone = sorted(set(aligned) ^ set(first))
    same = all(aligned[t] == second[t] for t in both if t in aligned)
    extra = len(aligned) - len(second)
    return (
        Check(
            "coincidence exactly at multiples of 6",
            f"both run at {both}",
            both == list(range(lcm(2, 3), UNTIL + 1, lcm(2, 3))),
        ),
        Check(
            "running Q2 whenever Q1 runs shares every run, for more runs of Q2",
            f"aligned: {len(aligned)} runs of Q2, {len(alone)} of either alone, {extra} more runs of Q2",
            not alone and extra > 0,
        ),
        Check(
            "Q2 answers the same at the instants that both schedules have",
            "the same answers" if same else "other answers",
            same and set(both) <= set(aligned),
        ),
    )


def run(setting: Setting) -> Outcome:
    """A minute of both schedules."""
    return Outcome(judge(answers(FIRST, 2), answers(SECOND, 3), answers(SECOND, 2)))


ENTRY = Entry(
    "T3",
    "queries with periods 2 and 3 coincide every 6 time units; alternative: run Q2 whenever Q1 runs",
    "schedule simulator shows coincidence exactly at multiples of 6",
    run,
)
