"""What an update changes: Algorithm 1 of Golab (2006), 4.3.1, over directories of blocks.

Rows that have come since the last update go to the row of sub-indices of their slot; rows that have expired leave the
column of theirs. Which sub-indices those are is read from the directory (the least expiry in each), which is the
thesis' meta-index over time ranges; with lifetimes that vary they are ``G + E - 1``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.archive.layout import Layout, slots
from muntin.archive.manifest import BUFFER, Design
from muntin.archive.segments import Entry, Files, by_file, directory_of, read_blocks, write_segment
from muntin.archive.wanted import instants, numbers

SEGMENTS = 16
"""A sub-index that is not rebuilt, and the buffer, have at most so many files; then they become one."""

Place = tuple[int, int]
"""A layout's number and a sub-index of it."""


@dataclass
class Changes:
    """What an update has done: new blocks, what stays of the old ones, and counts."""

    design: Design
    kept: list[pa.Table] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    touched: set[Place] = field(default_factory=set)
    rewritten: set[Place] = field(default_factory=set)
    inserted: int = 0
    expired: int = 0
    read: int = 0

    def add(self, other: Changes) -> None:
        """Take in what was done elsewhere."""
        self.kept += other.kept
        self.entries += other.entries
        self.touched |= other.touched
        self.rewritten |= other.rewritten
        self.inserted += other.inserted
        self.expired += other.expired
        self.read += other.read

    def directory(self) -> pa.Table:
        """The directory after the update."""
        new = directory_of(self.entries, self.design.schema.field(self.design.key).type)
        return pa.concat_tables([*self.kept, new]).combine_chunks()

    @property
    def written(self) -> int:
        """Bytes of new blocks."""
        return sum(e["bytes"] for e in self.entries)


def load(files: Files, blocks: pa.Table, design: Design) -> pa.Table:
    """All rows of some blocks."""
    parts = [read_blocks(files, name, at).cast(design.schema) for name, at in by_file(blocks).items()]
    return pa.concat_tables(parts) if parts else design.schema.empty_table()


def places(blocks: pa.Table) -> NDArray[np.int64]:
    """Layout and sub-index of each block, as one number."""
    found: NDArray[np.int64] = numbers(blocks, "layout").astype(np.int64) * (1 << 32) + numbers(blocks, "cell")
    return found


def advance(
    files: Files, design: Design, blocks: pa.Table, fresh: pa.Table, before: int | None, boundary: int
) -> Changes:
    """The update at ``boundary``, the one before it at ``before``: insert what waits in the buffer and the ``fresh``
    rows, take away what has expired. Cost: the sub-indices that change, one after the other in memory."""
    waiting = blocks.filter(pa.array(numbers(blocks, "cell") == BUFFER))
    came = arrivals(design, pa.concat_tables([load(files, waiting, design), fresh]), before, boundary)
    changes = of_buffer(files, design, came, waiting)
    chosen, untouched = touched(design, blocks, came.cells, boundary)
    for at, own in chosen:
        change(files, changes, at, own, came.to(design, at), boundary)
    changes.kept.append(untouched)
    return changes


@dataclass(frozen=True)
class Arrivals:
    """Rows of the buffer at an update. ``cells``: by the sub-index of the newest layout that they go to; ``rest``:
    those that wait on; ``expired``: how many live no longer."""

    cells: Mapping[int, pa.Table]
    rest: pa.Table
    expired: int

    def to(self, design: Design, at: Place) -> pa.Table | None:
        """What goes to a sub-index."""
        return self.cells.get(at[1]) if at[0] == len(design.layouts) - 1 else None


def arrivals(design: Design, rows: pa.Table, before: int | None, boundary: int) -> Arrivals:
    """What an update does with the rows that wait for it."""
    time, exp = instants(rows.column(design.time)), instants(rows.column(design.expiry))
    due, live = time <= boundary, exp > boundary
    cells = split(design, rows.filter(pa.array(due & live)), before)
    return Arrivals(cells, rows.filter(pa.array(~due)), int((due & ~live).sum()))


def of_buffer(files: Files, design: Design, came: Arrivals, waiting: pa.Table) -> Changes:
    """What becomes of the buffer."""
    changes = Changes(design, inserted=sum(c.num_rows for c in came.cells.values()), expired=came.expired)
    changes.entries += write_segment(files, design, 0, BUFFER, came.rest)
    changes.read = int(numbers(waiting, "bytes").sum())
    return changes


def touched(
    design: Design, blocks: pa.Table, cells: Iterable[int], boundary: int
) -> tuple[list[tuple[Place, pa.Table]], pa.Table]:
    """The sub-indices that an update changes, with their blocks: those in which rows expire, and those that rows go to
    (``cells`` of the newest layout); and the blocks of the others."""
    indexed = blocks.filter(pa.array(numbers(blocks, "cell") != BUFFER))
    where, least = places(indexed), numbers(indexed, "min_exp")
    new = {(len(design.layouts) - 1) * (1 << 32) + cell for cell in cells}
    chosen = sorted(new.union(where[least <= boundary].tolist()))
    parts = [((n >> 32, n & 0xFFFFFFFF), indexed.filter(pa.array(where == n))) for n in chosen]
    return parts, indexed.filter(pa.array(~np.isin(where, chosen)))


