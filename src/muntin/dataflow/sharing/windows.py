"""What plans share by being rewritten: joins of windows of time and of rows, then windows of rows by themselves."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from muntin.dataflow.builder import Places
from muntin.dataflow.graph import QueryPlan
from muntin.dataflow.sharing.row_joins import share_row_joins
from muntin.dataflow.sharing.row_windows import share_row_windows
from muntin.dataflow.sharing.window_joins import share_window_joins
from muntin.optimizer.statistics import Statistics


def share_windows(
    plans: Sequence[QueryPlan], places: Places, known: Statistics, settled: Collection[int] = (),
    schedule: str | None = None, filled: Collection[int] = (),
) -> list[QueryPlan]:  # fmt: skip
    """The plans with joins shared where that costs less, and windows of rows that are left numbered once. ``settled``:
    numbers of plans that stay as they are. ``schedule``: policy by which new shared joins are done slice by slice
    (None: whole). ``filled``: numbers of those that can begin with what shared joins of rows hold."""
    joined = share_window_joins(plans, places, known, settled, schedule)
    return share_row_windows(share_row_joins(joined, places, known, settled, schedule, filled), places, settled)
