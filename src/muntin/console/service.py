"""What browsers are told of a run: pictures as they come, messages, history. Free of any protocol."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from muntin.console.history import History
from muntin.console.rows import LIMIT, plain_rows
from muntin.console.watch import Picture, Watch, point_of
from muntin.console.watched import Watched
from muntin.core.errors import MuntinError
from muntin.dataflow.explain.record import graph_record
from muntin.dataflow.explain.svg import to_svg
from muntin.optimizer.plan_text import read_text

log = logging.getLogger("muntin")

SAVE_EVERY = 10.0
"""Seconds between two writes of the history."""

MESSAGES = 100
"""Warnings and errors that are kept for the page."""

Tell = Callable[[], None]


class _Messages(logging.Handler):
    """The newest warnings of Muntin's log."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.kept: deque[dict[str, Any]] = deque(maxlen=MESSAGES)

    def emit(self, record: logging.LogRecord) -> None:
        self.kept.append({"t": round(record.created * 1000), "level": record.levelname, "text": record.getMessage()})


class Service:
    """Follows a run. ``read``, ``write``: the file of the history, where it is kept (None: in memory alone)."""

    def __init__(
        self,
        run: Watched,
        read: Callable[[], bytes | None] | None = None,
        write: Callable[[bytes], None] | None = None,
    ) -> None:
        self.run, self.watch, self._write = run, Watch(run), write
        self.history = History()
        self.messages = _Messages()
        self.listeners: set[Tell] = set()
        self._lock = threading.Lock()
        self._saved, self._last = time.monotonic(), -1
        self._drawn: tuple[str, str, dict[str, str]] = ("", "", {})
        if read is not None:
            try:
                self.history = History.from_json(read())
            except MuntinError as e:
                log.warning("the console's history is left aside: %s", e)
        log.addHandler(self.messages)

    def seen(self) -> None:
        """A batch is done. Never raises: what goes wrong here is no reason for a run to end."""
        try:
            with self._lock:
                picture = self.watch.look()
                if "batch" in picture and picture["run"]["batches"] != self._last:
                    self._last = picture["run"]["batches"]
                    self.history.add(point_of(picture))
            if time.monotonic() - self._saved >= SAVE_EVERY:
                self.save()
            for tell in tuple(self.listeners):
                tell()
        except Exception:
            log.exception("the console could not take up a batch")

    def save(self) -> None:
        """Write the history, if it is kept."""
        self._saved = time.monotonic()
        if self._write is not None and self.history.points:
            self._write(self.history.to_json())

    def close(self) -> None:
        """Write what is left, and listen no more."""
        log.removeHandler(self.messages)
        with contextlib.suppress(Exception):
            self.save()

    def picture(self) -> Picture:
        """The run as of now, with messages."""
        with self._lock:
            return {**self.watch.look(), "messages": list(self.messages.kept)}

    def whole(self) -> dict[str, Any]:
        """All that a page needs to begin: the drawing and the history too."""
        picture = self.picture()
        return {**picture, "svg": self._drawing(picture["plan"])[0], "history": self.history.points}

    def results(self, name: str) -> dict[str, Any] | None:
        """The newest rows of a query; None where there is no such query."""
        if name not in self.run.standing.sinks:
            return None
        try:
            return plain_rows(self.run.newest(name, LIMIT))
        except Exception as e:  # a file that goes while it is read, a path that is no more
            return {**plain_rows(None), "note": f"the rows cannot be read now: {e}"}

    def words(self, picture: Picture) -> dict[str, str]:
        """By vertex of a picture what it does."""
        return self._drawing(picture["plan"])[1]

    def _drawing(self, plan: str) -> tuple[str, dict[str, str]]:
        if self._drawn[0] != plan:
            standing = self.run.standing
            record = graph_record(standing.graph, [", ".join(names) for names in standing.called], read_text)
            self._drawn = (plan, to_svg(record, live=True), {v.id: v.operator for v in record.vertices})
        return self._drawn[1:]
