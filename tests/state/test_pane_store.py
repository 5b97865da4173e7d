"""The pane store: versions, retries, other spreads of shards, damage, full disks, crashes."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
import pytest
from store_contents import CELLS, PRINT, QUERY, contents, data_files, manifests, rows, state_of

from muntin.core.batch import no_columns
from muntin.core.errors import InternalError, StoreError
from muntin.core.time import FOREVER
from muntin.state import chunk_file, files
from muntin.state.describe import describe_file
from muntin.state.files import ArrowFiles, LocalFiles, trim_cache
from muntin.state.open_files import OPEN
from muntin.state.pane_store import PaneStore, latest_version
from muntin.state.shard_state import ShardState

pytestmark = pytest.mark.usefixtures("fresh_process")


# --- round trip -------------------------------------------------------------------------------------------------------


def test_round_trip_over_versions(store: PaneStore, tmp_path: Path) -> None:
    states = store.load(None, CELLS)
    assert contents(states) == {c: ({}, {}) for c in CELLS}
    for version in range(3):
        for i, (cell, state) in enumerate(states.items()):
            state.heads = {"clock": {"max_ts": FOREVER, "seen": [version, None, 0.5]}, "text": "ä"}
            state.append("panes", rows(version, i, None), min_ts=version * 1_000_003, max_exp=FOREVER)
            state.append("waiting", pa.record_batch({"x": pa.array([1.5], pa.float64())}))
            if version == 1 and cell == CELLS[0]:
                state.keep("panes", lambda c: c.meta["min_ts"] > 0)
        before = contents(states)
        store.commit(version, "p0", states, PRINT)
        assert contents(states) == before
        OPEN.forget()
        states = store.load(version, CELLS, task="p0")
        assert contents(states) == before
    stored = states[CELLS[0]].list("panes")
    assert [c.meta for c in stored] == [
        {"n": 3, "bytes": c.load().nbytes, "min_ts": m * 1_000_000 + 3 * m, "max_exp": FOREVER}
        for m, c in enumerate(stored, 1)
    ]
    assert store.latest_version() == latest_version(str(tmp_path), QUERY, 0) == 2
    assert len(data_files(tmp_path)) == len(manifests(tmp_path)) == 3, "files grow with tasks, not with cells"


@pytest.mark.parametrize(
    "batch",
    [
        no_columns(5),
        rows(),
        rows(1, 2, 3).slice(1, 1),
        pa.record_batch({"t": pa.array([1, None], pa.timestamp("us", "UTC")), "b": pa.array([None, True])}),
        pa.record_batch({"l": pa.array([[1], None]), "d": pa.array([None, b"\0x"])}),
        pa.RecordBatch.from_pylist(
            [{"a.b": 1}], schema=pa.schema([pa.field("a.b", pa.int8(), metadata={"k": "v"})], {"m": "n"})
        ),
    ],
    ids=["no columns", "no rows", "slice", "times", "nested", "metadata"],
)
def test_any_batch_survives(store: PaneStore, batch: pa.RecordBatch) -> None:
    state = ShardState()
    state.append("x", batch)
    store.commit(0, "p0", {"c": state}, {})
    back = store.load(0, ["c"])["c"].list("x")[0].load()
    assert back.equals(batch, check_metadata=True) and back.num_rows == batch.num_rows
    back.validate(full=True)


def test_dictionaries_are_refused(store: PaneStore, tmp_path: Path) -> None:
    state = state_of(pa.record_batch({"d": pa.array(["a"]).dictionary_encode(), "e": pa.array([1])}).select(["e", "d"]))
    with pytest.raises(InternalError, match=r"'d' is dictionary-encoded"):
        store.commit(0, "p0", {"c": state}, {})
    assert not list(tmp_path.rglob("*.*"))


def test_heads_must_be_json(store: PaneStore, tmp_path: Path) -> None:
    with pytest.raises(InternalError, match="plain JSON"):
        store.commit(0, "p0", {"c": state_of(rows(1), when=np.int64(3))}, {})
    assert not list(tmp_path.rglob("*.*")), "nothing may be written for a manifest that cannot be"


def test_reads_are_lazy_and_do_not_copy(store: PaneStore, tmp_path: Path) -> None:
    store.commit(0, "p0", {"c": state_of(rows(*range(1000)), rows(7))}, {})
    state = store.load(0, ["c"])["c"]
    path = data_files(tmp_path)[0]
    hidden = path.rename(path.with_suffix(".away"))
    assert [c.meta["n"] for c in state.list("panes")] == [1000, 1] and state.rows() == 1001
    with pytest.raises(StoreError, match=r"chunks is missing, although a manifest names it.*new checkpoint"):
        state.list("panes")[0].load()
    hidden.rename(path)
    before = pa.total_allocated_bytes()
    batch = state.list("panes")[0].load()
    assert batch.column("v").to_pylist() == list(range(1000))
    assert pa.total_allocated_bytes() - before < 1000, "the rows are mapped, not copied"


def test_a_deleted_file_stays_readable_while_it_is_open(store: PaneStore, tmp_path: Path) -> None:
    store.commit(0, "p0", {"c": state_of(rows(1), rows(2))}, {})
    first, second = store.load(0, ["c"])["c"].list("panes")
    batch = first.load()
    data_files(tmp_path)[0].unlink()
    assert batch.equals(rows(1)) and second.load().equals(rows(2))


def test_after_a_commit_chunks_are_addressed_and_not_written_again(store: PaneStore, tmp_path: Path) -> None:
    state = state_of(rows(1, 2))
    live = state.list("panes")
    assert store.commit(0, "p0", {"c": state}, {}).rows == 2
    assert state.list("panes") is live and live[0].address.position == 0
    assert store.commit(1, "p0", {"c": state}, {}).rows == 0
    assert len(data_files(tmp_path)) == 1


def test_bytes_are_counted_as_the_disk_has_them(store: PaneStore, tmp_path: Path) -> None:
    states = {"a": state_of(rows(1, 2), rows(3)), "b": state_of(rows(4))}
    stats = store.commit(0, "p0", states, PRINT)
    [data], [manifest] = data_files(tmp_path), manifests(tmp_path)
    assert stats.bytes_written == data.stat().st_size + manifest.stat().st_size
    assert (stats.files, stats.rows, stats.state_rows, stats.state_bytes) == (2, 4, 4, data.stat().st_size)
    again = store.commit(1, "p0", store.load(0, ["a", "b"]), PRINT)
    assert (again.files, again.rows, again.state_rows, again.state_bytes) == (1, 0, 4, data.stat().st_size)
    assert again.bytes_written == manifests(tmp_path)[1].stat().st_size


def test_a_chunk_costs_a_manifest_few_bytes(store: PaneStore) -> None:
    rng = random.Random(5)
    sizes = []
    for count in (1, 501):
        state = ShardState()
        for i in range(count):
            state.append("panes", rows(1), min_ts=i * 10**7 + rng.randrange(10**6), max_exp=i * 10**7 + 10**9)
        stats = store.commit(0, "p0", {"c": state}, {})
        sizes.append(stats.bytes_written - stats.state_bytes)
    assert (sizes[1] - sizes[0]) / 500 < 12


def test_reports(store: PaneStore) -> None:
    store.commit(3, "p0", {"a": ShardState()}, PRINT, {"late": 2})
    store.commit(3, "p1", {"b": ShardState()}, PRINT)
    assert store.read_reports(3) == {"p0": {"late": 2}, "p1": {}}
    assert store.read_reports(4) == {}


# --- retries, speculation, other spreads ------------------------------------------------------------------------------


def test_a_run_again_starts_from_the_version_before(store: PaneStore, tmp_path: Path) -> None:
    store.commit(0, "p0", {"c": state_of(rows(1), n=0)}, {})
    answers = []
    for _ in range(3):
        state = store.load(0, ["c"])["c"]
        state.append("panes", rows(2), min_ts=2)
        state.heads["n"] += 1
        store.commit(1, "p0", {"c": state}, {})
        answers.append(contents(store.load(1, ["c"])))
    assert answers[0] == answers[1] == answers[2]
    assert answers[0]["c"][0] == {"n": 1} and len(answers[0]["c"][1]["panes"]) == 2
    assert len(manifests(tmp_path)) == 2 and len(data_files(tmp_path)) == 4


def test_a_slow_copy_does_not_disturb_its_twin(store: PaneStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The slow copy writes its chunks, the fast one commits, a reader opens the version, the slow one commits too."""
    slow, fast = state_of(rows(1)), state_of(rows(1))
    real_put = LocalFiles.put
    seen: list[Any] = []

    def interleaved(self: LocalFiles, path: str, parts: Any) -> None:
        if path.endswith(".manifest") and not seen:
            seen.append(None)
            store.commit(0, "p0", {"c": fast}, {})
            seen.append(store.load(0, ["c"])["c"].list("panes")[0])
        real_put(self, path, parts)

    monkeypatch.setattr(LocalFiles, "put", interleaved)
    store.commit(0, "p0", {"c": slow}, {})
    last = store.load(0, ["c"])["c"].list("panes")[0]
    assert seen[1].address != last.address
    assert seen[1].load().equals(rows(1)) and last.load().equals(rows(1))


