"""Places where a test can kill the process, to prove that a commit is atomic.

``MUNTIN_FAULT="manifest:before:3"`` kills this process with SIGKILL at its third pass of that point;
``MUNTIN_FAULT="manifest:before:3:/tmp/passes"`` counts the passes of all processes together in that file, so that the
third pass of any of them kills one process, once. Without the variable a fault point costs one comparison.
"""

from __future__ import annotations

import fcntl
import os
import re
import signal
from dataclasses import dataclass

POINTS = (
    "chunks:before", "chunks:after", "manifest:before", "manifest:after",
    "archive:segment", "archive:files", "archive:before", "archive:after",
)  # fmt: skip
_FORM = re.compile(r"(?P<name>\w+:\w+):(?P<at>\d+)(:(?P<counter>.+))?\Z")


@dataclass
class _Plan:
    """Where and when to die; ``counter``: the file that counts passes over all processes."""

    name: str
    at: int
    counter: str | None
    passes: int = 0

    def due(self) -> bool:
        """Count one pass; whether it is the one."""
        if self.counter is None:
            self.passes += 1
            return self.passes == self.at
        with open(self.counter, "ab") as f:
            fcntl.flock(f, fcntl.LOCK_EX)
            f.write(b".")
            f.flush()
            return os.fstat(f.fileno()).st_size == self.at


def parse(text: str) -> _Plan:
    """Read the variable's value; ValueError says what form it must have."""
    m = _FORM.match(text)
    if m is None or m["name"] not in POINTS:
        raise ValueError(
            f"MUNTIN_FAULT={text!r}: expected POINT:N or POINT:N:FILE with POINT one of {', '.join(POINTS)}"
        )
    return _Plan(m["name"], int(m["at"]), m["counter"])


_PLAN = parse(os.environ["MUNTIN_FAULT"]) if os.environ.get("MUNTIN_FAULT") else None


def fault(name: str) -> None:
    """Pass the point ``name``: die here if the environment says so."""
    if _PLAN is not None and _PLAN.name == name and _PLAN.due():
        os.kill(os.getpid(), signal.SIGKILL)
