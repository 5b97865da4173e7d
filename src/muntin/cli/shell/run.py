"""The shell at work: at a terminal until the user leaves, else through all of standard input."""

from __future__ import annotations

import signal
import sys
import traceback
from collections.abc import Callable
from types import FrameType
from typing import TextIO

import typer

import muntin
from muntin.cli.ending import end_now, handled_by
from muntin.cli.failures import CONTEXT, describe
from muntin.cli.shell.commands import Leave, Shell
from muntin.core.errors import ConfigError, MuntinError
from muntin.plan.catalog import Catalog

EMPTY = Catalog((), ())


def run_shell(shell: Shell) -> None:
    """Take statements from a terminal, where an error ends one statement alone; or from standard input if that is
    none, where the first error is raised."""
    if not sys.stdin.isatty():
        read_all(shell, sys.stdin)
        return
    from muntin.cli.shell.prompt import history, prompt_session

    typer.echo(rf"muntin {muntin.__version__}: statements end with ;   \? lists commands, \q leaves")
    session = prompt_session(lambda: _known(shell), history())
    with handled_by(_interrupt):
        converse(shell, session.prompt)


def read_all(shell: Shell, lines: TextIO) -> None:
    """Each statement as soon as it is whole. Raises what a statement raises, ConfigError for one without its end."""
    rest = ""
    try:
        for line in lines:
            rest = shell.run(rest + line)
    except Leave:
        return
    if rest.strip():
        raise ConfigError("the last statement does not end with ;")


def converse(shell: Shell, read: Callable[[], str]) -> None:
    """Read, do, say what is wrong, until the user leaves. ``read`` raises EOFError for Ctrl-D, KeyboardInterrupt for
    Ctrl-C."""
    while True:
        try:
            shell.run(read())
        except (EOFError, Leave):
            return
        except KeyboardInterrupt:
            typer.echo("muntin: interrupted", err=True)
        except Exception as e:
            if CONTEXT.debug:
                traceback.print_exc()
            typer.echo(f"muntin: {describe(e)}", err=True)


def _known(shell: Shell) -> Catalog:
    """What completion knows of; nothing where that cannot be read now."""
    try:
        return shell.asked.catalog()
    except (MuntinError, OSError):
        return EMPTY


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Ctrl-C ends what runs; other signals the shell."""
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    end_now(number, "stopped")
