"""CPU time and memory of processes and of all below them, where the system tells (``/proc``)."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class _Process:
    """``ticks``: CPU time, of ended children that were waited for too."""

    name: str
    parent: int
    ticks: int


def cpu_seconds(root: int, without: Collection[int] = ()) -> float:
    """CPU seconds of a process and of those below it (of ended ones too, once they were waited for), but for the trees
    of some; 0 where the system does not tell."""
    all_of_them = _processes()
    ticks = [all_of_them[p].ticks for p in _tree(root, all_of_them, without) if p in all_of_them]
    return sum(ticks) / os.sysconf("SC_CLK_TCK") if ticks else 0.0


def held_by_workers(root: int) -> int:
    """Bytes (resident) that Python processes below a process hold; 0 where the system does not tell."""
    all_of_them = _processes()
    workers = [p for p in _tree(root, all_of_them)[1:] if all_of_them[p].name.startswith("python")]
    return sum(map(_resident, workers))


def _processes() -> dict[int, _Process]:
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            head, _, rest = stat.read_text().rpartition(") ")
        except OSError:  # it has ended
            continue
        fields = rest.split()
        found[int(stat.parent.name)] = _Process(head.partition("(")[2], int(fields[1]), sum(map(int, fields[11:15])))
    return found


def _tree(root: int, processes: dict[int, _Process], without: Collection[int] = ()) -> list[int]:
    """The process and those below it, but for the trees of some."""
    below: dict[int, list[int]] = {}
    for pid, process in processes.items():
        below.setdefault(process.parent, []).append(pid)
    found = [root]
    for each in found:
        found += [p for p in below.get(each, []) if p not in without]
    return found


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:  # it has ended
        return 0