def split(design: Design, rows: pa.Table, before: int | None) -> dict[int, pa.Table]:
    """Rows by the sub-index of the newest layout that they go to. A row that comes late belongs to the slot of the
    update that takes it in."""
    if not rows.num_rows:
        return {}
    inserted = slots(instants(rows.column(design.time)), design.every)
    if before is not None:
        inserted = np.maximum(inserted, before // design.every)
    expires = slots(instants(rows.column(design.expiry)), design.every)
    cells = design.layout.cells(inserted, expires, design.period)
    order = np.argsort(cells, kind="stable")
    edges = [0, *(np.flatnonzero(np.diff(cells[order])) + 1).tolist(), len(order)]
    return {int(cells[order[start]]): rows.take(pa.array(order[start:end])) for start, end in pairwise(edges)}


def change(
    files: Files, changes: Changes, at: Place, part: pa.Table, arriving: pa.Table | None, boundary: int
) -> None:
    """One sub-index: its blocks, what is inserted, and what expires."""
    changes.touched.add(at)
    layout: Layout = changes.design.layouts[at[0]]
    if layout.update == "norebuild":
        left = _freed(files, changes, part, boundary)
        if _ragged(left, arriving):
            _rebuild(files, changes, at, left, arriving, boundary)
        else:
            changes.kept.append(left)
            if arriving is not None:
                changes.entries += write_segment(files, changes.design, *at, arriving)
        return
    live_before = int(numbers(part, "live").sum())
    stayed = _rebuild(files, changes, at, part, arriving, boundary)
    changes.expired += live_before - stayed


def _rebuild(
    files: Files, changes: Changes, at: Place, part: pa.Table, arriving: pa.Table | None, boundary: int
) -> int:
    """Cluster a sub-index anew, with what arrives; returns how many of its own rows stay."""
    own = load(files, part, changes.design)
    changes.read += int(numbers(part, "bytes").sum())
    own = own.filter(pa.array(instants(own.column(changes.design.expiry)) > boundary))
    whole = own if arriving is None else pa.concat_tables([own, arriving])
    changes.entries += write_segment(files, changes.design, *at, whole)
    changes.rewritten.add(at)
    return int(own.num_rows)


def _freed(files: Files, changes: Changes, part: pa.Table, boundary: int) -> pa.Table:
    """Blocks of a sub-index with their live rows counted anew, without those in which all have expired: these are
    freed (a file goes when no block of it is left). Only the expiry column of blocks that lose rows is read."""
    live, least = numbers(part, "live").copy(), numbers(part, "min_exp").copy()
    before = int(live.sum())
    gone = numbers(part, "max_exp") <= boundary
    live[gone] = 0
    losing = np.flatnonzero((least <= boundary) & ~gone)
    if len(losing):
        exp, start = _expiries(files, part.take(pa.array(losing)), changes.design)
        stays = exp > boundary
        live[losing] = np.add.reduceat(stays, start, dtype=np.int64)
        least[losing] = np.minimum.reduceat(np.where(stays, exp, np.iinfo(np.int64).max), start)
    changes.expired += before - int(live.sum())
    counted = part.set_column(part.column_names.index("live"), "live", pa.array(live))
    counted = counted.set_column(part.column_names.index("min_exp"), "min_exp", pa.array(least))
    return counted.filter(pa.array(live > 0))


def _expiries(files: Files, blocks: pa.Table, design: Design) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The expiries of the rows of blocks, one block after the other, and where each block begins. A file's blocks are
    neighbours in a directory, so each file is opened once."""
    parts = [instants(read_blocks(files, name, at, [design.expiry]).column(0)) for name, at in by_file(blocks).items()]
    rows = numbers(blocks, "rows")
    return np.concatenate(parts), np.cumsum(rows) - rows


def _ragged(part: pa.Table, arriving: pa.Table | None) -> bool:
    """Whether a sub-index that is not rebuilt has too many files, or more expired rows than live ones."""
    if not part.num_rows:
        return False
    count = len(set(part["file"].to_pylist())) + (arriving is not None)
    return count > SEGMENTS or int(numbers(part, "rows").sum()) > 2 * int(numbers(part, "live").sum())


def buffered(files: Files, design: Design, blocks: pa.Table, rows: pa.Table) -> tuple[pa.Table, list[Entry]]:
    """Rows beside those that wait for the next update: the directory that stays, and new blocks."""
    waiting = numbers(blocks, "cell") == BUFFER
    part = blocks.filter(pa.array(waiting))
    if rows.num_rows and len(set(part["file"].to_pylist())) >= SEGMENTS:
        rows = pa.concat_tables([load(files, part, design), rows])
        blocks = blocks.filter(pa.array(~waiting))
    return blocks, write_segment(files, design, 0, BUFFER, rows)
