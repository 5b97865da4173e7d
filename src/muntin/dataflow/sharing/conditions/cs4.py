"""CS4: running and interval synopses over joins, as CS1."""

from __future__ import annotations

from collections.abc import Sequence

from muntin.dataflow.sharing.conditions.condition import Condition, Kept, Task, all_of, same_lengths


def _holds(task: Task, other: Task, kept: Sequence[Kept]) -> bool:
    return all_of(kept, "running join", "interval join") and same_lengths(task, other)


CS4 = Condition(
    "CS4",
    "tasks over one IJ or RJ synopsis run together if the windows of their joins are of the same lengths",
    "computation",
    _holds,
)
