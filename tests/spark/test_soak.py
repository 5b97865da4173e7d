"""One pipeline over endless input: after it has warmed up, nothing grows but the answer."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from processes import HERE, kill, tree

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="there is no /proc here"),
]

VERSIONS = 10 + 5 + 3
"""Kept, not yet collected, and under way."""


@dataclass
class Sample:
    """A moment: megabytes and open files by kind of process, data files that are deleted but mapped, the store's."""

    batches: int
    memory: dict[str, int] = field(default_factory=dict)
    handles: dict[str, int] = field(default_factory=dict)
    deleted: int = 0
    versions: int = 0
    files: int = 0


def kind_of(pid: int) -> str:
    said = Path(f"/proc/{pid}/cmdline").read_text()
    return "jvm" if "java" in said else "workers" if "pyspark.daemon" in said or "pyspark/daemon" in said else "driver"


def sample(pid: int, where: Path, batches: int) -> Sample:
    found = Sample(batches)
    for each in tree(pid):
        try:
            kind, proc = kind_of(each), Path(f"/proc/{each}")
            found.memory[kind] = found.memory.get(kind, 0) + (int((proc / "statm").read_text().split()[1]) * 4096 >> 20)
            found.handles[kind] = found.handles.get(kind, 0) + len(list((proc / "fd").iterdir()))
            maps = (proc / "maps").read_text().splitlines()
            found.deleted += sum(".chunks" in m and m.endswith("(deleted)") for m in maps)
        except OSError:
            continue
    for level in (where / "cp" / "panes").glob("*/level-*"):
        names = {p.name.split(".")[0] for p in (level / "manifests").glob("*.manifest")}
        found.versions = max(found.versions, len(names))
        found.files += len(list((level / "data").glob("*")))
    return found


def soak(where: Path, seconds: float) -> tuple[list[Sample], list[float], list[float]]:
    """Samples, times of batches (milliseconds) and live heaps of the JVM (megabytes) from the first batch on."""
    path = os.pathsep.join([str(HERE.parents[1] / "src"), str(HERE)])
    samples: list[Sample] = []
    with open(where / "log", "wb") as log:
        command = [sys.executable, str(HERE / "soak_job.py"), str(where), str(seconds)]
        job = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path}, stdout=log, stderr=log)
        try:
            while job.poll() is None:
                time.sleep(1)
                if (where / "batches").exists() and not (where / "end").exists():
                    samples.append(sample(job.pid, where, len((where / "batches").read_text().splitlines())))
        finally:
            kill(tree(job.pid))
    said = (where / "log").read_text()
    assert job.returncode == 0 and "StackOverflowError" not in said and "Traceback" not in said, said[-3000:]
    lines = [json.loads(line) for line in (where / "batches").read_text().splitlines()]
    return samples, [float(line["ms"]) for line in lines], [line["heap"] for line in lines if "heap" in line]


@pytest.mark.parametrize(
    "seconds",
    [pytest.param(12, marks=pytest.mark.slow), pytest.param(900, marks=pytest.mark.soak)],
    ids=["short", "fifteen minutes"],
)
def test_nothing_grows(tmp_path: Path, seconds: int) -> None:
    samples, times, heaps = soak(tmp_path, seconds)
    third = len(samples) // 3
    middle, last = samples[third : 2 * third], samples[2 * third :]
    room_of = {"driver": 20, "workers": 60, "jvm": 100}
    if seconds < 60:  # in its first minutes a JVM reserves its heap, however little of it lives
        room_of["jvm"] = 1024
    for kind, room in room_of.items():
        before, after = (statistics.median(s.memory.get(kind, 0) for s in part) for part in (middle, last))
        assert after <= 1.15 * before + room, (kind, before, after)
        before, after = (max(s.handles.get(kind, 0) for s in part) for part in (middle, last))
        assert after <= before + 20, (kind, "open files", before, after)
    third = len(heaps) // 3
    assert third > 2, heaps
    assert statistics.median(heaps[2 * third :]) <= 1.1 * statistics.median(heaps[third : 2 * third]) + 20, heaps
    assert max(s.deleted for s in samples) <= 20
    assert max(s.versions for s in samples) <= VERSIONS
    if middle[0].batches > 2 * VERSIONS:
        assert max(s.files for s in last) <= 1.2 * max(s.files for s in middle) + 10
    third = len(times) // 3
    assert statistics.median(times[2 * third :]) <= 1.5 * statistics.median(times[third : 2 * third]) + 200, times
    (end,) = [json.loads((tmp_path / "end").read_text())]
    assert end["results"] > 100 and end["batches"] >= len(times) > 3
