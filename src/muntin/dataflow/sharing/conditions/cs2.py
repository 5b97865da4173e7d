"""CS2: a basic interval synopsis is read once for all."""

from __future__ import annotations

from collections.abc import Sequence

from muntin.dataflow.sharing.conditions.condition import Condition, Kept, Task, all_of


def _holds(task: Task, other: Task, kept: Sequence[Kept]) -> bool:
    return all_of(kept, "basic interval")


CS2 = Condition(
    "CS2",
    "all tasks over one basic interval synopsis run together, from the youngest interval to the oldest",
    "computation",
    _holds,
)
