"""A commit waits for the readers that are there, and for nobody else."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

from muntin.spark.readers import DIRECTORY, _host, holding, wait_for_readers


def test_it_waits_for_those_that_are_there(tmp_path: Path) -> None:
    place = str(tmp_path)
    assert wait_for_readers(place) < 1
    began, waited = threading.Event(), list[float]()

    def commit() -> None:
        began.set()
        waited.append(wait_for_readers(place, 30))

    with holding(place):
        writer = threading.Thread(target=commit)
        writer.start()
        began.wait()
        time.sleep(0.3)
        assert not waited
        late = holding(place)
        with late:  # came after the commit had begun to wait, and stays longer
            time.sleep(0.1)
            inner = os.listdir(tmp_path / DIRECTORY)
            assert len(inner) == 2
    writer.join(5)
    assert 0.3 < waited[0] < 5 and os.listdir(tmp_path / DIRECTORY) == []


def test_a_later_reader_does_not_hold_it(tmp_path: Path) -> None:
    place, waited = str(tmp_path), list[float]()
    first = holding(place)
    first.__enter__()
    writer = threading.Thread(target=lambda: waited.append(wait_for_readers(place, 30)))
    writer.start()
    time.sleep(0.2)
    with holding(place):
        first.__exit__(None, None, None)
        writer.join(5)
        assert waited, "it waits for the first alone"


def test_who_was_killed_or_takes_too_long(tmp_path: Path) -> None:
    place = str(tmp_path)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    os.makedirs(tmp_path / DIRECTORY)
    (tmp_path / DIRECTORY / f"a.{ended.pid}.{_host()}").touch()
    assert wait_for_readers(place, 30) < 5
    (tmp_path / DIRECTORY / "a.1.elsewhere").touch()
    assert 0.2 < wait_for_readers(place, 0.2) < 5
    assert os.listdir(tmp_path / DIRECTORY) == []
