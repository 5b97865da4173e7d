"""SS1: one synopsis for windows of different lengths."""

from __future__ import annotations

from collections.abc import Sequence

from muntin.dataflow.sharing.conditions.condition import DATA, OVER_JOINS, Condition, Kept, Task


def _holds(task: Task, other: Task, kept: Sequence[Kept]) -> bool:
    if len(kept) != 1 or kept[0].kind in OVER_JOINS:
        return False
    (one,) = kept
    return DATA[task.function] == (one.data,) and task.longest <= one.b and task.where == one.where


SS1 = Condition(
    "SS1",
    "windows of length ns, 1 <= n <= b, read one synopsis of the data that they need",
    "state",
    _holds,
)
