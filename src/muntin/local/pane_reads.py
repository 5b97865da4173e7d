"""The rows that a one-time query reads of the windows of a pipeline, chunk by chunk, while that goes on.

Chunks of the pane store are never changed: a batch adds some, drops those that have expired, and merges others. So they
are the panes of Golab (2006), 7.4.2, and a batch updates those that it no longer names. They are read in the order of
``scheduling.transactions.reading``: those that expire last first. What was read of a chunk that later versions name too
stays read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa

from muntin.core.errors import UnsupportedError
from muntin.core.schema import Schema
from muntin.dataflow.history import KeptRows
from muntin.local.history import NoHistory, Part, chunks_held, joined_parts, part_of
from muntin.operators.source import Source
from muntin.scheduling.transactions.reading import Reading
from muntin.state.shard_state import Chunk
from muntin.state.snapshots import Snapshot

Pane = tuple[int, Hashable]
"""A source's number, and the name of a chunk that it reads."""


class Versions(Protocol):
    """The committed versions of a pipeline's state, as they come."""

    def newest(self) -> int:
        """The number of the newest."""
        ...

    def open(self, vertices: Collection[str]) -> Snapshot | None:
        """Some vertices of the newest (None: there is none)."""
        ...


@dataclass(frozen=True)
class Wanted:
    """What a source of the query reads: the ``columns`` of the stream that are kept, of the rows of ``kept``."""

    source: Source
    kept: KeptRows
    columns: frozenset[str]

    @property
    def schema(self) -> pa.Schema:
        """The columns, as the stream has them."""
        return Schema(tuple(f for f in self.source.stream.schema if f.name in self.columns)).to_arrow()


@dataclass
class PaneReads:
    """``wanted``: by number of a source. ``pause``: called before each pane, and when all have been read: it may wait.
    ``caught_up``: versions that came while it read, and were taken up; ``again``: chunks that it had read and that
    these replaced."""

    wanted: Mapping[int, Wanted]
    pause: Callable[[], object] = lambda: None
    caught_up: int = 0
    again: int = 0
    _chunks: dict[Pane, Chunk] = field(default_factory=dict)
    _parts: dict[Pane, tuple[Chunk, Part]] = field(default_factory=dict)
    _reading: Reading[Pane] = field(default_factory=lambda: Reading(()))

    def read(self, held: Snapshot, newer: Callable[[int], Snapshot | None] | None = None) -> Snapshot:
        """Read all panes of a version. ``newer``: the newest version where that is later than a given one, which is
        then caught up with before the query is through (None: nobody looks). Returns the version that the rows are of.
        Raises UnsupportedError. Cost: the columns that are wanted, of the rows held, copied once."""
        self._follow(held)
        while True:
            while (pane := self._reading.next) is not None:
                self.pause()
                self._parts[pane] = self._chunks[pane], self._copied(pane)
                self._reading = self._reading.after(pane)
                held = self._catch_up(held, newer)
            self.pause()
            later = self._catch_up(held, newer)
            if later is held:
                return held
            held = later

    def rows(self, number: int) -> Part:
        """What was read for a source, in the order of the version."""
        own = [self._parts[p][1] for p in self._chunks if p[0] == number]
        return joined_parts(own, self.wanted[number].schema)

    def _copied(self, pane: Pane) -> Part:
        """A mapped file is read when its rows are copied."""
        wanted = self.wanted[pane[0]]
        rows, times = part_of(self._chunks[pane], wanted.kept, wanted.schema)
        return (rows.take(pa.array(np.arange(len(times)))) if wanted.columns else rows), times.copy()

    def _catch_up(self, held: Snapshot, newer: Callable[[int], Snapshot | None] | None) -> Snapshot:
        later = None if newer is None else newer(held.version)
        if later is None:
            return held
        self.caught_up += later.version - held.version
        self._follow(later)
        return later

    def _follow(self, held: Snapshot) -> None:
        """Go by a version: its panes, those that are updated last first."""
        try:
            found = {n: chunks_held(w.kept, held) for n, w in self.wanted.items()}
        except NoHistory as e:
            raise UnsupportedError(f"{e}: a one-time query cannot read them") from e
        self._chunks = {(n, name): c for n, chunks in found.items() for name, c in chunks.items()}
        order = sorted(self._chunks, key=lambda p: -self._chunks[p].meta["max_exp"])
        self._reading, gone = self._reading.updated(order)
        self.again += len(gone)
        for pane in gone:
            del self._parts[pane]
