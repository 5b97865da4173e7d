"""The state of one (vertex, shard): named lists of immutable chunks, plus small heads.

Chunks are appended, merged and dropped, never changed; what is not yet committed stays in memory. The same class backs
the local runtime (never committed) and the pane store (opened from version b - 1, committed as version b).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

Loader = Callable[[], pa.RecordBatch]


@dataclass(frozen=True, eq=False)
class Chunk:
    """An immutable run of rows and what may be asked of it without opening it.

    ``meta`` holds small integers (rows under "n", their bytes under "bytes", and whatever bounds the owner keeps, e.g.
    "min_ts", "max_exp"). ``load`` returns the rows: from memory, or memory-mapped from a file of the pane store.
    ``address`` is where the pane store keeps it (None: not yet written).
    """

    meta: dict[str, int]
    load: Loader
    address: Any = None


Chunks = list[Chunk]
"""Chunks of one structure, oldest first."""


@dataclass
class ShardState:
    """Chunk lists by structure name, and heads: JSON values that are rewritten with every version (keep them small)."""

    chunks: dict[str, list[Chunk]] = field(default_factory=dict)
    heads: dict[str, Any] = field(default_factory=dict)
    looked: int = field(default=0, compare=False)
    """Rows of it that were looked at since a meter last counted: opened, bisected, probed, merged, or gone
    through for answers; not state."""
    written: int = field(default=0, compare=False)
    """Bytes of the chunks that were made since a meter last counted, merged ones too; not state."""

    def list(self, structure: str) -> list[Chunk]:
        """The chunks of a structure, oldest first (a live list: do not change it directly)."""
        return self.chunks.setdefault(structure, [])

    def append(self, structure: str, rows: pa.RecordBatch, **meta: int) -> Chunk:
        """Add ``rows`` as the newest chunk; empty batches are refused by contract of the callers."""
        chunk = Chunk(_sized(rows, meta), lambda: rows)
        self.written += chunk.meta["bytes"]
        self.list(structure).append(chunk)
        return chunk

    def keep(self, structure: str, wanted: Callable[[Chunk], bool]) -> int:
        """Drop the chunks that are not ``wanted``; returns how many rows went."""
        old = self.list(structure)
        self.chunks[structure] = [c for c in old if wanted(c)]
        return sum(c.meta["n"] for c in old) - sum(c.meta["n"] for c in self.chunks[structure])

    def replace(self, structure: str, old: Chunks, rows: pa.RecordBatch | None, **meta: int) -> None:
        """Put one chunk (none if ``rows`` is None or empty) where the first of ``old`` was, and drop the ``old``."""
        gone = {id(c) for c in old}
        kept: Chunks = []
        for c in self.list(structure):
            if id(c) not in gone:
                kept.append(c)
            elif c is old[0] and rows is not None and rows.num_rows:
                kept.append(Chunk(_sized(rows, meta), lambda: rows))
                self.written += kept[-1].meta["bytes"]
        self.chunks[structure] = kept

    def rows(self) -> int:
        """Rows held over all structures."""
        return sum(c.meta["n"] for cs in self.chunks.values() for c in cs)

    def size(self) -> int:
        """Bytes of the rows held over all structures (as Arrow buffers; heads not counted)."""
        return sum(c.meta["bytes"] for cs in self.chunks.values() for c in cs)


def _sized(rows: pa.RecordBatch, meta: dict[str, int]) -> dict[str, int]:
    return {"n": rows.num_rows, "bytes": rows.nbytes, **meta}
