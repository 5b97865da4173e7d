"""T62, thesis Figure 8.5: what a SLIDE of two updates asks for, and when a run is on time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.scheduling.deadlines import agenda
from muntin.scheduling.tasks import PeriodicQuery, Task
from muntin.scheduling.virtual import Run, schedule

TASK = Task((PeriodicQuery("Q", "G", 4, 2),), 2)


def until_deadline(updates: int) -> list[int]:
    """d of the task that ran at update 0, after each update."""
    return [int(agenda((TASK,)).until(k)[0]) for k in range(updates + 1)]


def runs(seconds: float, updates: int = 12) -> list[Run]:
    """The runs of the task where each takes so long, none before it is due."""
    return list(schedule(agenda((TASK,)), "equal", lambda tasks, update: seconds, updates, 1.0, early=False))


def judge(d: Sequence[int], fast: Sequence[Run], slow: Sequence[Run]) -> tuple[Check, ...]:
    """d over time; runs on a machine that keeps up, and on one that does not."""
    shown = [r.update for r in fast]
    inside = all(r.update <= r.began and r.ended < r.update + 1 for r in fast)
    late = [2 - int(r.since[0]) for r in slow]
    return (
        Check("d is 2 after a run, then 1, 0, and -1 where it does not run", f"d {list(d)}", list(d) == [2, 1, 0, -1]),
        Check(
            "runs show the state after updates 2, 4, 6, ..., and each is done before the next update",
            f"states {shown}",
            shown == list(range(2, 13, 2)) and inside,
        ),
        Check(
            "a machine that needs three updates for a run is late by one each time, and no run is made up for",
            f"d when it ran: {late}",
            set(late[1:]) == {-1} and all(b.update - a.update == 3 for a, b in pairwise(slow)),
        ),
    )


def run(setting: Setting) -> Outcome:
    """Both machines."""
    return Outcome(judge(until_deadline(3), runs(0.5), runs(3.0)))


ENTRY = Entry(
    "T62",
    "period 2s: d = 2 after the run, 1 after the next update, 0 after the one after; on time if d >= 0 when it is done",
    "exact",
    run,
)
