"""A writer that is killed in the middle of an update, and readers that go on meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from archives import SCHEMA, bag
from writer_job import rows_of

from muntin.archive import Layout, create, open_archive, snapshot
from muntin.archive.layout import Update
from muntin.archive.reader import Snapshot, place, reading_newest
from muntin.state.faults import POINTS

JOB = Path(__file__).with_name("writer_job.py")


def expected(now: int) -> dict[tuple[object, ...], int]:
    rows = [r for n in range(now) for r in rows_of(n).to_pylist()]
    return {(r["k"], r["v"], r["ts"], r["exp"]): 1 for r in rows if r["exp"] > now}


def whole(found: Snapshot) -> None:
    """A version is one of those that were committed: the rows of all batches up to its time."""
    assert bag(found.scan()) == expected(found.now or 0)


def work(path: str, first: int, last: int, fault: str = "") -> int:
    environment = {**os.environ, "MUNTIN_FAULT": fault} if fault else dict(os.environ)
    return subprocess.run(
        [sys.executable, str(JOB), path, str(first), str(last)], env=environment, check=False
    ).returncode


def made(tmp_path: Path, update: Update = "rebuild") -> str:
    path = str(tmp_path / "a")
    create(path, SCHEMA, key="k", every=3, span=12, layout=Layout(2, 2, update=update), keep=2)
    return path


@pytest.mark.kill
@pytest.mark.parametrize("at", [p for p in POINTS if p.startswith("archive")])
def test_a_kill_loses_nothing(at: str, tmp_path: Path) -> None:
    path = made(tmp_path, "norebuild")
    assert work(path, 0, 12, f"{at}:7") == -9
    found = snapshot(path)
    assert found.now in (6, 7) or (at == "archive:segment" and 0 < (found.now or 0) < 12)
    whole(found)
    again = open_archive(path)  # what the killed writer left is swept
    assert set(again.files.names("data")) == set().union(*again._named.values())
    for number in range(12):  # batches that were committed change nothing
        again.write(rows_of(number), batch=("job", number))
    assert again.manifest.now == 12
    whole(again.snapshot())


def read_while_writing(tmp_path: Path, update: Update, batches: int) -> None:
    path, done, wrong, seen = made(tmp_path, update), threading.Event(), list[BaseException](), set[int]()

    def read() -> None:
        try:
            while not done.is_set():
                found = reading_newest(place(path), lambda s: (s.now or 0, bag(s.scan()), bag(s.probe("k1"))))
                now, rows, probed = found
                assert rows == expected(now)
                assert probed == {r: 1 for r in expected(now) if r[0] == "k1"}
                seen.add(now)
        except BaseException as e:
            wrong.append(e)

    readers = [threading.Thread(target=read) for _ in range(3)]
    archive = open_archive(path)
    for r in readers:
        r.start()
    for number in range(batches):
        archive.write(rows_of(number), batch=("job", number))
    done.set()
    for r in readers:
        r.join()
    assert not wrong, wrong
    assert seen


def test_readers_see_whole_versions(tmp_path: Path) -> None:
    read_while_writing(tmp_path, "rebuild", 40)


@pytest.mark.slow
@pytest.mark.parametrize("update", ["rebuild", "norebuild"])
def test_readers_see_whole_versions_long(update: Update, tmp_path: Path) -> None:
    read_while_writing(tmp_path, update, 600)


@pytest.mark.slow
@pytest.mark.kill
def test_killed_over_and_over(tmp_path: Path) -> None:
    path = made(tmp_path)
    for times in range(15):
        now = snapshot(path).now or 0
        fault = f"{POINTS[4 + times % 3]}:{1 + times % 5}"
        work(path, now, now + 8, fault)
        whole(snapshot(path))
