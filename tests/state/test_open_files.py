"""A worker holds open what recent versions name: a file that is deleted while it is mapped keeps its space."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from muntin.state.collect import collect
from muntin.state.open_files import OPEN, OpenFiles
from muntin.state.pane_store import PaneStore
from muntin.state.shard_state import ShardState

QUERY = "0b5e7c1e-5f0e-4ef7-9e5c-1d6b0a0a3f12"
WINDOW = 6


pytestmark = pytest.mark.usefixtures("fresh_process")


def deleted() -> int:
    """Data files that this process maps although they are gone from the disk."""
    maps = Path("/proc/self/maps").read_text().splitlines()
    return sum(".chunks" in line and line.endswith("(deleted)") for line in maps)


def batch(store: PaneStore, version: int, task: str) -> None:
    """Read the window of ``WINDOW`` chunks, drop the oldest, add one."""
    state = store.load(version - 1, [f"s/0/{task}"], task=task)[f"s/0/{task}"]
    oldest = version - WINDOW
    assert [c.load().column("v")[0].as_py() for c in state.list("rows")] == list(range(max(0, oldest), version))
    state.keep("rows", lambda c: c.meta["at"] > oldest)
    state.append("rows", pa.record_batch({"v": pa.array([version])}), at=version)
    store.commit(version, task, {f"s/0/{task}": state}, {})


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="there is no /proc here")
def test_files_that_are_deleted_do_not_stay_mapped(tmp_path: Path) -> None:
    store = PaneStore.open(str(tmp_path), QUERY, 0)
    open_files, gone = [], []
    tasks = ["slot0", "slot1", "slot2"]
    for version in range(120):
        for task in tasks if version < 60 else tasks[:2]:  # slot2 moves to another worker
            batch(store, version, task)
        if version >= 60:
            store.commit(version, "slot2", {"s/0/slot2": ShardState()}, {})
        if version % 5 == 0:
            collect(str(tmp_path), QUERY, 0, keep=10)
        open_files.append(len(OPEN.files))
        gone.append(deleted())
    assert max(gone[20:]) == 0, gone
    assert max(open_files) <= 3 * WINDOW and max(open_files[70:]) <= 2 * WINDOW


def test_other_directories_are_left_alone(tmp_path: Path) -> None:
    held = OpenFiles(most=3)
    one, two = PaneStore.open(str(tmp_path), QUERY, 0), PaneStore.open(str(tmp_path), QUERY, 1)
    rows = pa.record_batch({"v": pa.array([1])})
    for store in (one, two):
        state = ShardState()
        state.append("rows", rows)
        store.commit(0, "t", {"c": state}, {})
    paths = sorted(str(p) for p in tmp_path.rglob("*.chunks"))
    first = held.open(paths[0])
    assert held.open(paths[0]) is first and held.open(paths[1]) is not first
    held.keep(f"{one.directory}/data", "t", 5, [])
    assert list(held.files) == [paths[1]]
    assert first.read(0).equals(rows)
    held.keep(f"{two.directory}/data", "t", 5, [Path(paths[1]).name])
    assert list(held.files) == [paths[1]]
