"""T64, thesis Figure 8.6: the schedules of the seven queries under four techniques, on a machine that keeps up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.periodic.example import G11, G12, G13, QUERIES
from muntin.scheduling.costs import INTERVALS
from muntin.scheduling.deadlines import Sharing, agenda, chosen
from muntin.scheduling.hybrid import hybrid
from muntin.scheduling.tasks import Task, aggressive, conservative
from muntin.scheduling.virtual import schedule

MINUTES = 60

Plan = Mapping[int, frozenset[str]]
"""Minute -> the queries that run, all together."""


def plan_of(tasks: Sequence[Task], sharing: Sharing = "equal") -> dict[int, frozenset[str]]:
    """The schedule of an hour; a run takes a hundredth of a minute."""
    found: dict[int, frozenset[str]] = {}
    for run in schedule(agenda(tasks), sharing, lambda t, u: 0.01, MINUTES, 1.0, early=False):
        assert run.update not in found, "what is due together runs together"
        found[run.update] = frozenset(q.name for i in run.tasks for q in tasks[i].queries)
    return found


def multiples(*parts: tuple[int, Sequence[Task]]) -> dict[int, frozenset[str]]:
    """What runs when each part runs at the multiples of its period."""
    found: dict[int, frozenset[str]] = {}
    for period, tasks in parts:
        names = frozenset(q.name for t in tasks for q in t.queries)
        for minute in range(period, MINUTES + 1, period):
            found[minute] = found.get(minute, frozenset()) | names
    return found


RIGHT: Mapping[str, Plan] = {
    "aggressive": multiples((2, (G11, G12, G13))),
    "conservative": multiples((2, (G11,)), (3, (G12,)), (5, (G13,))),
    "hybrid": multiples((2, (G11, G12)), (5, (G13,))),
}


def together(d: Sequence[int], sharing: Sharing) -> list[int]:
    """Which of the three sub-groups run next, at these times until their deadlines."""
    known = agenda((G11, G12, G13))
    return chosen(replace(known, due=np.array(d) + 9), 9, sharing).tolist()


def judge(plans: Mapping[str, Plan], late: Mapping[tuple[tuple[int, ...], Sharing], list[int]]) -> tuple[Check, ...]:
    """Parts (a) to (c) as whole schedules; (d), and the examples of the text, as what runs next."""
    joint = sorted(m for m, names in plans["conservative"].items() if {"Q1", "Q4"} <= names)
    schedules = tuple(
        Check(
            f"{name}: every run of an hour as in the figure",
            f"{name} {len(plan)} runs, " + ("as drawn" if plan == RIGHT[name] else "not as drawn"),
            plan == RIGHT[name],
        )
        for name, plan in plans.items()
    )
    want = {
        ((-1, -1, 0), "equal"): [0, 1],
        ((-1, -1, 0), "late_pending"): [0, 1, 2],
        ((-2, -1, 1), "equal"): [0],
        ((-2, -1, 1), "late"): [0, 1],
        ((-2, -1, 0), "late"): [0, 1],
    }
    return (
        *schedules,
        Check("G11 and G12 meet every 6 minutes", f"at {joint[:3]} ...", joint == list(range(6, MINUTES + 1, 6))),
        Check("late and late-pending sharing choose as in the text", f"{len(want)} cases", dict(late) == want),
    )


def run(setting: Setting) -> Outcome:
    """The three schedules and the five cases."""
    plans = {
        "aggressive": plan_of(aggressive(QUERIES)),
        "conservative": plan_of(conservative(QUERIES)),
        "hybrid": plan_of(hybrid(QUERIES, INTERVALS)),
    }
    cases: list[tuple[tuple[int, ...], Sharing]] = [
        ((-1, -1, 0), "equal"), ((-1, -1, 0), "late_pending"), ((-2, -1, 1), "equal"), ((-2, -1, 1), "late"),
        ((-2, -1, 0), "late"),
    ]  # fmt: skip
    return Outcome(judge(plans, {(d, s): together(d, s) for d, s in cases}))


ENTRY = Entry(
    "T64",
    "aggressive: all seven every 2 minutes; conservative 2, 3, 5, joint runs; hybrid G12 with G11; late-pending: all",
    "exact",
    run,
)
