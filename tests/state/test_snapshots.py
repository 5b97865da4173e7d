"""Snapshots: a version read without writing, without a lock, and beside the collection of old versions."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from muntin.core.errors import StoreError
from muntin.state import snapshots
from muntin.state.collect import collect
from muntin.state.manifest import Manifest
from muntin.state.open_files import OPEN
from muntin.state.pane_store import PaneStore
from muntin.state.shard_state import ShardState
from muntin.state.snapshots import CollectedError, open_snapshot

SHARDS = (0, 1)


def write(root: Path, version: int, level: int = 0, vertices: str = "ab") -> None:
    """A version of two shards by two tasks: vertex a adds one row a version, b holds the newest one alone."""
    store = PaneStore.open(str(root), "q", level)
    for shard in SHARDS:
        names = [f"{v}{level}/{shard}" for v in vertices]
        states = store.load(version - 1, names, task=f"slot{shard}")
        for name, state in states.items():
            if name.startswith("b"):
                state.keep("rows", lambda _: False)
            state.append("rows", pa.record_batch({"x": [version]}), v=version)
            state.heads["version"] = version
        store.commit(version, f"slot{shard}", states, {})


def written(root: Path, versions: int, levels: tuple[int, ...] = (0, 1), vertices: str = "ab") -> Path:
    for version in range(versions):
        for level in levels:
            write(root, version, level, vertices)
    return root


def rows(state: ShardState) -> list[int]:
    return [x for c in state.list("rows") for x in c.load().column("x").to_pylist()]


def files(root: Path) -> dict[str, tuple[int, int]]:
    found = {str(p): p.stat() for p in root.rglob("*")}
    return {p: (s.st_mtime_ns, s.st_size) for p, s in found.items()}


def test_a_snapshot_has_the_chosen_vertices_of_all_shards_and_levels(tmp_path: Path) -> None:
    held = open_snapshot(str(written(tmp_path, 4)), "q", {0, 1}, 3)
    assert set(held.cells) == {"a0", "b0", "a1", "b1"} and set(held.of("a1")) == set(SHARDS)
    assert rows(held.of("a0")[1]) == [0, 1, 2, 3] and rows(held.of("b1")[0]) == [3]
    assert held.of("a0")[0].heads == {"version": 3} and held.of("nobody") == {}
    chosen = open_snapshot(str(tmp_path), "q", {0, 1}, 2, vertices={"b1"})
    assert set(chosen.cells) == {"b1"} and rows(chosen.of("b1")[1]) == [2]


def test_opening_writes_nothing_and_shares_nothing_with_who_writes(tmp_path: Path) -> None:
    written(tmp_path, 3)
    before, cached = files(tmp_path), dict(OPEN.files)
    os.chmod(tmp_path, 0o500)
    held = open_snapshot(str(tmp_path), "q", {0, 1}, 2)
    os.chmod(tmp_path, 0o700)
    assert rows(held.of("a0")[0]) == [0, 1, 2]
    held.of("a0")[0].append("rows", pa.record_batch({"x": [9]}))
    assert files(tmp_path) == before and dict(OPEN.files) == cached
    assert rows(open_snapshot(str(tmp_path), "q", {0}, 2).of("a0")[0]) == [0, 1, 2]
    write(tmp_path, 3)
    assert rows(held.of("a0")[1]) == [0, 1, 2], "a snapshot stays what it was"


def test_counts_are_read_from_manifests_alone(tmp_path: Path) -> None:
    written(tmp_path, 3)
    for data in tmp_path.rglob("*.chunks"):
        data.unlink()
    held = open_snapshot(str(tmp_path), "q", {0}, 2, rows=False)
    state = held.of("a0")[0]
    assert state.rows() == 3 and state.list("rows")[1].meta["v"] == 1
    with pytest.raises(StoreError, match="opened without rows"):
        rows(state)
    with pytest.raises(StoreError, match="missing, although a manifest names it"):
        open_snapshot(str(tmp_path), "q", {0}, 2)


def test_what_was_opened_outlives_the_collection_of_its_version(tmp_path: Path) -> None:
    written(tmp_path, 3, vertices="b")
    held = open_snapshot(str(tmp_path), "q", {0}, 2)
    overtake(tmp_path)
    assert rows(held.of("b0")[0]) == [2]
    with pytest.raises(CollectedError, match=r"version 2 .* was collected: it holds versions 6 to 8; open one of"):
        open_snapshot(str(tmp_path), "q", {0}, 2)
    with pytest.raises(StoreError, match="older than the checkpoint"):
        open_snapshot(str(tmp_path), "q", {0}, 9)


def overtake(root: Path) -> None:
    for version in range(3, 9):
        write(root, version, vertices="b")
    assert collect(str(root), "q", 0).data_files


@pytest.mark.parametrize("step", ["names", "manifest", "data"])
def test_a_version_that_goes_while_it_is_opened_is_told(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, 3, levels=(0,), vertices="b")

    def after(call: Callable[..., object]) -> Callable[..., object]:
        def called(*args: object) -> object:
            found = call(*args)
            monkeypatch.undo()
            overtake(tmp_path)
            return found

        return called

    if step == "names":
        monkeypatch.setattr(snapshots, "_names", after(snapshots._names))
    elif step == "manifest":
        monkeypatch.setattr(PaneStore, "read_manifest", after(PaneStore.read_manifest))
    else:
        monkeypatch.setattr(Manifest, "cells", after(Manifest.cells))
    with pytest.raises(CollectedError, match="was collected"):
        open_snapshot(str(tmp_path), "q", {0}, 2)


def test_levels_of_one_version_belong_together(tmp_path: Path) -> None:
    written(tmp_path, 2)
    next((tmp_path / "q" / "level-1" / "manifests").glob("*1.slot0.manifest")).unlink()
    with pytest.raises(StoreError, match=r"version 1 .* is incomplete: level 1 has the tasks slot1, another one"):
        open_snapshot(str(tmp_path), "q", {0, 1}, 1)
