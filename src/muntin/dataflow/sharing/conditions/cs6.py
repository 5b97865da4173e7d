"""CS6: the tasks whose synopses a new one reads run with it, if their windows are the same."""

from __future__ import annotations

from collections.abc import Sequence

from muntin.dataflow.sharing.conditions.condition import IN_PASSING, Condition, Kept, Task, same_lengths
from muntin.dataflow.sharing.conditions.ss4 import SS4


def _holds(task: Task, other: Task, kept: Sequence[Kept]) -> bool:
    apart = bool(kept) and not any(k.kind in IN_PASSING for k in kept)
    return apart and SS4.holds(other, task, kept) and same_lengths(task, other)


CS6 = Condition(
    "CS6",
    "candidates over running, interval, RJ or IJ synopses run before "
    "the task that reads these, over windows of one length",
    "computation",
    _holds,
)
