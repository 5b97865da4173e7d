"""CS3: AVG divides what SUM and COUNT found."""

from __future__ import annotations

from collections.abc import Sequence

from muntin.dataflow.sharing.conditions.condition import Condition, Kept, Task, same_lengths
from muntin.dataflow.sharing.conditions.ss2 import SS2


def _holds(task: Task, other: Task, kept: Sequence[Kept]) -> bool:
    averages = [t for t in (task, other) if t.function == "avg"]
    every = {task.function, other.function} <= {"sum", "count", "avg"}
    return bool(averages) and every and SS2.holds(averages[0], other, kept) and same_lengths(task, other)


CS3 = Condition("CS3", "SUM, COUNT and AVG over one window run together where SS2 holds", "computation", _holds)