def test_cells_move_between_tasks(store: PaneStore) -> None:
    for version, spread in enumerate([2, 3, 1, 4]):
        for task in range(spread):
            mine = CELLS[task::spread]
            states = store.load(version - 1, mine, task=f"p{task}")
            for cell, state in states.items():
                assert state.heads.get("history", []) == list(range(version))
                state.heads["history"] = list(range(version + 1))
                state.append("panes", rows(version, CELLS.index(cell)))
            store.commit(version, f"p{task}", states, PRINT)
    for i, state in enumerate(store.load(3, CELLS).values()):
        assert [c.load().column("v").to_pylist() for c in state.list("panes")] == [[v, i] for v in range(4)]


def test_leftovers_of_an_interrupted_spread_are_valid(store: PaneStore) -> None:
    store.commit(0, "p0", {CELLS[0]: state_of(rows(1)), CELLS[1]: state_of(rows(2))}, PRINT)
    for task, cells in [("p1", CELLS[:2]), ("p0", CELLS[:1]), ("q1", CELLS[1:2])]:
        states = store.load(0, cells)
        for state in states.values():
            state.heads["b"] = 1
        store.commit(1, task, states, PRINT)
    assert {c: s.heads for c, s in store.load(1, CELLS[:2]).items()} == {c: {"b": 1} for c in CELLS[:2]}


