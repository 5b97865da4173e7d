"""From exceptions to what a shell user sees: one message on standard error and an exit status."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import typer

from muntin.core.errors import ConfigError, MuntinError, QueryError, excerpt

OK, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130
"""Exit statuses: done; failed while running; wrong arguments, job file or query; stopped by SIGINT."""


@dataclass
class Context:
    """What the reporting of an error needs to know: ``--debug``, and the query text that is being handled."""

    debug: bool = False
    text: str = ""
    origin: str = ""

    def reading(self, text: str, origin: str) -> str:
        """Note the text under work and where it came from, so that an error can show its line; returns the text."""
        self.text, self.origin = text, origin
        return text


CONTEXT = Context(debug=bool(os.environ.get("MUNTIN_DEBUG")))
"""One command runs per process, so one context is enough."""


@contextmanager
def reported() -> Iterator[None]:
    """Turn what a command raises into a message and an exit status; with ``--debug`` the traceback comes first."""
    try:
        yield
    except (typer.Exit, typer.Abort):
        raise
    except KeyboardInterrupt:
        typer.echo("muntin: interrupted", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        # The reader (head, less) has what it wanted. Nothing more can be printed, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(OK) from None
    except Exception as e:
        if CONTEXT.debug:
            traceback.print_exc()
        typer.echo(f"muntin: {describe(e)}", err=True)
        raise typer.Exit(USAGE if isinstance(e, QueryError | ConfigError) else FAILED) from None


def describe(error: BaseException) -> str:
    """The message of an error; for a query error the line of the text follows, with carets under the token."""
    if isinstance(error, QueryError) and error.line is not None:
        return f"{CONTEXT.origin + ': ' if CONTEXT.origin else ''}{error}\n{excerpt(CONTEXT.text, error)}".rstrip()
    return innermost(error)


def innermost(error: BaseException) -> str:
    """One readable line of an error that may have crossed the JVM: what a worker raised, or what Spark says first."""
    if isinstance(error, MuntinError):
        return str(error)
    from muntin.spark.failures import in_one_line  # PySpark takes a while to load

    return in_one_line(error)
