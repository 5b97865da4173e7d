"""A full disk and one that cannot be written: the same words at the start and in a batch, and nothing lost."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest_spark import SECOND, Feed, bag, events, until

from muntin.core.errors import StoreError
from muntin.session import Session
from muntin.spark import files
from muntin.spark.failures import unwrapped
from muntin.spark.outlets import Outlet, discard, publish
from muntin.state.files import write_error

TEXT = "SELECT k, COUNT(*) AS n FROM a [RANGE 20 SECONDS SLIDE 3 SECONDS] GROUP BY k"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 300 kB, where this user may mount one."""
    where = tmp_path / "disk"
    where.mkdir()
    try:
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(where)], capture_output=True)
    except OSError:
        pytest.skip("there is no mount here")
    if mounted.returncode:
        pytest.skip("this user may not mount a file system")
    yield where
    subprocess.run(["umount", "-l", str(where)], check=True)


def fill(where: Path) -> Path:
    filler = where / "filler"
    with open(filler, "wb", buffering=0) as f:
        try:
            while True:
                f.write(bytes(4096))
        except OSError as e:
            assert e.errno == errno.ENOSPC
    return filler


@pytest.mark.parametrize(
    "code, words",
    [
        (errno.ENOSPC, "the disk of the checkpoint is full: cannot write /x .*free space, or enlarge the quota"),
        (errno.EROFS, "the checkpoint is on a file system that is read-only: .*mount it for writing"),
        (errno.EACCES, "no permission to write to the checkpoint: /x .*give this user the right"),
        (errno.EIO, "cannot write to the checkpoint: /x .*check the path"),
    ],
)
def test_words_say_what_to_do(code: int, words: str) -> None:
    with pytest.raises(StoreError, match=f"{words}.*continues where it stopped"):
        raise write_error("/x", OSError(code, os.strerror(code)), "the checkpoint")


def test_what_the_driver_writes_on_a_full_disk(disk: Path) -> None:
    filler = fill(disk)
    with pytest.raises(StoreError, match="the disk of the checkpoint is full: cannot write"):
        files.write_atomically(str(disk / "record"), bytes(10_000))
    assert not [p for p in disk.iterdir() if p.name.startswith(".")]
    filler.unlink()
    files.write_atomically(str(disk / "record"), bytes(10_000))


def test_what_the_driver_writes_where_it_may_not(disk: Path) -> None:
    files.write_atomically(str(disk / "record"), b"1")
    files.make_dirs(str(disk / "out" / "_batch=0"))
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    for attempt in (
        lambda: files.make_dirs(str(disk / "a")),
        lambda: files.write_atomically(str(disk / "record"), b"2"),
        lambda: files.delete(str(disk / "record")),
        lambda: discard(Outlet("parquet", str(disk / "out")), 0),
        lambda: publish(Outlet("parquet", str(disk / "out")), 0),
    ):
        with pytest.raises(StoreError, match="is on a file system that is read-only"):
            attempt()
    assert files.read(str(disk / "record")) == b"1"


@pytest.mark.spark
def test_what_the_jvm_writes_on_a_full_disk(spark: Any) -> None:
    with pytest.raises(Exception) as caught:
        spark._jvm.java.io.FileOutputStream("/dev/full").write(b"x")
    found = unwrapped(caught.value)
    assert isinstance(found, StoreError) and "is full: cannot write java.io.IOException" in str(found)


@pytest.mark.spark
def test_a_pipeline_goes_on_when_the_disk_is_free_again(
    spark: Any, feed: Callable[[str], Feed], disk: Path, tmp_path: Path
) -> None:
    source = feed("a").put(*(events(i, 30 * i, 30, 150) for i in range(3)))

    def start() -> None:
        session = Session(spark, shards=2)
        session.stream("a", source.live())
        session.sql(TEXT).write("parquet", str(tmp_path / "out"))
        session.start(str(disk / "cp"), "available_now").await_termination()

    start()
    source.put(*(events(i, 30 * i, 30, 150) for i in range(3, 5)))
    filler = fill(disk)
    for _ in range(2):
        with pytest.raises(StoreError, match=r"the disk of .* is full"):
            start()
    with open(filler, "r+b") as f:  # room for the record and little more: it is a batch that meets the end
        f.truncate(filler.stat().st_size - 24_576)
    with pytest.raises(StoreError, match=r"the disk of .* is full"):
        start()
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    with pytest.raises(StoreError, match="is on a file system that is read-only"):
        start()
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    filler.unlink()
    start()
    replay = Session(spark, shards=2)
    replay.stream("a", source.replay())
    end = 149 * SECOND
    wanted = until(replay.sql(TEXT).to_df().toArrow(), end)
    assert bag(until(spark.read.parquet(str(tmp_path / "out")).toArrow(), end)) == bag(wanted)
