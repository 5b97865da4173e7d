"""Earliest deadline first, alone and with sharing (Golab 2006, Algorithms 9 to 11).

Time is counted in updates of the synopses. A task that ran after update r is due at r + period; its time until the
deadline d falls by one at each update and is negative when it is late. Late runs are not made up for: the next is due
a period after it. Deadlines are kept as absolute times, so an update changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray

from muntin.scheduling.tasks import Task

Sharing = OneOf["none", "equal", "late", "late_pending"]
"""With what the most urgent task is run: nothing; tasks of its group that are as urgent (Algorithm 10); when it is
late all late ones of its group; or all that are late or due (Algorithm 11)."""

SCHEDULING: Mapping[str, Sharing] = {
    "edf": "none", "conservative": "equal", "late": "late", "late_pending": "late_pending",
}  # fmt: skip
"""The document's schedulers by name (Algorithm 9, 10, late sharing, and Algorithm 11, its best). Aggressive and hybrid
scheduling choose periods beside the last of them (``dataflow.sharing.periods``)."""

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Agenda:
    """When each task is due and after which update it last ran. Make one with ``agenda``; ``ran`` gives the next."""

    due: Ints
    last: Ints
    period: Ints
    group: Ints
    priority: Ints

    def until(self, now: int) -> Ints:
        """d of each task, after ``now`` updates."""
        return self.due - now


def agenda(tasks: Sequence[Task], now: int = 0) -> Agenda:
    """Each task as if it had run at ``now``."""
    number = {g: i for i, g in enumerate(dict.fromkeys(t.group for t in tasks))}
    period = np.array([t.period for t in tasks], np.int64)
    return Agenda(
        now + period,
        np.full(len(tasks), now, np.int64),
        period,
        np.array([number[t.group] for t in tasks], np.int64),
        np.array([t.priority for t in tasks], np.int64),
    )


def chosen(known: Agenda, now: int, sharing: Sharing = "late_pending", early: bool = True) -> Ints:
    """The tasks to run next, together: the most urgent and those that are shared with it; none if there is none to run.

    A task that ran after the last update is not run again: its answer would be the same. Of equally urgent tasks the
    one with the greatest priority goes first, then the first. ``early``: whether a task is run before it is due when
    none is.
    """
    d = known.until(now)
    ready = known.last < now
    if not early:
        ready &= d <= 0
    if not ready.any():
        return np.empty(0, np.int64)
    candidates = np.flatnonzero(ready)
    first = candidates[np.lexsort((-known.priority[candidates], d[candidates]))[0]]
    lowest = d[first]
    match sharing:
        case "none":
            return np.array([first])
        case "late" if lowest < 0:
            together = d < 0
        case "late_pending" if lowest < 0:
            together = d <= 0
        case _:
            together = d == lowest
    return np.flatnonzero(ready & together & (known.group == known.group[first]))


def ran(known: Agenda, tasks: Ints, now: int) -> Agenda:
    """After these tasks have run on what was there after ``now`` updates."""
    due, last = known.due.copy(), known.last.copy()
    due[tasks], last[tasks] = now + known.period[tasks], now
    return Agenda(due, last, known.period, known.group, known.priority)