def test_new_queries_start_empty_and_lost_cells_are_noticed(store: PaneStore, tmp_path: Path) -> None:
    store.commit(0, "p0", {"sig/0/0": state_of(rows(1)), "sig/0/1": ShardState()}, {})
    store.commit(0, "p1", {"sig/0/2": state_of(rows(3))}, {})
    states = store.load(0, ["sig/0/2", "new/0/0", "sig/1/0"])
    assert [s.rows() for s in states.values()] == [1, 0, 0]
    manifests(tmp_path)[1].unlink()
    with pytest.raises(StoreError, match=r"version 0 .* is incomplete: no manifest has sig/0/2"):
        store.load(0, ["sig/0/0", "sig/0/2"])
    assert store.load(0, ["sig/0/0", "sig/0/2"], sparse=True)["sig/0/2"].rows() == 0


def test_a_task_that_keeps_its_cells_reads_one_manifest(store: PaneStore, tmp_path: Path) -> None:
    for i, cell in enumerate(CELLS):
        store.commit(0, f"p{i}", {cell: state_of(rows(i))}, {})
    for path in manifests(tmp_path)[:3]:
        path.write_bytes(b"")
    assert store.load(0, CELLS[3:], task="p3")[CELLS[3]].rows() == 1


# --- errors -----------------------------------------------------------------------------------------------------------


