"""What a process takes of the machine's time."""

from __future__ import annotations

import os


def at_low_priority() -> None:
    """Let this process have what time others leave: for one that only asks, beside a pipeline that works."""
    if hasattr(os, "nice"):
        os.nice(19)
