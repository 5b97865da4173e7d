"""How the command ends on a signal: with one line, and with every process that it started."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

GRACE = 2.0
"""Seconds that the JVM and its workers get to delete their scratch files before they are killed."""

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name))

_set = signal.signal

Handler = Callable[[int, FrameType | None], Any]


@contextmanager
def handled_by(handler: Handler) -> Iterator[None]:
    """Take over the signals that end a command, and give them back. One that ``nohup`` ignores stays ignored, and so
    does one that is no longer answered (``unanswered``)."""
    kept = [n for n in SIGNALS if n == getattr(signal, "SIGHUP", None) and signal.getsignal(n) is signal.SIG_IGN]
    before = {number: _set(number, handler) for number in SIGNALS if number not in kept}
    try:
        yield
    finally:
        for number, old in before.items():
            if signal.getsignal(number) is handler:
                _set(number, old)


def unanswered(handler: Handler) -> None:
    """Ignore what ``handler`` answers until the process ends: its last line is said, and its status is known."""
    for number in SIGNALS:
        if signal.getsignal(number) is handler:
            _set(number, signal.SIG_IGN)


@contextmanager
def guarded() -> Iterator[None]:
    """While a command runs: a signal ends it at once with its children, and so does its own end.

    PySpark puts a handler of its own in place for SIGINT, which talks to the JVM in the middle of another call; here
    nobody changes handlers but by ``handled_by``. The JVM leaves signals to this process (``_apart``).
    """

    owner = os.getpid()

    def set_others(number: int, handler: Any) -> Any:
        if os.getpid() != owner:
            if number == signal.SIGINT and handler is signal.SIG_IGN:  # PySpark's child before it becomes the JVM
                _apart()
            return _set(number, handler)
        return signal.getsignal(number) if number in SIGNALS else _set(number, handler)

    signal.signal = set_others  # type: ignore[assignment]
    try:
        with handled_by(lambda number, frame: end_now(number, "stopped")):
            try:
                yield
            finally:
                # Threads that wait for an answer of the JVM log that it is gone, py4j's by the root logger as well:
                # that is what is wanted here, and all else has been said.
                logging.disable()
                end_children()
    finally:
        signal.signal = _set


def _apart() -> None:
    """Keep from this process the signals that are sent to all processes of a command, so that the batch under way can
    end: those of a terminal go to its process group, SIGTERM of systemd (``KillMode=control-group``) and of batch
    systems to every process there is. SIGHUP alone ends it then (``end_children``), under ``nohup`` as well."""
    with suppress(PermissionError):  # a session of its own already
        os.setsid()
    _set(signal.SIGTERM, signal.SIG_IGN)
    _set(signal.SIGHUP, signal.SIG_DFL)


def end_now(number: int, words: str) -> NoReturn:
    """End this process and its children, with one line on standard error and the status that shells give a signal."""
    for other in SIGNALS:
        _set(other, signal.SIG_IGN)
    with suppress(OSError):  # the terminal may be gone
        os.write(2, f"\nmuntin: {words}\n".encode())
    with suppress(OSError):  # what threads say of a JVM that vanishes tells nobody anything
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    end_children()
    os._exit(128 + number)


def end_children(grace: float = GRACE) -> None:
    """Terminate every descendant of this process; kill those that are still there after ``grace`` seconds."""
    found = descendants(os.getpid())
    # The JVM, which leaves SIGTERM to us, comes first: it says much of workers that vanish while it goes on.
    _send(found, signal.SIGHUP, signal.SIGTERM)
    deadline = time.monotonic() + grace
    while any(map(_runs, found)) and time.monotonic() < deadline:
        time.sleep(0.02)
    _send([p for each in [os.getpid(), *found] for p in [each, *descendants(each)] if p != os.getpid()], signal.SIGKILL)


def _send(pids: Iterable[int], *numbers: int) -> None:
    for pid in dict.fromkeys(pids):
        with suppress(ProcessLookupError, PermissionError):
            for number in numbers:
                os.kill(pid, number)


def descendants(pid: int) -> list[int]:
    """Every process below ``pid``, parents first."""
    below: dict[int, list[int]] = {}
    for child, parent in _parents():
        below.setdefault(parent, []).append(child)
    found = list(below.get(pid, []))
    for each in found:
        found += below.get(each, [])
    return found


def _parents() -> Iterator[tuple[int, int]]:
    """Process and parent, of every process."""
    if not Path("/proc/self/stat").exists():
        shown = subprocess.run(["ps", "-axo", "pid=,ppid="], capture_output=True, text=True).stdout
        yield from ((int(a), int(b)) for a, b in (line.split() for line in shown.splitlines()))
        return
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            yield int(stat.parent.name), int(stat.read_text().rpartition(")")[2].split()[1])


def _runs(pid: int) -> bool:
    """Whether a process is there and no zombie; reaps a child of this one."""
    with suppress(ChildProcessError):
        return os.waitpid(pid, os.WNOHANG)[0] != pid
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:  # no /proc: it answered to the signal
        return not Path("/proc/self/stat").exists()
    except OSError:
        return False
