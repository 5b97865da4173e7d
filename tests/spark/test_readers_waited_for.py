"""A commit waits for the readers that are there, and for nobody else; readers know what is committed meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from muntin.dataflow.durable import DurablePlan
from muntin.session.one_time import _Versions
from muntin.spark import files
from muntin.spark.checkpoint import read_checkpoint
from muntin.spark.readers import DIRECTORY, _host, holding, wait_for_readers


def test_it_waits_for_those_that_are_there(tmp_path: Path) -> None:
    place, waited = str(tmp_path), list[float]()
    assert wait_for_readers(place) < 5
    with holding(place):
        writer = threading.Thread(target=lambda: waited.append(wait_for_readers(place, 30)))
        writer.start()
        time.sleep(0.3)
        assert not waited
    writer.join(20)
    assert 0 < waited[0] < 20 and os.listdir(tmp_path / DIRECTORY) == []


def test_a_later_reader_does_not_hold_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, waited, looked = str(tmp_path), list[float](), threading.Event()
    names = files.names

    def looking(directory: str) -> list[str]:
        found = names(directory)
        looked.set()
        return found

    monkeypatch.setattr(files, "names", looking)
    with holding(place):
        writer = threading.Thread(target=lambda: waited.append(wait_for_readers(place, 30)))
        writer.start()
        assert looked.wait(20)
        later = holding(place)
        later.__enter__()
        assert len(os.listdir(tmp_path / DIRECTORY)) == 2
    writer.join(20)
    assert waited, "it waits for the first alone"
    later.__exit__(None, None, None)
    assert os.listdir(tmp_path / DIRECTORY) == []


def test_who_was_killed_or_takes_too_long(tmp_path: Path) -> None:
    place = str(tmp_path)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    os.makedirs(tmp_path / DIRECTORY)
    (tmp_path / DIRECTORY / f"a.{ended.pid}.{_host()}").touch()
    assert wait_for_readers(place, 30) < 20
    (tmp_path / DIRECTORY / "a.1.elsewhere").touch()
    assert 0.2 < wait_for_readers(place, 0.2) < 20
    assert os.listdir(tmp_path / DIRECTORY) == []


def test_a_reader_that_is_far_behind_knows_the_newest_batch(tmp_path: Path) -> None:
    for log in ("offsets", "commits"):
        os.makedirs(tmp_path / log)

    def batches(kept: range) -> None:
        for log in ("offsets", "commits"):
            for old in os.listdir(tmp_path / log):
                os.remove(tmp_path / log / old)
            for number in kept:
                (tmp_path / log / str(number)).touch()

    found = read_checkpoint(str(tmp_path))
    versions = _Versions(found, [], DurablePlan(0, "1"))
    assert versions.newest() == -1
    batches(range(3))
    assert versions.newest() == 2
    batches(range(5))
    assert versions.newest() == 4
    batches(range(100, 200))  # as Spark leaves them
    assert versions.newest() == 199
