"""What a process takes of the machine's time."""

from __future__ import annotations

import os
from contextlib import suppress


def at_low_priority() -> None:
    """Let this process have only what time others leave: for one that asks, beside a pipeline that works.

    Where the system has a class for that (Linux: SCHED_IDLE), whoever else wants to run does so at once; elsewhere it
    is the lowest niceness. Threads that were there already keep theirs: call it first.
    """
    if hasattr(os, "nice"):
        os.nice(19)
    if hasattr(os, "SCHED_IDLE"):
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
