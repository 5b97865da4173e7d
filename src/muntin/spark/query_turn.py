"""One-time queries wait while it is a batch's turn (``spark.turns``), and while enough others work.

A query looks before it begins, between two panes that it reads, and before it works its answer out (the suspension of
Golab 2006, 7.1). Only so many work at a time as leave the pipeline a core: each locks a byte of its own. Of those
that wait for such a place one is the next; who has worked and asks again queues behind it. Who has waited for
``WAIT_SECONDS`` in all goes on as it is, so none waits for ever where batches follow one another without a pause.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from muntin.core import file_locks
from muntin.spark.turns import BATCH, NEXT, QUERIES, RUN, Timetable, in_batch, path_of

WAIT_SECONDS = 2.0
"""How long a query waits in all."""

SOON = 0.05
"""Seconds before a trigger in which nobody begins anything, so that it is done when the batch comes."""

SOON_SERIAL = 0.25
"""The same for a query for which batches wait before they are committed: it is to be through by then."""

COMMIT_SECONDS = 0.5
"""How long Spark is thought to take at most to commit a batch that is done."""

_PAUSE, _NEXT_PAUSE = 0.01, 0.002
"""Seconds between two looks; those of the next to begin, so that places are not empty for long."""


def _beside_one() -> int:
    """How many leave one of the cores that this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(cores - 1, 1)


@dataclass
class QueryTurn:
    """Of one query, or of several one after the other. ``waited``: seconds so far; ``most``: that it may wait.
    ``at_once``: how many queries work at a time. To be closed: a ``with`` statement does."""

    checkpoint: str
    most: float = WAIT_SECONDS
    at_once: int = field(default_factory=_beside_one)
    waited: float = 0.0
    _file: int | None = None
    _is_next: bool = False

    def __enter__(self) -> QueryTurn:
        path = path_of(self.checkpoint)
        for mode in () if path is None else (os.O_RDWR, os.O_RDONLY):
            with suppress(OSError):  # no run has been there, or it may only be read
                self._file = os.open(path, mode | os.O_CLOEXEC)  # type: ignore[arg-type]
                break
        return self

    def __exit__(self, *error: object) -> None:
        held, self._file = self._file, None
        if held is not None:
            os.close(held)

    def begin(self, soon: float = SOON) -> None:
        """Wait until fewer than ``at_once`` others work, and no batch is under way or due within ``soon`` seconds."""
        self._wait(self._full)
        self._go_ahead()
        self._wait(lambda: self._disturbs(soon))

    def let_pass(self) -> None:
        """Wait while a batch is under way, or about to be."""
        self._wait(lambda: self._disturbs(SOON))

    def _wait(self, left: Callable[[], float]) -> None:
        """Wait while ``left`` gives some seconds after which to look again."""
        began = time.monotonic()
        while (seconds := left()) > 0:
            allowed = self.most - self.waited - (time.monotonic() - began)
            if allowed <= 0:
                break
            time.sleep(min(seconds, allowed))
        self.waited += time.monotonic() - began

    def _disturbs(self, soon: float) -> float:
        if self._file is None or threading.get_ident() in in_batch:
            return 0.0
        if file_locks.is_locked(self._file, BATCH):
            return _PAUSE
        noted, now = Timetable.of(os.pread(self._file, Timetable.SIZE, 0)), time.time()
        if 0 <= now - noted.ended < COMMIT_SECONDS and not self._is_committed(noted.batch):
            return _PAUSE
        return noted.until_batch(now, soon) if file_locks.is_locked(self._file, RUN) else 0.0

    def _is_committed(self, batch: int) -> bool:
        path = path_of(self.checkpoint)
        return path is None or os.path.exists(os.path.join(os.path.dirname(path), "commits", str(batch)))

    def _full(self) -> float:
        """Take a place, if it is this one's turn and there is one; nobody needs one where nothing runs."""
        if self._file is None or threading.get_ident() in in_batch or not file_locks.is_locked(self._file, RUN):
            return 0.0
        try:
            self._is_next = self._is_next or _taken(self._file, NEXT)
            if not self._is_next:
                return _PAUSE
            there = any(_taken(self._file, QUERIES + place) for place in range(self.at_once))
        except OSError:  # it may only be read
            return 0.0
        return 0.0 if there else _NEXT_PAUSE

    def _go_ahead(self) -> None:
        """Let another one be the next."""
        if self._is_next and self._file is not None:
            file_locks.unlock(self._file, NEXT)
        self._is_next = False


def _taken(file: int, byte: int) -> bool:
    """Lock a byte, if nobody else has. Raises OSError where it cannot be locked at all."""
    try:
        file_locks.lock(file, byte)
    except BlockingIOError:
        return False
    return True
