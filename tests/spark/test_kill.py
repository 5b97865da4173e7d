"""SIGKILL of driver, JVM and workers at random moments, then restart: exactly the rows of an undisturbed run."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from processes import assert_undisturbed, finish, kill, numbers, put_input, start, tree

from muntin.state.faults import POINTS

pytestmark = [pytest.mark.spark, pytest.mark.kill]
PASSED = [point for point in POINTS if not point.startswith("archive:")]
"""The points that these pipelines pass: none of them has an archive."""


@pytest.mark.parametrize(
    ("kills", "files"), [(1, 5), pytest.param(20, 60, marks=pytest.mark.slow)], ids=["short", "twenty"]
)
def test_killed_and_restarted_gives_the_undisturbed_rows(tmp_path: Path, kills: int, files: int) -> None:
    inputs = put_input(tmp_path, files)
    rng = random.Random(7)
    done = 0
    for number in range(kills):
        point = PASSED[(number // 2 + 2) % len(PASSED)] if number % 2 == 0 else None
        done += live_and_die(tmp_path, point, rng, tmp_path / f"passes{number}")
    assert done == kills, "some lives ended before they could be killed: put more files"
    passes = tmp_path / "passes of the last life"  # it loses a worker at work, and its task is tried again
    finish(start(tmp_path, {"MUNTIN_FAULT": f"manifest:before:1:{passes}"}, master=""), tmp_path)
    assert passes.stat().st_size > 1
    assert_undisturbed(tmp_path, inputs)


@pytest.mark.slow
def test_a_worker_that_is_killed_at_work_does_not_end_the_run(tmp_path: Path) -> None:
    """On one machine Spark gives a task one attempt, unless it is told otherwise."""
    inputs, passes = put_input(tmp_path, 5), tmp_path / "passes"
    finish(start(tmp_path, {"MUNTIN_FAULT": f"manifest:before:6:{passes}"}, master=""), tmp_path)
    assert passes.stat().st_size > 6
    assert_undisturbed(tmp_path, inputs)


@pytest.mark.slow
def test_killed_while_queries_wait_for_their_turn(tmp_path: Path) -> None:
    """The decisions of a batch are those of the one that is repeated, and what waited is not lost."""
    inputs, rng, budget = put_input(tmp_path, 12), random.Random(3), {"BUDGET": "1 millisecond"}
    for number, point in enumerate((POINTS[2], None, POINTS[-1], None)):
        live_and_die(tmp_path, point, rng, tmp_path / f"passes{number}", budget)
    finish(start(tmp_path, budget), tmp_path)
    assert_undisturbed(tmp_path, inputs)
    assert numbers(tmp_path, "commits") > 12, "beside the 12 files there were batches for those who waited"


def live_and_die(
    where: Path, point: str | None, rng: random.Random, passes: Path, env: dict[str, str] | None = None
) -> bool:
    """One life: killed at the n-th pass of a fault point, or a random while after a batch was planned."""
    count = rng.randint(1, 4)
    planned = numbers(where, "offsets")
    job = start(where, (env or {}) | ({"MUNTIN_FAULT": f"{point}:{count}:{passes}"} if point else {}))
    deadline = time.monotonic() + 300
    while job.poll() is None and not fired(passes, count) and time.monotonic() < deadline:
        if not point and numbers(where, "offsets") > planned:
            time.sleep(rng.uniform(0, 2))
            break
        time.sleep(0.02)
    killed = job.poll() is None or fired(passes, count)
    kill(tree(job.pid))
    job.wait()
    return killed


def fired(passes: Path, count: int) -> bool:
    return passes.exists() and passes.stat().st_size >= count
