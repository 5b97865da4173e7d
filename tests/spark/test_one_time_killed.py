"""A pipeline or a reader is killed while the other is at work: both stay usable, and every answer is that of its
instant."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest_spark import SECOND
from processes import finish, kill, numbers, put_input, start, tree

from muntin.local.one_time import Isolation, OneTimeAnswer
from muntin.session.one_time import ask_checkpoint

pytestmark = [pytest.mark.spark, pytest.mark.kill, pytest.mark.slow]

TEXT = "SELECT k, n, total FROM slide"
HOLDER = """
import sys, time
from muntin.spark.readers import holding
with holding(sys.argv[1]):
    print("held", flush=True)
    time.sleep(600)
"""


def test_killed_in_the_middle(tmp_path: Path) -> None:
    inputs, checkpoint = put_input(tmp_path, 14), str(tmp_path / "cp")
    done, found, wrong = threading.Event(), list[OneTimeAnswer](), list[BaseException]()
    job = start(tmp_path)
    wait(lambda: numbers(tmp_path, "commits") >= 3 or job.poll() is not None)

    def ask(isolation: Isolation) -> None:
        while not done.is_set():
            try:
                found.append(ask_checkpoint(checkpoint, TEXT, isolation=isolation))
            except BaseException as e:
                wrong.append(e)
                return

    readers = [threading.Thread(target=ask, args=(i,)) for i in ("window", "latest", "latest", "serial")]
    for r in readers:
        r.start()
    wait(lambda: numbers(tmp_path, "offsets") > numbers(tmp_path, "commits") >= 4)
    kill(tree(job.pid))
    job.wait()
    asked, committed = len(found), numbers(tmp_path, "commits")
    wait(lambda: len(found) > asked + 8 or wrong)  # it is asked after its end
    assert {a.batch for a in found[asked + 4 :]} == {committed - 1}
    job = start(tmp_path)
    wait(lambda: numbers(tmp_path, "commits") > committed)
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, checkpoint], stdout=subprocess.PIPE)
    assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
    holder.kill()
    holder.wait()
    finish(job, tmp_path)
    last = numbers(tmp_path, "commits") - 1
    wait(lambda: any(a.batch == last for a in found) or wrong)
    done.set()
    for r in readers:
        r.join(60)
        assert not r.is_alive()
    assert not wrong, wrong[0]
    assert max(a.batch for a in found) == last
    rows = inputs["a"].table()
    for answer in {(a.batch, a.at): a for a in found}.values():
        assert Counter(tuple(r.values()) for r in answer.rows.to_pylist()) == expected(rows, answer.at)
    by_instant: dict[int, set[str]] = {}
    for a in found:
        by_instant.setdefault(a.at, set()).add(repr(sorted(map(repr, a.rows.to_pylist()))))
    assert all(len(answers) == 1 for answers in by_instant.values()) and len(by_instant) > 2


def expected(rows: pa.Table, at: int) -> Counter[Any]:
    groups: dict[Any, list[int]] = {}
    times = rows["ts"].cast(pa.int64()).to_pylist()
    for t, k, v in zip(times, rows["k"].to_pylist(), rows["v"].to_pylist(), strict=True):
        if at - 20 * SECOND < t <= at and v is not None and v > 20:
            groups.setdefault(k, []).append(v)
    return Counter((k, len(vs), sum(vs)) for k, vs in groups.items())


def wait(ready: Any, seconds: float = 240) -> None:
    deadline = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < deadline, "it takes too long"
        time.sleep(0.02)
