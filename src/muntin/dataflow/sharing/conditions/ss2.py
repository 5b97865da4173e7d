"""SS2: AVG from sums and counts that are there."""

from __future__ import annotations

from collections.abc import Sequence

from muntin.dataflow.sharing.conditions.condition import Condition, Kept, Task, aligned, all_of


def _holds(task: Task, other: Task, kept: Sequence[Kept]) -> bool:
    if task.function != "avg" or {k.data for k in kept} != {"sum", "count"} or not all_of(kept, "running"):
        return False
    return aligned(kept) and all(task.longest <= k.b and task.where == k.where for k in kept)


SS2 = Condition("SS2", "AVG reads aligned running synopses of sums and of counts", "state", _holds)
