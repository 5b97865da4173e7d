"""Cells that a version gets beside those of its tasks: the windows of new queries, filled from what others keep.

The version is the last committed one and the cells are of vertices that it does not know, so nothing that runs or ran
reads them; a start that is repeated puts equal ones in their place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from muntin.engine.clocks import CLOCKS
from muntin.spark.cells import SINCE
from muntin.state.pane_store import PaneStore
from muntin.state.shard_state import ShardState
from muntin.state.snapshots import ADDED


@dataclass(frozen=True)
class Added:
    """``cells``: by name ("vertex/shard"); ``levels`` and ``since``: by vertex; ``watermarks``: heads of all clocks."""

    cells: Mapping[str, ShardState]
    levels: Mapping[str, int]
    since: Mapping[str, int]
    watermarks: Mapping[str, int]


def add_cells(root: str, query_id: str, version: int, added: Added, fingerprint: dict[str, Any]) -> None:
    """Write the cells into a version, on the levels where their vertices will run. Raises StoreError."""
    by_level: dict[int, dict[str, ShardState]] = {}
    for name, state in added.cells.items():
        vertex = name.rpartition("/")[0]
        state.heads[SINCE] = added.since[vertex]
        by_level.setdefault(added.levels[vertex], {})[name] = state
    for level, cells in by_level.items():
        PaneStore.open(root, query_id, level).commit(version, ADDED, cells, fingerprint)
    _move_clocks(PaneStore.open(root, query_id, 0), version, added.watermarks)


def _move_clocks(store: PaneStore, version: int, watermarks: Mapping[str, int]) -> None:
    """Let the clocks know how far streams have come together that nobody read together before."""
    for name in store.manifest_names().get(version, []):
        head = store.read_manifest(name).head
        clocks = [c for c in head.cells if c.startswith(f"{CLOCKS}/")]
        if not clocks:
            continue
        states = store.load(version, head.cells, task=head.task)
        known = [states[c].heads.get("watermarks", {}) for c in clocks]
        if all(watermarks.keys() <= marks.keys() for marks in known):
            continue
        for marks in known:
            marks |= {n: w for n, w in watermarks.items() if n not in marks}
        store.commit(version, head.task, states, head.fingerprint, head.report)
