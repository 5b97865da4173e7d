"""An update in parts that several processes do at once, one a sub-index: rows go from file to file in each of them.

Who commits hands out directories and gets directories back (``writer.Archive.take``). Nobody knows beforehand which
sub-indices the rows in the buffer go to, so each that they may go to by the bounds of their blocks is a part, and takes
its own out of those blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from muntin.archive.layout import slots
from muntin.archive.manifest import BUFFER, Design
from muntin.archive.segments import Files
from muntin.archive.update import SEGMENTS, Changes, Place, arrivals, change, load, of_buffer, touched
from muntin.archive.wanted import numbers

MOST_SLOTS = 1 << 16
"""Slots of a block that are looked at one by one; of more, all partitions are thought to be met."""


@dataclass(frozen=True)
class Part:
    """``at``: a sub-index (None: the buffer), ``own``: its blocks, ``waiting``: the blocks of the buffer that may have
    rows for it. ``before``, ``boundary``: of the update; none is due before the least boundary there is."""

    at: Place | None
    own: pa.Table
    waiting: pa.Table
    before: int | None
    boundary: int


Run = Callable[[Files, Design, Sequence[Part]], Sequence[Changes]]
"""Does the parts of an update, wherever."""

NOTHING_DUE = int(np.iinfo(np.int64).min)


def parts_of(design: Design, blocks: pa.Table, before: int | None, boundary: int) -> tuple[list[Part], pa.Table]:
    """The parts of an update, and the blocks that it leaves as they are."""
    waiting = blocks.filter(pa.array(numbers(blocks, "cell") == BUFFER))
    reach = [_reach(design, block, before, boundary) for block in waiting.to_pylist()]
    chosen, untouched = touched(design, blocks, set[int]().union(*reach), boundary)
    parts = []
    for at, own in chosen:
        newest = at[0] == len(design.layouts) - 1
        mine = waiting.filter(pa.array([newest and at[1] in cells for cells in reach], pa.bool_()))
        parts.append(Part(at, own, mine, before, boundary))
    if waiting.num_rows:
        parts.append(Part(None, waiting.slice(0, 0), waiting, before, boundary))
    return parts, untouched


def merging(blocks: pa.Table) -> tuple[Part, pa.Table] | None:
    """Where the buffer has too many files, the part that makes one of the small ones, and the other blocks. A file is
    merged with those that together have half of its rows or more, so a row is written a logarithmic number of times."""
    waiting = blocks.filter(pa.array(numbers(blocks, "cell") == BUFFER))
    rows: dict[str, int] = {}
    for name, count in zip(waiting["file"].to_pylist(), waiting["rows"].to_pylist(), strict=True):
        rows[name] = rows.get(name, 0) + count
    if len(rows) < SEGMENTS:
        return None
    chosen, total = set[str](), 0
    for name, count in sorted(rows.items(), key=lambda item: (item[1], item[0])):
        if len(chosen) >= 2 and count > 2 * total:
            break
        chosen.add(name)
        total += count
    small = pa.array([name in chosen for name in blocks["file"].to_pylist()], pa.bool_())
    part = Part(None, blocks.slice(0, 0), blocks.filter(small), None, NOTHING_DUE)
    return part, blocks.filter(pa.array(~small.to_numpy(zero_copy_only=False)))


def do_part(files: Files, design: Design, part: Part) -> Changes:
    """Do a part. Cost: its blocks, and those of the buffer that it was given, in memory."""
    came = arrivals(design, load(files, part.waiting, design), part.before, part.boundary)
    if part.at is None:
        return of_buffer(files, design, came, part.waiting)
    changes, arriving = Changes(design), came.to(design, part.at)
    changes.read = int(numbers(part.waiting, "bytes").sum())
    expires = bool((numbers(part.own, "min_exp") <= part.boundary).any())
    if arriving is None and not expires:
        changes.kept.append(part.own)
    else:
        change(files, changes, part.at, part.own, arriving, part.boundary)
    return changes


def _reach(design: Design, block: dict[str, Any], before: int | None, boundary: int) -> set[int]:
    """The sub-indices that rows of a block of the buffer may go to, by its times and expiries."""
    if block["min_time"] > boundary or block["max_exp"] <= boundary:
        return set()
    layout, least = design.layout, NOTHING_DUE if before is None else before // design.every
    first, last = slots(np.array([block["min_time"], min(block["max_time"], boundary)]), design.every)
    inserted = _between(max(int(first), least), max(int(last), least))
    first, last = slots(np.array([max(block["min_exp"], boundary + 1), block["max_exp"]]), design.every)
    expires = _between(int(first), int(last))
    rows = np.arange(layout.insertions) if inserted is None else layout.rows(inserted, design.period)
    columns = np.arange(layout.expirations) if expires is None else layout.columns(expires, design.period)
    return {row * layout.expirations + column for row in set(rows.tolist()) for column in set(columns.tolist())}


def _between(first: int, last: int) -> np.ndarray[Any, np.dtype[np.int64]] | None:
    return np.arange(first, last + 1) if last - first < MOST_SLOTS else None
