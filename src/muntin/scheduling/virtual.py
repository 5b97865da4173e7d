"""A virtual clock driven by counted work: when what runs, on a machine that does so much work a second.

Deterministic: the same work gives the same schedule on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from muntin.scheduling.deadlines import Agenda, Sharing, chosen, ran

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Run:
    """Tasks that ran together. ``update``: the number of updates whose state they show; ``began``, ``ended``: seconds.
    ``since``: by task, the updates since its run before."""

    tasks: Ints
    update: int
    began: float
    ended: float
    since: Ints


def schedule(
    known: Agenda,
    sharing: Sharing,
    work: Callable[[Ints, int], float],
    updates: int,
    speed: float,
    maintenance: Callable[[int], float] = lambda update: 0.0,
    early: bool = True,
) -> Iterator[Run]:
    """The runs that begin up to a second after the last of so many updates, one update a second.

    Args:
        known: the tasks, as of update 0.
        sharing: with what the most urgent task is run.
        work: of running these tasks together after so many updates.
        updates: how many there are, the first after one second.
        speed: work that the machine does in a second.
        maintenance: work of an update. Updates wait for the run under way; all that have come go before the next.
        early: whether tasks are run before they are due where there is time.
    """
    time, done = 0.0, 0
    while time < updates + 1:
        while time >= done + 1 and done < updates:
            done += 1
            time += maintenance(done) / speed
        tasks = chosen(known, done, sharing, early)
        if not len(tasks):
            time = max(time, float(done + 1))
            continue
        ended = time + work(tasks, done) / speed
        yield Run(tasks, done, time, ended, done - known.last[tasks])
        known, time = ran(known, tasks, done), ended
