"""Errors, grouped by who must act. Each message says what is wrong, where, and what to do."""

from __future__ import annotations


class MuntinError(Exception):
    """Base of every error that Muntin raises on purpose."""


class QueryError(MuntinError):
    """The query text is wrong: its author must act.

    ``line`` and ``column`` are 1-based and point at ``token`` in the text; they are None only where
    the fault has no single place (for example a conflict between two options).
    """

    def __init__(
        self, message: str, *, line: int | None = None, column: int | None = None, token: str | None = None
    ) -> None:
        self.message, self.line, self.column, self.token = message, line, column, token
        where = f"line {line}, column {column}" if line is not None else ""
        near = f" near {token!r}" if token else ""
        super().__init__(f"{where}{near}: {message}" if where else message)


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
