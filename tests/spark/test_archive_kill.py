"""A driver or a worker is killed while it writes to an archive: the run, or the next one, goes on, and each result is
there once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from archive_job import TEXT
from conftest_spark import SECOND, events

from muntin import query
from muntin.archive import open_archive, snapshot

JOB = Path(__file__).with_name("archive_job.py")


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.kill
@pytest.mark.parametrize("point", ["archive:files", "archive:before", "archive:after"])
def test_each_result_once(point: str, tmp_path: Path) -> None:
    expected_once(tmp_path, f"{point}:3", -9)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.kill
@pytest.mark.parametrize("at", [2, 9, 14])
def test_a_worker_is_killed(at: int, tmp_path: Path) -> None:
    """Between a file and its commit, in a batch or an update: the task runs again, and nobody names the first file."""
    expected_once(tmp_path, f"archive:segment:{at}:{tmp_path / 'passes'}", 0)
    found = open_archive(str(tmp_path / "archive"))
    assert (tmp_path / "passes").stat().st_size > at
    assert set(found.files.names("data")) == set().union(*found._named.values())


def expected_once(tmp_path: Path, fault: str, code: int) -> None:
    """A run in which something is killed ends with ``code``, and one more; then the archive is as it should be."""
    tables = [events(i, 15 * i, 15, 40) for i in range(5)]
    (tmp_path / "in").mkdir()
    for i, table in enumerate(tables):
        pq.write_table(table, tmp_path / "in" / f"{i}.parquet")
        os.utime(tmp_path / "in" / f"{i}.parquet", (1_600_000_000 + i, 1_600_000_000 + i))
    places = [str(tmp_path / name) for name in ("in", "checkpoint", "archive")]
    environment = {**os.environ, "MUNTIN_FAULT": fault}
    assert subprocess.run([sys.executable, str(JOB), *places], env=environment, check=False).returncode == code
    assert subprocess.run([sys.executable, str(JOB), *places], check=False).returncode == 0
    found = snapshot(places[2])
    now = found.now or 0
    whole = query(TEXT, ts="ts", a=pa.concat_tables(tables)).to_pylist()
    kept = [r for r in whole if now - 40 * SECOND < r["ts"].timestamp() * SECOND <= now]
    stored = [(r["k"], r["n"], r["ts"].timestamp()) for r in found.scan().to_pylist()]
    assert Counter(stored) == Counter((r["k"], r["n"], r["ts"].timestamp()) for r in kept) and stored