def test_versions_that_are_not_there(store: PaneStore) -> None:
    with pytest.raises(StoreError, match=r"there is no pane store at .*asks for its version 3.*new checkpoint"):
        store.load(3, CELLS)
    for version in (5, 6):
        store.commit(version, "p0", {c: ShardState() for c in CELLS}, PRINT)
    with pytest.raises(StoreError, match=r"newer than the checkpoint.*asks for version 3.*holds versions 5 to 6"):
        store.load(3, CELLS)
    with pytest.raises(StoreError, match=r"newer than the checkpoint.*empty version before batch 0"):
        store.load(-1, CELLS)
    with pytest.raises(StoreError, match=r"older than the checkpoint.*asks for version 9.*holds versions 5 to 6"):
        store.load(9, CELLS)


def test_the_first_batch_may_run_again(store: PaneStore) -> None:
    store.commit(0, "p0", {"c": state_of(rows(1))}, {})
    assert store.load(-1, ["c"])["c"].rows() == 0


def test_another_pipeline_is_refused(store: PaneStore) -> None:
    store.commit(0, "p0", {"c": ShardState()}, {"shards": 4})
    store.load(0, ["c"], fingerprint={"shards": 4})
    with pytest.raises(StoreError, match=r"another pipeline.*the number of shards was 4, is now 8"):
        store.load(0, ["c"], fingerprint={"shards": 8})


def test_a_file_in_the_wrong_place_is_refused(store: PaneStore, tmp_path: Path) -> None:
    store.commit(0, "p0", {"c": ShardState()}, {})
    path = manifests(tmp_path)[0]
    path.with_name("0000000001.p0.manifest").write_bytes(path.read_bytes())
    with pytest.raises(StoreError, match="moved or renamed"):
        store.load(1, ["c"])


def test_names_that_could_leave_the_directory_are_refused(store: PaneStore, tmp_path: Path) -> None:
    with pytest.raises(InternalError):
        PaneStore.open(str(tmp_path), "../other", 0)
    with pytest.raises(InternalError):
        store.commit(0, "../p0", {}, {})


def _read_all(store: PaneStore) -> Any:
    OPEN.forget()
    return contents(store.load(0, ["a", "b"]))


def test_a_flipped_byte_of_a_manifest_is_always_noticed(store: PaneStore, tmp_path: Path) -> None:
    store.commit(0, "p0", {"a": state_of(rows(1), x=1), "b": state_of(rows(2))}, PRINT)
    good = _read_all(store)
    path = manifests(tmp_path)[0]
    data = path.read_bytes()
    for i in range(len(data)):
        for bits in (0x01, 0x80, 0xFF):
            path.write_bytes(data[:i] + bytes([data[i] ^ bits]) + data[i + 1 :])
            with pytest.raises(StoreError, match=r"0000000000\.p0\.manifest"):
                _read_all(store)
    for size in range(len(data)):
        path.write_bytes(data[:size])
        with pytest.raises(StoreError):
            _read_all(store)
    path.write_bytes(data)
    assert _read_all(store) == good


def test_a_flipped_byte_of_a_data_file_is_always_noticed(store: PaneStore, tmp_path: Path) -> None:
    store.commit(0, "p0", {"a": state_of(rows(1), rows(2, None)), "b": state_of(rows(3))}, PRINT)
    good = _read_all(store)
    path = data_files(tmp_path)[0]
    data = path.read_bytes()
    rng = random.Random(11)
    places = {*range(80), *range(len(data) - 80, len(data)), *rng.sample(range(len(data)), 250)}
    for i in sorted(places):
        path.write_bytes(data[:i] + bytes([data[i] ^ (1 << rng.randrange(8))]) + data[i + 1 :])
        with pytest.raises(StoreError, match=r"chunks"):
            _read_all(store)
    for size in [0, 1, 63, 64, 83, 84, *rng.sample(range(len(data)), 30)]:
        path.write_bytes(data[:size])
        with pytest.raises(StoreError, match=r"chunks"):
            _read_all(store)
    path.write_bytes(data)
    assert _read_all(store) == good


