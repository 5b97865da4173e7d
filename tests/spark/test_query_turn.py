"""One-time queries let batches pass, and wait for one another; the driver waits for nobody; locks end with processes.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from muntin.core import file_locks
from muntin.spark import query_turn
from muntin.spark.query_turn import QueryTurn
from muntin.spark.turns import FILE, BatchTurns, Timetable, in_batch, path_of

pytestmark = pytest.mark.skipif(not file_locks.KNOWN, reason="the system has no locks of open files")

DRIVER = """
import sys, time
from muntin.spark.turns import BatchTurns
turns = BatchTurns(sys.argv[1])
turns.open()
with turns.batch(0):
    print("under way", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def run(tmp_path: Path) -> Iterator[BatchTurns]:
    """A run without an interval, between two batches."""
    (tmp_path / "commits").mkdir()
    turns = BatchTurns(str(tmp_path))
    turns.open()
    yield turns
    turns.close()


def elsewhere(work: object) -> threading.Thread:
    thread = threading.Thread(target=work)  # type: ignore[arg-type]
    thread.start()
    return thread


def waited(place: str, most: float = 0.2, at_once: int = 1) -> float:
    """How long a query waits that begins in another thread now."""
    found: list[float] = []

    def ask() -> None:
        with QueryTurn(place, most, at_once) as turn:
            turn.begin()
            turn.let_pass()
            found.append(turn.waited)

    elsewhere(ask).join(30)
    return found[0]


def test_a_batch_is_let_pass(run: BatchTurns) -> None:
    assert waited(run.checkpoint) < 0.1
    passed = threading.Event()

    def ask() -> None:
        with QueryTurn(run.checkpoint, 60) as turn:
            turn.begin()
            passed.set()

    with run.batch(0):
        reader = elsewhere(ask)
        assert not passed.wait(0.3)
        assert QueryTurn(run.checkpoint)._disturbs(0.0) == 0.0, "who asks from a batch does not wait for that"
    assert not passed.wait(0.1), "it is not committed yet"
    Path(run.checkpoint, "commits", "0").touch()
    assert passed.wait(20)
    reader.join(20)
    assert not in_batch


def test_it_waits_in_the_middle_too(run: BatchTurns) -> None:
    with QueryTurn(run.checkpoint, 0.3) as turn:
        turn.begin()
        assert turn.waited < 0.1
        elsewhere(lambda: None).join()
        under_way, go = threading.Event(), threading.Event()

        def drive() -> None:
            with run.batch(0):
                under_way.set()
                go.wait(30)

        driver = elsewhere(drive)
        assert under_way.wait(20)
        turn.let_pass()
        assert 0.3 <= turn.waited < 5, "none waits for ever"
        began = time.monotonic()
        turn.let_pass()
        assert time.monotonic() - began < 0.2, "it has waited for as long as it may, in all"
        go.set()
        driver.join(20)


def test_only_so_many_at_a_time(run: BatchTurns) -> None:
    with QueryTurn(run.checkpoint, 1, at_once=2) as first, QueryTurn(run.checkpoint, 1, at_once=2) as second:
        first.begin()
        second.begin()
        assert first.waited + second.waited < 0.2
        assert 0.2 <= waited(run.checkpoint, at_once=2) < 5
        first.__exit__()
        assert waited(run.checkpoint, at_once=2) < 0.15


def test_who_asks_without_a_pause_lets_others_in(run: BatchTurns) -> None:
    answers, until = [0] * 5, time.monotonic() + 2

    def ask(number: int) -> None:
        while time.monotonic() < until:
            with QueryTurn(run.checkpoint, 60, at_once=1) as turn:
                turn.begin()
                answers[number] += 1
                time.sleep(0.01)

    threads = [elsewhere(partial(ask, i)) for i in range(len(answers))]
    for thread in threads:
        thread.join(60)
    assert min(answers) >= max(answers) / 10 and sum(answers) > 30, answers


def test_who_has_waited_enough_is_not_the_next(run: BatchTurns) -> None:
    with QueryTurn(run.checkpoint, 1, at_once=1) as first:
        first.begin()
        with QueryTurn(run.checkpoint, 0.1, at_once=1) as impatient:
            impatient.begin()
            first.__exit__()
            assert waited(run.checkpoint) < 0.15


def test_the_driver_waits_for_nobody(run: BatchTurns) -> None:
    """Whatever queries hold, a batch begins and ends at once, and so does another run of the checkpoint."""
    held = []
    for _ in range(4):
        held.append(QueryTurn(run.checkpoint, 0.0, at_once=4).__enter__())
        held[-1].begin()
    other, began = BatchTurns(run.checkpoint), time.monotonic()
    other.open()
    for number in range(20):
        with run.batch(number), other.batch(number):
            pass
    assert time.monotonic() - began < 2
    other.close()
    for turn in held:
        turn.__exit__()


def test_who_is_killed_holds_nobody_up(tmp_path: Path) -> None:
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, str(tmp_path)], stdout=subprocess.PIPE)
    assert driver.stdout is not None and driver.stdout.readline() == b"under way\n"
    assert waited(str(tmp_path)) >= 0.2
    os.kill(driver.pid, signal.SIGKILL)
    driver.wait()
    assert waited(str(tmp_path)) < 0.1
    with QueryTurn(str(tmp_path), at_once=1) as turn:
        turn.begin()
        assert waited(str(tmp_path)) < 0.1, "where nothing runs nobody is in the way"


def test_a_trigger_that_is_due() -> None:
    every = Timetable(every=2.0, before=0.125)
    assert every.until_batch(1001.0, 0.25) == 0.0
    assert every.until_batch(1001.8125, 0.25) == pytest.approx(0.3125)
    assert every.until_batch(1002.0625, 0.25) == pytest.approx(0.0625)
    assert every.until_batch(1002.1875, 0.25) == 0.0
    assert Timetable().until_batch(1002.0, 0.25) == 0.0
    assert Timetable.of(every.packed()) == every and Timetable.of(b"torn") == Timetable()


def test_how_long_spark_takes_before_a_batch() -> None:
    turns = BatchTurns("s3://bucket/nowhere", every=2.0)
    assert turns._before(1002.125) == 0.125
    assert turns._before(1003.5) == 0.0, "late by itself"
    with turns.batch(0):
        pass
    turns._noted = Timetable(0, 0.0, 2.0, 0.25)
    assert turns._before(1002.0) == pytest.approx(0.2) and turns._before(1003.9) == 0.25


def test_where_nothing_can_be_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert path_of("s3://bucket/state") is None and path_of(f"file://{tmp_path}") == str(tmp_path / FILE)
    with QueryTurn("s3://bucket/state") as turn:
        turn.begin()
        assert turn.waited < 0.1
    assert waited(str(tmp_path)) < 0.1 and not (tmp_path / FILE).exists(), "no run has been there"
    monkeypatch.setattr(file_locks, "KNOWN", False)
    turns = BatchTurns(str(tmp_path))
    turns.open()
    with turns.batch(0):
        assert waited(str(tmp_path)) < 0.1
    turns.close()
    assert not (tmp_path / FILE).exists()


def test_a_checkpoint_that_may_only_be_read(run: BatchTurns, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = os.open

    def read_only(path: str, flags: int, *mode: int) -> int:
        if flags & os.O_RDWR:
            raise PermissionError(path)
        return opened(path, flags, *mode)

    monkeypatch.setattr(query_turn.os, "open", read_only)
    assert waited(run.checkpoint) < 0.1
    with run.batch(0):
        assert waited(run.checkpoint) >= 0.2
