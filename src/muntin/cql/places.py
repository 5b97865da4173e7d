"""Places in a query text, and the errors that point at them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from muntin.core.errors import QueryError, UnsupportedError

_LONGEST_TOKEN = 40


@dataclass(frozen=True)
class Place:
    """A piece ``[start, end)`` of a query text; offsets count characters from 0."""

    text: str
    start: int
    end: int

    @property
    def line(self) -> int:
        """1-based line of the first character."""
        return self.text.count("\n", 0, self.start) + 1

    @property
    def column(self) -> int:
        """1-based column of the first character."""
        return self.start - self.text.rfind("\n", 0, self.start)

    @property
    def token(self) -> str | None:
        """The characters themselves, cut when long; None for an empty piece."""
        piece = re.sub(r"\s+", " ", self.text[self.start : self.end])
        return (piece if len(piece) <= _LONGEST_TOKEN else piece[: _LONGEST_TOKEN - 3] + "...") or None

    def error(self, message: str) -> QueryError:
        """A ``QueryError`` that points here."""
        return QueryError(message, line=self.line, column=self.column, token=self.token)

    def unsupported(self, message: str) -> UnsupportedError:
        """An ``UnsupportedError`` that points here."""
        return UnsupportedError(message, line=self.line, column=self.column, token=self.token)


def place_of(node: exp.Expr, text: str) -> Place:
    """Where ``node`` stands: its own token, else its leftmost child that knows its place, else the nearest parent's."""
    at: exp.Expr | None = node
    while at is not None:
        spans = [_span(at)] if _span(at) else [s for s in map(_span, at.walk()) if s]
        if spans:
            start, end = min(s for s in spans if s is not None)
            return Place(text, start, end)
        at = at.parent
    return Place(text, 0, 0)


def _span(node: exp.Expr) -> tuple[int, int] | None:
    meta: dict[str, Any] = node.meta
    start, end = meta.get("start"), meta.get("end")
    return None if start is None or end is None else (int(start), int(end) + 1)
