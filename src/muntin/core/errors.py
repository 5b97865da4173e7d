"""Errors, grouped by who must act. Each message says what is wrong, where, and what to do."""

from __future__ import annotations


class MuntinError(Exception):
    """Base of every error that Muntin raises on purpose."""


class QueryError(MuntinError):
    """The query text is wrong: its author must act.

    ``line`` and ``column`` are 1-based and point at ``token`` in ``text``, the query as it was given; they are None
    only where the fault has no single place (for example a conflict between two options).

    IPython shows the message and the place alone; a plain traceback is as ever.
    """

    text: str | None = None

    def __init__(
        self, message: str, *, line: int | None = None, column: int | None = None, token: str | None = None
    ) -> None:
        self.message, self.line, self.column, self.token = message, line, column, token
        where = f"line {line}, column {column}" if line is not None else ""
        near = f" near {token!r}" if token else ""
        super().__init__(f"{where}{near}: {message}" if where else message)

    def _render_traceback_(self) -> list[str]:
        """What IPython prints in place of a traceback, by lines: frames of the library tell the author of a query
        nothing."""
        return [f"{type(self).__name__}: {self}", *excerpt(self.text or "", self).splitlines()]


def excerpt(text: str, error: QueryError) -> str:
    """The faulty line and carets below it; empty when the place is not in the text."""
    lines = text.splitlines()
    if error.line is None or not 1 <= error.line <= len(lines):
        return ""
    line, column = lines[error.line - 1], max(1, error.column or 1)
    width = len(error.token or "^")
    width = max(1, min(width, len(line) - column + 1))
    # Tabs before the token stay tabs, so that the carets stand below it in any terminal.
    pad = "".join("\t" if c == "\t" else " " for c in line[: column - 1])
    number = f"{error.line:>4} | "
    return f"{number}{line}\n{' ' * (len(number) - 2)}| {pad}{'^' * width}"


class UnsupportedError(QueryError):
    """The text is valid CQL, but this version cannot run the construct."""


class ConfigError(MuntinError):
    """A job file, an option or a registered stream is wrong: the operator of the job must act."""


class DataError(MuntinError):
    """A row breaks a declared rule (``on_bad_time="fail"``, integer overflow): the data's owner must act."""


class BudgetError(MuntinError):
    """A query's state outgrew the memory that its option allows, or a step what the machine has: its author must act.
    Nothing was committed."""


class StoreError(MuntinError):
    """The pane store does not fit the checkpoint, or is missing, newer, corrupt or full."""


class InternalError(MuntinError):
    """An invariant of Muntin itself does not hold: a bug to report."""
