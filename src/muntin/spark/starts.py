"""When the runs of a pipeline began, kept beside its store: a stream is idle only for what time it was read.

A batch that is repeated keeps its processing time, and so finds the start of the run that planned it, not of the one
that repeats it: it decides the same about idleness, in every task.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Sequence

from muntin.core.errors import StoreError
from muntin.core.time import NEVER
from muntin.spark import files

KEPT = 1000
"""Starts that are remembered: more than runs that fail, one after the other, before one of them plans a batch."""

_NAME = ".starts"


def note_start(store: str, now: int) -> tuple[int, ...]:
    """Add ``now`` (microseconds) to the starts under ``store``; all that are known, in order of time.

    Raises StoreError when the file cannot be understood.
    """
    path = files.join(store, _NAME)
    raw = files.read(path)
    try:
        known = [] if raw is None else [int(t) for t in json.loads(raw)]
    except (ValueError, TypeError) as e:
        raise StoreError(
            f"{path} is damaged ({e}); delete it: idleness (idle_after) of a batch that is repeated now may then be "
            "decided anew"
        ) from None
    starts = tuple(sorted({*known, now}))[-KEPT:]
    files.make_dirs(store)
    files.write_atomically(path, json.dumps(starts).encode())
    return starts


def started(starts: Sequence[int], now: int) -> int:
    """The start of the run that planned the batch of processing time ``now``; NEVER where it is not known."""
    before = bisect_right(starts, now)
    return starts[before - 1] if before else NEVER
