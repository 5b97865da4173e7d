"""Cells added to a committed version: those of new vertices, as often as a start is repeated. Needs no JVM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from muntin.engine.clocks import CLOCKS
from muntin.spark.cells import SINCE
from muntin.spark.fill import Added, add_cells
from muntin.state.pane_store import PaneStore
from muntin.state.shard_state import ShardState
from muntin.state.snapshots import open_snapshot

PRINT = {"shards": 2}


def state(*values: int, **heads: Any) -> ShardState:
    made = ShardState(heads=heads)
    if values:
        made.append("rows", pa.record_batch({"x": list(values)}))
    return made


def values(found: ShardState) -> list[int]:
    return [x for c in found.list("rows") for x in c.load().column("x").to_pylist()]


def begun(root: Path) -> PaneStore:
    store = PaneStore.open(str(root), "q", 0)
    for shard in (0, 1):
        clock = state(clocks={}, watermarks={"A\nB": 7})
        cells = {f"{CLOCKS}/{shard}": clock, f"old/{shard}": state(shard)}
        store.commit(3, f"slot{shard}", cells, PRINT, {"q": {"rows": 1}})
    return store


def test_new_vertices_are_there_on_their_levels_and_old_ones_as_they_were(tmp_path: Path) -> None:
    store = begun(tmp_path)
    for _ in range(2):  # a start that ended before its first batch is repeated
        cells = {"new/0": state(10), "new/1": state(), "deep/0": state(20)}
        added = Added(cells, {"new": 0, "deep": 1}, {"new": 2, "deep": 2}, {"A": 9, "A\nB": 5})
        add_cells(str(tmp_path), "q", 3, added, PRINT)
        found = store.load(3, ["old/1", "new/0", "new/1", f"{CLOCKS}/1"], task="slot1", fingerprint=PRINT)
        assert values(found["old/1"]) == [1] and values(found["new/0"]) == [10] and values(found["new/1"]) == []
        assert found["new/1"].heads == {SINCE: 2}
        assert found[f"{CLOCKS}/1"].heads["watermarks"] == {"A\nB": 7, "A": 9}, "what is known stays"
        deep = PaneStore.open(str(tmp_path), "q", 1).load(3, ["deep/0"], task="slot0", fingerprint=PRINT)
        assert values(deep["deep/0"]) == [20]
    assert store.read_reports(3)["slot0"] == {"q": {"rows": 1}}
    assert set(open_snapshot(str(tmp_path), "q", {0, 1}, 3).cells) == {"old", "new", "deep", CLOCKS}
