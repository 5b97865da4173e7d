"""CPU time and memory of the processes below one, as the system tells them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from muntin.bench.processes import cpu_seconds, held_by_workers

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc here")

HOLDING = "held = b'x' * (64 << 20); n = sum(range(5_000_000)); print('held', flush=True); input()"


def test_a_child_is_counted_unless_it_is_left_out() -> None:
    before = held_by_workers(os.getpid())
    with subprocess.Popen([sys.executable, "-c", HOLDING], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdout.readline() == b"held\n"
        held, used = held_by_workers(os.getpid()), cpu_seconds(child.pid)
        whole, rest = cpu_seconds(os.getpid()), cpu_seconds(os.getpid(), [child.pid])
        child.communicate(b"\n")
    assert held - before > 50 << 20 and used > 0.02
    assert whole - rest >= used - 0.1 and rest > 0 and held_by_workers(child.pid) == 0
