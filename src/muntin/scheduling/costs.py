"""What running tasks costs, per run and per update (Golab 2006, section 8.4.4).

Maintenance of the synopses is left out: it is the same under every schedule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from muntin.scheduling.tasks import PeriodicQuery, Task

HORIZON = 2520
"""Updates over which a schedule is added up at most. All periods up to 10 meet within it; where the periods of a group
meet later still, the cost per update is that of these."""

Floats = NDArray[np.float64]


def _nothing(query: PeriodicQuery) -> float:
    return 0.0


@dataclass(frozen=True)
class CostModel:
    """``scan``: work of reading and combining the youngest intervals, by their number; ``finish``: work that each query
    adds of its own in every run (sorting counts, say)."""

    scan: Callable[[int], float]
    finish: Callable[[PeriodicQuery], float] = _nothing

    def run(self, tasks: Sequence[Task]) -> float:
        """Tasks of one group, run together: one scan, as long as the longest window."""
        return self.scan(max(t.window for t in tasks)) + sum(self.finish(q) for t in tasks for q in t.queries)


INTERVALS = CostModel(lambda n: n - 1.0)
"""The document's example: a basic interval synopsis of maxima; n intervals take n - 1 comparisons."""


def horizon_of(tasks: Sequence[Task]) -> int:
    """After so many updates the tasks' schedule repeats, or ``HORIZON``."""
    return min(math.lcm(*(t.period for t in tasks)), HORIZON)


def scans(tasks: Sequence[Task], model: CostModel, updates: int) -> Floats:
    """Cost of the scan after each of so many updates: tasks that are due together share one."""
    found = np.zeros(updates)
    for task in tasks:
        due = found[task.period - 1 :: task.period]
        np.maximum(due, model.scan(task.window), out=due)
    return found


def cost_per_update(tasks: Sequence[Task], model: CostModel) -> float:
    """Of one group's tasks when each runs at all multiples of its period, together with all that are due then."""
    updates = horizon_of(tasks)
    own = sum((updates // t.period) * model.finish(q) for t in tasks for q in t.queries)
    return float((scans(tasks, model, updates).sum() + own) / updates)
