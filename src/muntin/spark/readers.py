"""Readers that batches wait for: one-time queries under isolation ``serial``.

A reader leaves a file in the checkpoint while it works. Before a batch is committed the driver waits until the readers
that are there have gone; those that come later it does not wait for, so readers that follow one another do not hold a
run up for ever, and a reader that was overtaken is waited for by the next batch at the latest. Who was killed, or takes
more than ``HOLD_SECONDS``, is waited for no longer.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from muntin.spark import files

DIRECTORY = "readers"
"""Of the files that readers leave, in the checkpoint."""

HOLD_SECONDS = 10.0
"""How long a batch waits at most."""

_PAUSE = 0.005

log = logging.getLogger("muntin")


@contextmanager
def holding(checkpoint: str) -> Iterator[None]:
    """While it lasts no batch of the checkpoint's run is committed, apart from one that is being committed already."""
    directory = files.join(checkpoint, DIRECTORY)
    name = f"{uuid.uuid4().hex}.{os.getpid()}.{_host()}"
    files.make_dirs(directory)
    files.write_atomically(files.join(directory, name), b"")
    try:
        yield
    finally:
        files.delete(files.join(directory, name))


def wait_for_readers(checkpoint: str, seconds: float = HOLD_SECONDS) -> float:
    """Wait until the readers that are there now have gone, for so long at most; returns how long it took."""
    directory, began = files.join(checkpoint, DIRECTORY), time.monotonic()
    there = {n for n in files.names(directory) if not n.startswith(".")}
    while there:
        gone = {n for n in there if _died(n)}
        late = time.monotonic() - began >= seconds
        for name in there if late else gone:
            log.warning("a reader of %s was waited for no longer: %s", checkpoint, "it died" if name in gone else name)
            files.delete(files.join(directory, name))
        if late:
            break
        there = (there - gone) & set(files.names(directory))
        if there:
            time.sleep(_PAUSE)
    return time.monotonic() - began


def _died(name: str) -> bool:
    """Whether a reader on this machine has ended."""
    _, pid, host = name.split(".", 2) if name.count(".") >= 2 else ("", "", "")
    if host != _host() or not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    return False


def _host() -> str:
    """This machine's name, as a part of a file name."""
    return re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname())
