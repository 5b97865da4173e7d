"""Which layout suits an archive: what updates and probes cost by estimate, in bytes moved (Golab 2006, 4.3.2, 4.4.6).

The estimate takes lifetimes to be uniform up to the span, and keys to be spread evenly. Opening a file counts as
``OPENING`` bytes. ``norebuild`` writes what comes in, and clusters a sub-index when it has ``SEGMENTS`` files; a probe
enters each of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from muntin.archive.layout import Layout, Update
from muntin.archive.manifest import Manifest
from muntin.archive.update import SEGMENTS
from muntin.archive.wanted import numbers

OPENING = 64 * 1024
"""Bytes that could be moved in the time in which a file is opened."""

GRIDS = (2, 3, 4, 5, 6, 8)
"""Rows and columns of the layouts that are weighed: the best grids are square (4.3.2)."""


@dataclass(frozen=True)
class Workload:
    """``bytes``, ``rows``: of all live rows. ``period``: updates in the longest lifetime. ``block_rows``: of a block.
    ``probes``: one-key requests between two updates; ``scans``: requests for everything."""

    bytes: float
    rows: float
    period: int
    block_rows: int
    probes: float
    scans: float = 0.0


@dataclass(frozen=True)
class Estimate:
    """Bytes moved by one update, one probe and one scan, and by all between two updates."""

    layout: Layout
    update: float
    probe: float
    scan: float
    total: float


def estimate(layout: Layout, work: Workload) -> Estimate:
    """What a layout costs under a workload."""
    g, e, n, size = layout.insertions, layout.expirations, layout.size, work.bytes / layout.size
    row = work.bytes / max(work.rows, 1)
    arriving = 2 * work.bytes / work.period
    block = min(size, work.block_rows * row)
    if layout.update == "rebuild":
        files = 1.0
        update = layout.touched * (2 * size + 2 * OPENING)
    else:
        between = min(SEGMENTS * g, max(work.period / 2, g))  # updates from one clustering of a sub-index to the next
        files = 1 + between / g / 2
        counting = g * files * (OPENING + 8 * work.rows / n / files)
        update = arriving + e * OPENING + counting + n * (2 * size + files * OPENING) / between
    probe = n * files * (OPENING + min(block, size / files))
    scan = work.bytes * (1.0 if layout.update == "rebuild" else 1.25) + n * files * OPENING
    return Estimate(layout, update, probe, scan, update + work.probes * probe + work.scans * scan)


def candidates() -> list[Layout]:
    """The layouts that are weighed."""
    return [Layout(g, g, update=update) for g in GRIDS for update in get_args(Update)]


def advise(work: Workload) -> list[Estimate]:
    """Every candidate, the cheapest first."""
    return sorted((estimate(x, work) for x in candidates()), key=lambda found: found.total)


def workload(manifest: Manifest, probes: float, scans: float = 0.0) -> Workload:
    """The workload of an archive as it is."""
    d, b = manifest.design, manifest.blocks
    rows, live, size = (float(numbers(b, c).sum()) for c in ("rows", "live", "bytes"))
    return Workload(size * live / max(rows, 1), live, d.period, d.block_rows, probes, scans)


def table(found: list[Estimate]) -> list[Mapping[str, Any]]:
    """Estimates as rows."""
    return [
        {"layout": f"{x.layout.insertions}x{x.layout.expirations}", "update by": x.layout.update}
        | {k: round(getattr(x, k)) for k in ("update", "probe", "scan", "total")}
        for x in found
    ]
