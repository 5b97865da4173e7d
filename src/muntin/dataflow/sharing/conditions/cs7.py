"""CS7: the tasks whose synopses a new one reads run with it, whatever their windows."""

from __future__ import annotations

from collections.abc import Sequence

from muntin.dataflow.sharing.conditions.condition import IN_PASSING, Condition, Kept, Task
from muntin.dataflow.sharing.conditions.ss4 import SS4


def _holds(task: Task, other: Task, kept: Sequence[Kept]) -> bool:
    in_passing = bool(kept) and all(k.kind in IN_PASSING for k in kept)
    return in_passing and SS4.holds(other, task, kept)


CS7 = Condition(
    "CS7",
    "candidates over basic interval or BIJ synopses run before the task "
    "that reads these, saving answers of shorter windows",
    "computation",
    _holds,
)
