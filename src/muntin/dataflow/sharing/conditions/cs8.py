"""CS8: a task that asks the same less often reads what the other one gave (thesis 8.4.3)."""

from __future__ import annotations

from collections.abc import Sequence

from muntin.dataflow.sharing.conditions.condition import Condition, Kept, Task


def _holds(task: Task, other: Task, kept: Sequence[Kept]) -> bool:
    same = (task.function, task.lengths, task.where) == (other.function, other.lengths, other.where)
    return same and other.slide % task.slide == 0


CS8 = Condition(
    "CS8",
    "a task with the same question and a multiple of the period "
    "reads the output of the one that runs more often",
    "computation",
    _holds,
)
