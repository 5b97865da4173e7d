"""Collection of versions: what no kept one names goes, nothing else."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from store_contents import CELLS, PRINT, QUERY, data_files, manifests, rows, state_of

from muntin.core.errors import StoreError
from muntin.state.collect import collect, collect_left
from muntin.state.open_files import OPEN
from muntin.state.pane_store import PaneStore


def test_collection_keeps_complete_versions(store: PaneStore, tmp_path: Path) -> None:
    for version in range(6):
        store.commit(version, "p0", {"c": state_of(rows(version))}, {})
    (tmp_path / QUERY / "level-0/data/0000000001.p0.x.chunks.tmp-1").write_bytes(b"half")
    (tmp_path / QUERY / "level-0/data/0000000005.p0.x.chunks.tmp-1").write_bytes(b"being written")
    (tmp_path / QUERY / "level-0/data/notes.txt").write_bytes(b"not ours")
    gone = collect(str(tmp_path), QUERY, 0, keep=2)
    assert (gone.manifests, gone.data_files) == (3, 4)
    assert sorted(store.manifest_names()) == [3, 4, 5]
    assert [store.load(v, ["c"])["c"].list("panes")[0].load() for v in (3, 4, 5)] == [rows(3), rows(4), rows(5)]
    assert {p.name for p in tmp_path.rglob("*") if "tmp" in p.name or "notes" in p.name} == {
        "0000000005.p0.x.chunks.tmp-1", "notes.txt",
    }  # fmt: skip
    with pytest.raises(StoreError, match="newer than the checkpoint"):
        store.load(2, ["c"])
    assert collect(str(tmp_path), QUERY, 0, keep=2) == type(gone)()


def test_a_level_on_which_nothing_runs_any_more_is_collected_whole(store: PaneStore, tmp_path: Path) -> None:
    kept = state_of(rows(0))
    for version in range(4):
        store.commit(version, "p0", {"c": kept}, {})
    assert collect_left(str(tmp_path), QUERY, 0, before=3).manifests == 3, "what the newest names stays with it"
    assert store.load(3, ["c"])["c"].list("panes")[0].load() == rows(0)
    gone = collect_left(str(tmp_path), QUERY, 0, before=4)
    assert (gone.manifests, gone.data_files) == (1, 1) and not list((tmp_path / QUERY / "level-0/data").iterdir())


def test_collection_stops_at_a_corrupt_manifest(store: PaneStore, tmp_path: Path) -> None:
    for version in range(6):
        store.commit(version, "p0", {"c": state_of(rows(version))}, {})
    manifests(tmp_path)[4].write_bytes(b"x")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(StoreError):
        collect(str(tmp_path), QUERY, 0)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("seed", range(8))
def test_collection_never_takes_what_a_kept_version_needs(store: PaneStore, tmp_path: Path, seed: int) -> None:
    """Random windows, spreads, retries and collections, against a model in memory."""
    rng = random.Random(seed)
    model: dict[int, dict[str, list[int]]] = {-1: {c: [] for c in CELLS}}
    keep = rng.choice([1, 2, 3])
    for version in range(25):
        model[version] = {}
        spread = rng.randint(1, 4)
        plan = {c: (rng.random(), rng.randint(0, 6)) for c in CELLS}
        attempts = [t for t in range(spread) for _ in range(1 + (rng.random() < 0.2))]
        for task in attempts:
            mine = CELLS[task::spread]
            states = store.load(version - 1, mine, task=f"p{task}" if rng.random() < 0.5 else None)
            for cell, state in states.items():
                held = [c.load().column("v")[0].as_py() for c in state.list("panes")]
                assert held == model[version - 1][cell]
                arrives, window = plan[cell]
                if arrives < 0.7:
                    state.append("panes", rows(version), min_ts=version)
                state.keep("panes", lambda c, low=version - window: c.meta["min_ts"] > low)
                model[version][cell] = [c.meta["min_ts"] for c in state.list("panes")]
            store.commit(version, f"p{task}", states, PRINT)
            if rng.random() < 0.3:
                collect(str(tmp_path), QUERY, 0, keep=keep)
        OPEN.forget()
        for kept in range(max(0, version - keep), version + 1):
            states = store.load(kept, CELLS)
            for cell, state in states.items():
                assert [c.load().column("v")[0].as_py() for c in state.list("panes")] == model[kept][cell]
    collect(str(tmp_path), QUERY, 0, keep=keep)
    assert len(store.manifest_names()) == keep + 1
    named = {f for ns in store.manifest_names().values() for n in ns for f in store.read_manifest(n).head.files}
    oldest = min(store.manifest_names())
    assert all(p.name in named for p in data_files(tmp_path) if int(p.name.split(".")[0]) < oldest)
