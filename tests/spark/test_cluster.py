"""The same pipeline on two executors, one of which dies in the middle."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from processes import assert_undisturbed, finish, kill, numbers, put_input, start, tree

pytestmark = [pytest.mark.spark, pytest.mark.cluster]


def test_a_cluster_gives_the_same_rows_also_when_an_executor_is_killed(tmp_path: Path) -> None:
    inputs = put_input(tmp_path, 4)
    quick = {"JAVA_TOOL_OPTIONS": os.environ["SPARK_SUBMIT_OPTS"]}  # for the executors' JVMs too
    job = start(tmp_path, {"SPARK_LOCAL_IP": "127.0.0.1", **quick}, "local-cluster[2,1,2048]")
    while job.poll() is None and numbers(tmp_path, "commits") < 2:
        time.sleep(0.05)
    executors = [p for p in tree(job.pid) if b"CoarseGrainedExecutorBackend" in command(p)]
    assert len(executors) >= 2, (tmp_path / "log").read_text()[-3000:]
    kill(tree(executors[0]))
    assert numbers(tmp_path, "commits") < 4, "the executor died too late to matter"
    finish(job, tmp_path)
    assert_undisturbed(tmp_path, inputs)


def command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
