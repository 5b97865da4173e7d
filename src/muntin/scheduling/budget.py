"""Which tasks run now where there is no time for all of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from muntin.scheduling.deadlines import Agenda, Sharing, chosen, ran

Ints = NDArray[np.int64]


def affordable(
    known: Agenda,
    now: int,
    cost: Callable[[frozenset[int]], float],
    budget: float,
    sharing: Sharing = "late_pending",
) -> frozenset[int]:
    """The tasks to run, most urgent first, as long as the cost of all of them together is within ``budget``.

    The most urgent runs in any case, with those that are shared with it if these fit too; so a task that waits becomes
    the most urgent in time, and runs. A task that does not fit leaves room for less urgent ones that do. What costs
    nothing beside the rest runs with it. Cost: at most three calls of ``cost`` a task, and one.
    """
    taken: frozenset[int] = frozenset()
    left = known
    while len(together := chosen(left, now, sharing)):
        first = together[np.lexsort((-left.priority[together], left.due[together]))[0]]
        for group in (together, np.array([first])) if len(together) > 1 else (together,):
            more = taken | frozenset(group.tolist())
            if cost(more) <= budget or (not taken and len(group) == 1):
                taken = more
                break
        left = ran(left, together if taken >= frozenset(together.tolist()) else np.array([first]), now)
    spent = cost(taken)
    free = (i for i in range(len(known.due)) if i not in taken and cost(taken | {i}) <= spent)
    return taken | frozenset(free)
