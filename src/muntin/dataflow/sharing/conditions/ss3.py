"""SS3: one synopsis over a join for windows of different lengths."""

from __future__ import annotations

from collections.abc import Sequence

from muntin.dataflow.sharing.conditions.condition import DATA, OVER_JOINS, Condition, Kept, Task


def _holds(task: Task, other: Task, kept: Sequence[Kept]) -> bool:
    if len(kept) != 1 or kept[0].kind not in OVER_JOINS or DATA[task.function] != (kept[0].data,):
        return False
    (one,), (first, second) = kept, task.lengths
    fits = first == second <= one.b or all(one.b - one.g <= n <= one.b for n in task.lengths)
    return fits and task.where == one.where


SS3 = Condition(
    "SS3",
    "(ns, ns)-joins with n <= b, and (n1 s, n2 s)-joins with b - g <= n1, n2 <= b, read one synopsis",
    "state",
    _holds,
)
