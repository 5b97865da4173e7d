"""Whose turn it is: batches go first, and one-time queries on the same machine wait until they are through.

The driver locks bytes of a file in the checkpoint while its run lives and while a batch is under way, and notes there
when batches come. One-time queries look (``spark.query_turn``). The driver never waits: it shares the bytes that it
locks, and nobody else locks them. Where the system has no such locks (``core.file_locks``), or the checkpoint is not on
a local file system, nobody waits.
"""

from __future__ import annotations

import os
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from muntin.core import file_locks
from muntin.spark import files

FILE = "turns"
"""In the checkpoint."""

RUN, BATCH, NEXT, QUERIES = 1 << 20, (1 << 20) + 1, (1 << 20) + 2, (1 << 20) + 16
"""Bytes that are locked: by a run, by its batch, by the query that is the next to begin, and by those at work."""

MOST_BEFORE = 0.5
"""Seconds that Spark is thought to take before a batch at most."""

in_batch: set[int] = set()
"""The threads of this process that are in a batch, for which no batch has to be let pass."""


@dataclass(frozen=True)
class Timetable:
    """``batch``: the last one, that was done at the time ``ended`` (0: it was not). ``every``: seconds from trigger to
    trigger, which come at whole multiples of that since the epoch, as Spark has it (0: as fast as possible).
    ``before``: seconds that Spark takes from there until it hands a batch over."""

    batch: int = -1
    ended: float = 0.0
    every: float = 0.0
    before: float = 0.0

    FORM = "=qddd"
    SIZE = struct.calcsize(FORM)

    def packed(self) -> bytes:
        """In ``FORM``."""
        return struct.pack(self.FORM, self.batch, self.ended, self.every, self.before)

    @staticmethod
    def of(raw: bytes) -> Timetable:
        """What ``packed`` gave; an empty one where that is not whole."""
        return Timetable(*struct.unpack(Timetable.FORM, raw)) if len(raw) == Timetable.SIZE else Timetable()

    def until_batch(self, now: float, soon: float) -> float:
        """Seconds until a batch begins whose trigger is due within ``soon``, or was a moment ago; 0: there is none."""
        if not self.every:
            return 0.0
        since = now % self.every
        if since < self.before:
            return self.before - since
        left = self.every - since
        return left + self.before if left < soon else 0.0


@dataclass
class BatchTurns:
    """The driver's side of it. ``every``: see ``Timetable``."""

    checkpoint: str
    every: float = 0.0
    _file: int | None = None
    _noted: Timetable = Timetable()

    def open(self) -> None:
        """A run begins, or goes on."""
        path = path_of(self.checkpoint)
        if path is None or self._file is not None:
            return
        self._noted = Timetable(every=self.every)
        with suppress(OSError):
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            os.pwrite(self._file, self._noted.packed(), 0)
            file_locks.lock(self._file, RUN, shared=True)

    def close(self) -> None:
        """The run has ended."""
        held, self._file = self._file, None
        if held is not None:
            os.close(held)

    @contextmanager
    def batch(self, number: int) -> Iterator[None]:
        """A batch is under way while it lasts; what is noted then says that Spark still has to commit it."""
        thread, before, ended = threading.get_ident(), self._before(time.time()), 0.0
        in_batch.add(thread)
        try:
            if self._file is not None:
                with suppress(OSError):
                    file_locks.lock(self._file, BATCH, shared=True)
            yield
            ended = time.time()
        finally:
            in_batch.discard(thread)
            self._noted = Timetable(number, ended, self.every, before)
            if self._file is not None:
                with suppress(OSError):
                    os.pwrite(self._file, self._noted.packed(), 0)
                    file_locks.unlock(self._file, BATCH)

    def _before(self, now: float) -> float:
        """How long Spark takes before a batch that begins now: as it took of late, but where it was late anyway."""
        took = now % self.every if self.every else 0.0
        usual = took < min(self.every / 4, MOST_BEFORE)
        return max(took, 0.8 * self._noted.before) if usual else self._noted.before


def path_of(checkpoint: str) -> str | None:
    """The file of a checkpoint; None where nothing can be locked there."""
    if not file_locks.KNOWN or files.place(checkpoint)[0] != "file":
        return None
    return os.path.join(files.absolute(checkpoint), FILE)
