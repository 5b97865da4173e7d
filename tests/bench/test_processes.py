"""CPU time and memory of the processes below one, as the system tells them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from muntin.bench.processes import cpu_seconds, held_by_workers

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc here")

INNER = "import os; held = b'x' * (64 << 20); n = sum(range(10_000_000)); print(os.getpid(), flush=True); input()"
OUTER = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {INNER!r}])"


def test_what_is_below_is_counted_unless_it_is_left_out() -> None:
    with subprocess.Popen([sys.executable, "-c", OUTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as outer:
        assert outer.stdout is not None
        inner = int(outer.stdout.readline())
        held, below = held_by_workers(outer.pid), held_by_workers(inner)
        used, whole, rest = cpu_seconds(inner), cpu_seconds(outer.pid), cpu_seconds(outer.pid, [inner])
        outer.communicate(b"\n")
    assert held > 64 << 20 and below == 0
    assert used > 0.05 and whole >= used and rest <= whole - used + 0.05
