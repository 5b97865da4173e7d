"""Locks on bytes of open files: Linux's ``F_OFD_SETLK``.

They belong to an open file, not to a process: two of one process are told apart, and closing one lets go of its own
locks alone. The system lets go of them when who held them ends, however that was. The bytes need not be in the file.
"""

from __future__ import annotations

import fcntl
import os
import struct
from contextlib import suppress

KNOWN = hasattr(fcntl, "F_OFD_SETLK")
"""Whether this system has them."""

_FORM = "hhqqi0q"
"""``struct flock``: type, whence, start, length, process."""


def lock(file: int, byte: int, shared: bool = False) -> None:
    """Lock a byte of an open file (``shared``: beside others that share it; else it must be open for writing).

    Never waits. Raises BlockingIOError where another open file holds it, OSError where the file cannot be locked.
    """
    _set(file, byte, fcntl.F_RDLCK if shared else fcntl.F_WRLCK)


def unlock(file: int, byte: int) -> None:
    """Let go of a byte. Raises OSError."""
    _set(file, byte, fcntl.F_UNLCK)


def is_locked(file: int, byte: int) -> bool:
    """Whether another open file holds a byte. Takes no lock, so nobody who wants one is in its way."""
    asked = struct.pack(_FORM, fcntl.F_WRLCK, os.SEEK_SET, byte, 1, 0)
    with suppress(OSError):
        return bool(struct.unpack(_FORM, fcntl.fcntl(file, fcntl.F_OFD_GETLK, asked))[0] != fcntl.F_UNLCK)
    return False


def _set(file: int, byte: int, kind: int) -> None:
    fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack(_FORM, kind, os.SEEK_SET, byte, 1, 0))
