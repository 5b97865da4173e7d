"""Keep a started pipeline company until it ends or a signal asks it to stop."""

from __future__ import annotations

import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TextIO

from muntin.cli.failures import CONTEXT, FAILED, INTERRUPTED, OK, TERMINATED, describe
from muntin.cli.progress import Progress

LOOK_EVERY = 0.5
"""Seconds between two looks at the metrics, and the most that a signal waits for."""


class Stops:
    """The signals that ask for a clean stop: the first is remembered, a second one ends the process at once."""

    def __init__(self) -> None:
        self.number: int | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.number is not None:
            sys.stderr.write("\nmuntin: stopped without waiting; the next run repeats the unfinished batch\n")
            sys.stderr.flush()
            raise SystemExit(128 + number)
        self.number = number

    @property
    def status(self) -> int:
        return INTERRUPTED if self.number == signal.SIGINT else TERMINATED


@contextmanager
def stops() -> Iterator[Stops]:
    """Take over SIGINT and SIGTERM (PySpark's own handler would cancel the jobs first); give them back at the end."""
    asked = Stops()
    before = {number: signal.signal(number, asked) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def attend(run: Any, asked: Stops, out: TextIO, quiet: bool = False) -> int:
    """Show progress until ``run`` (what ``session.start`` gives) ends or a stop is asked for; the exit status."""
    with Progress(out, run.metrics) as progress:
        ended, failure = False, None
        while not ended and asked.number is None:
            try:
                ended = run.await_termination(LOOK_EVERY)
            except Exception as e:
                ended, failure = True, e
            if not quiet:
                progress.look()
    if asked.number is not None:
        out.write("muntin: stopping\n")
        run.stop()
        out.write("muntin: stopped; the checkpoint has every finished batch, and the next run goes on from there\n")
        return asked.status
    if failure is not None:
        if CONTEXT.debug:
            traceback.print_exception(failure)
        out.write(f"muntin: the pipeline failed: {describe(failure)}\n")
        return FAILED
    return OK
