"""CS5: a BIJ synopsis is read once for all."""

from __future__ import annotations

from collections.abc import Sequence

from muntin.dataflow.sharing.conditions.condition import Condition, Kept, Task, all_of


def _holds(task: Task, other: Task, kept: Sequence[Kept]) -> bool:
    return all_of(kept, "basic interval join")


CS5 = Condition("CS5", "all tasks over one BIJ synopsis run together", "computation", _holds)
