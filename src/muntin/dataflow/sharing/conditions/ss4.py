"""SS4: synopses of other predicates that together make up the task's."""

from __future__ import annotations

from collections.abc import Sequence

from muntin.dataflow.sharing.conditions.condition import DATA, DUPLICATE_SENSITIVE, Condition, Kept, Task, aligned
from muntin.plan.dnf import is_cover, is_disjoint_cover


def _holds(task: Task, other: Task, kept: Sequence[Kept]) -> bool:
    wanted = DATA[task.function]
    if not kept or not aligned(kept) or len(wanted) != 1 or any(k.data != wanted[0] for k in kept):
        return False
    parts = [k.where for k in kept]
    covers = is_disjoint_cover if task.function in DUPLICATE_SENSITIVE else is_cover
    return covers(parts, task.where) and all(task.longest <= k.b for k in kept)


SS4 = Condition(
    "SS4",
    "aligned synopses that cover the predicate (disjoint where "
    "duplicates count) and reach as far back are read together",
    "state",
    _holds,
)