def test_damage_is_told_with_its_place(store: PaneStore, tmp_path: Path) -> None:
    store.commit(0, "p0", {"a": state_of(rows(1)), "b": ShardState()}, PRINT)
    path = data_files(tmp_path)[0]
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    with pytest.raises(StoreError, match=r"\.chunks is corrupt: the chunk at offset 64 .*a, panes.*restore the file"):
        _read_all(store)
    data[100] ^= 1
    data[8] = 9
    path.write_bytes(data)
    with pytest.raises(StoreError, match=r"format version 9 .*reads version 1: run the release that wrote it"):
        _read_all(store)


def test_each_checksum_is_compared_once(store: PaneStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store.commit(0, "p0", {"a": state_of(rows(1)), "b": state_of(rows(2))}, PRINT)
    compared: list[int] = []
    real = chunk_file.ChunkFile._verify
    monkeypatch.setattr(chunk_file.ChunkFile, "_verify", lambda self, p, *a: (compared.append(p), real(self, p, *a)))
    for _ in range(3):
        contents(store.load(0, ["a", "b"]))
    assert sorted(compared) == [0, 1]


@pytest.mark.parametrize("kind", [".chunks", ".manifest"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_full_disk_commits_nothing(
    store: PaneStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, code: int
) -> None:
    store.commit(0, "p0", {"c": state_of(rows(1))}, PRINT)
    before = sorted(tmp_path.rglob("*"))
    state = store.load(0, ["c"])["c"]
    state.append("panes", rows(2))
    real = os.fsync

    def full(handle: int) -> None:
        if kind in os.readlink(f"/proc/self/fd/{handle}"):
            raise OSError(code, os.strerror(code))
        real(handle)

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(StoreError, match="cannot write to the pane store" if code == errno.EIO else "full.*free space"):
        store.commit(1, "p0", {"c": state}, PRINT)
    monkeypatch.undo()
    assert sorted(tmp_path.rglob("*")) == before
    assert state.list("panes")[1].address is None
    store.commit(1, "p0", {"c": state}, PRINT)
    assert [c.load() for c in store.load(1, ["c"])["c"].list("panes")] == [rows(1), rows(2)]


def test_a_manifest_that_stands_in_spite_of_an_error_keeps_its_data(
    store: PaneStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = files._sync_directory

    def fails(path: str) -> None:
        if path.endswith("manifests"):
            raise OSError(errno.EIO, "i/o error")
        real(path)

    monkeypatch.setattr(files, "_sync_directory", fails)
    with pytest.raises(StoreError):
        store.commit(0, "p0", {"c": state_of(rows(1))}, PRINT)
    assert store.load(0, ["c"])["c"].list("panes")[0].load() == rows(1)


# --- crashes ----------------------------------------------------------------------------------------------------------

COMMIT = """
import sys
import pyarrow as pa
from muntin.state.pane_store import PaneStore
root, query, version = sys.argv[1], sys.argv[2], int(sys.argv[3])
store = PaneStore.open(root, query, 0)
states = store.load(version - 1, ["c"])
states["c"].append("panes", pa.record_batch({"v": pa.array([version])}))
store.commit(version, "p0", states, {})
"""


@pytest.mark.kill
@pytest.mark.parametrize("point", ["chunks:before", "chunks:after", "manifest:before", "manifest:after"])
def test_killed_in_a_commit(store: PaneStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str) -> None:
    monkeypatch.setenv("MUNTIN_FAULT", f"{point}:1:{tmp_path / 'passes'}")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(p for p in sys.path if p))
    store.commit(0, "p0", {"c": state_of(rows(0))}, {})
    args = ["-c", str(tmp_path), QUERY, "1"]
    assert subprocess.run([sys.executable, "-c", COMMIT, *args[1:]]).returncode == -signal.SIGKILL
    assert store.latest_version() == (1 if point == "manifest:after" else 0)
    monkeypatch.setattr(sys, "argv", args)
    exec(COMMIT, {})  # it dies once
    states = store.load(1, ["c"])
    states["c"].append("panes", rows(2))
    store.commit(2, "p0", states, {})
    values = [c.load().column("v").to_pylist() for c in store.load(2, ["c"])["c"].list("panes")]
    assert values == [[0], [1], [2]]
    assert not list(tmp_path.rglob("*.tmp*"))


# --- other file systems and tools -------------------------------------------------------------------------------------


def test_a_remote_store_with_a_local_cache(tmp_path: Path) -> None:
    remote = ArrowFiles(
        pafs.SubTreeFileSystem(str(tmp_path / "far"), pafs.LocalFileSystem()), "bucket", str(tmp_path / "near")
    )
    (tmp_path / "far").mkdir()
    store = PaneStore(remote, QUERY, 0)
    assert store.latest_version() is None
    states = {"c": state_of(rows(1, 2))}
    for version in (0, 0, 1):
        store.commit(version, "p0", states, PRINT)
    assert len(list((tmp_path / "far").rglob("*.manifest"))) == 2
    assert store.load(1, ["c"])["c"].list("panes")[0].load() == rows(1, 2)
    assert len(list((tmp_path / "near").rglob("*.chunks"))) == 1
    store.load(1, ["c"])["c"].list("panes")[0].load()
    for path in (tmp_path / "far").rglob("*.chunks"):
        path.unlink()
    OPEN.forget()
    assert store.load(1, ["c"])["c"].list("panes")[0].load() == rows(1, 2), "immutable, so the copy is as good"
    assert trim_cache(str(tmp_path / "near"), 0) > 0
    OPEN.forget()
    with pytest.raises(StoreError, match="missing"):
        store.load(1, ["c"])["c"].list("panes")[0].load()


def test_where_a_store_is(tmp_path: Path) -> None:
    assert files.files_at(f"file://{tmp_path}") == LocalFiles(str(tmp_path))
    with pytest.raises(StoreError, match="cannot reach"):
        files.files_at("nosuch://host/path")


def test_other_tools_can_list_files(store: PaneStore, tmp_path: Path) -> None:
    store.commit(7, "p0", {"a": state_of(rows(1, 2), k=1), "b": state_of(rows(3))}, PRINT, {"late": 1})
    [data], [manifest] = data_files(tmp_path), manifests(tmp_path)
    listed = describe_file(str(data))
    assert (listed["kind"], listed["version"], listed["task"]) == ("chunks", 7, "p0")
    assert [(c["cell"], c["structure"], c["rows"]) for c in listed["chunks"]] == [("a", "panes", 2), ("b", "panes", 1)]
    assert listed["chunks"][0]["columns"] == ["v: int64", "s: string"]
    assert all(c["offset"] % 64 == 0 for c in listed["chunks"])
    told = describe_file(str(manifest))
    assert told["report"] == {"late": 1} and told["cells"]["a"]["heads"] == {"k": 1}
    assert told["cells"]["b"]["chunks"] == [
        {"structure": "panes", "file": data.name, "position": 1, "meta": {"n": 1, "bytes": rows(1).nbytes, "min_ts": 3}}
    ]
    (tmp_path / "other").write_bytes(b"x" * 200)
    with pytest.raises(StoreError, match="no file of the pane store"):
        describe_file(str(tmp_path / "other"))
