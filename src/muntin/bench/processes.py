"""CPU time of processes and of all below them, where the system tells (``/proc``)."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path


def cpu_seconds(root: int, without: Collection[int] = ()) -> float:
    """CPU seconds of a process and of those below it (of ended ones too, once they were waited for), but for the trees
    of some; 0 where the system does not tell."""
    below: dict[int, list[int]] = {}
    ticks: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        pid = int(stat.parent.name)
        below.setdefault(int(fields[1]), []).append(pid)
        ticks[pid] = sum(map(int, fields[11:15]))
    found = [root]
    for each in found:
        found += [p for p in below.get(each, []) if p not in without]
    return sum(ticks.get(p, 0) for p in found) / os.sysconf("SC_CLK_TCK") if ticks else 0.0
