"""CS1: running and interval synopses are probed once for tasks over one window."""

from __future__ import annotations

from collections.abc import Sequence

from muntin.dataflow.sharing.conditions.condition import Condition, Kept, Task, all_of, same_lengths


def _holds(task: Task, other: Task, kept: Sequence[Kept]) -> bool:
    return all_of(kept, "running", "interval") and same_lengths(task, other)


CS1 = Condition(
    "CS1",
    "tasks over one running or interval synopsis run together if their windows are of one length",
    "computation",
    _holds,
)
