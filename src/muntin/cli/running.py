"""Keep a started pipeline company until it ends or a signal asks it to stop."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, TextIO

from muntin.cli.ending import end_now, handled_by, unanswered
from muntin.cli.failures import CONTEXT, FAILED, OK, describe
from muntin.cli.progress import Progress
from muntin.core.errors import ConfigError

STOPPED = "muntin: stopped; the checkpoint has every finished batch, and the next run goes on from there"

CUT = "muntin: stopped, and Spark's JVM with it; the next run repeats the unfinished batch"
"""For a stop that found no JVM: what stops the command may end that before it."""

LOOK_EVERY = 0.5
"""Seconds between two looks at the metrics, and the most that a signal waits for."""


class Stops:
    """The signals that ask for a clean stop: the first is remembered, a second one ends the command at once."""

    def __init__(self) -> None:
        self.number: int | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.number is not None:
            end_now(number, "stopped without waiting; the next run repeats the unfinished batch")
        self.number = number

    @property
    def status(self) -> int:
        return 128 + (self.number or 0)


@contextmanager
def stops() -> Iterator[Stops]:
    """Take over the signals that end a command; give them back at the end."""
    asked = Stops()
    with handled_by(asked):
        yield asked


def serve(run: Any, host: str, port: int | None, out: TextIO) -> None:
    """Serve the console of ``run`` and say where. Stops the run and raises ConfigError where that cannot be."""
    try:
        console = run.ui(host, port, os.environ.get("MUNTIN_UI_TOKEN") or None)
    except ConfigError:
        run.stop()
        raise
    out.write(f"muntin: console at {console.url}\n")
    out.flush()


def attend(run: Any, asked: Stops, out: TextIO, quiet: bool = False) -> int:
    """Show progress until ``run`` (what ``session.start`` gives) ends or a stop is asked for; the exit status."""
    failure = _watched(run, asked, out, quiet)
    if asked.number is not None and failure is None:
        if out.isatty():
            out.write("muntin: stopping when the batch under way is done\n")
        failure = _ended_by(run)
    if asked.number is not None and (failure is None or _lost_jvm(failure)):
        unanswered(asked)
        with suppress(OSError):  # after SIGHUP there is no terminal
            out.write(f"{STOPPED if failure is None else CUT}\n")
        return asked.status
    if failure is not None:
        if CONTEXT.debug:
            traceback.print_exception(failure)
        out.write(f"muntin: the pipeline failed: {describe(failure)}\n")
        return FAILED
    return OK


def _watched(run: Any, asked: Stops, out: TextIO, quiet: bool) -> BaseException | None:
    """Show progress until the run ends or a stop is asked for; what ended it."""
    with Progress(out, run.metrics) as progress:
        try:
            while asked.number is None and not run.await_termination(LOOK_EVERY):
                if not quiet:
                    progress.look()
            if not quiet:
                progress.look()
        except Exception as e:
            return e
    return None


def _ended_by(run: Any) -> BaseException | None:
    """Stop a run; what ended it, if not this."""
    try:
        run.stop()
        found: BaseException | None = run.exception
    except Exception as e:
        return e
    return found


def _lost_jvm(failure: BaseException) -> bool:
    from muntin.spark.failures import of_lost_jvm  # PySpark takes a while to load

    return of_lost_jvm(failure)
