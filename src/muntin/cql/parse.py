"""Text to syntax tree, with every syntax error turned into a ``QueryError`` that points at its token."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from muntin.core.errors import QueryError
from muntin.cql.dialect import Cql
from muntin.cql.instead import for_call
from muntin.cql.places import Place, place_of
from muntin.cql.window_syntax import CqlParseError

_KEYWORDS = (
    "SELECT", "DISTINCT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "JOIN", "UNION", "EXCEPT", "INTERSECT",
    "BETWEEN", "EXISTS", "RANGE", "SLIDE", "PARTITION",
)  # fmt: skip
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


def parse(text: str) -> exp.Expr:
    """The tree of one CQL query: a ``ToStream`` or a sqlglot query.

    Raises:
        QueryError: the text is not one well-formed query.
    """
    dialect = Cql()
    try:
        tokens = dialect.tokenize(text)
        trees = dialect.parser().parse(tokens, text)
    except TokenError as e:
        raise _token_error(text, e) from None
    except ParseError as e:
        raise _foreign(text, tokens) or _parse_error(text, e, tokens) from None
    found = [t for t in trees if t is not None]
    if not found:
        raise Place(text, 0, 0).error("the query is empty: write SELECT ...")
    if len(found) > 1:
        raise place_of(found[1], text).error("write one query: nothing may follow the ;")
    return found[0]


def _tidy(message: str) -> str:
    """sqlglot's message in words of the query's author."""
    plain = _ANSI.sub("", message)
    if plain.startswith("Required keyword"):
        return "an expression is missing here"
    if plain.startswith("Expected table name"):
        return "expected the name of a stream here"
    if plain.startswith("Expecting "):
        return f"expected {plain.removeprefix('Expecting ')} here"
    return plain.replace("Invalid expression / Unexpected token", "this does not belong here")


def _token_error(text: str, e: TokenError) -> QueryError:
    cause = str(e.__cause__ or e)
    missing = re.match(r"Missing (\S+) from \d+:(\d+)", cause)
    if missing:
        start = min(int(missing.group(2)), max(len(text) - 1, 0))
        what = f"this is opened here and never closed: {missing.group(1)} is missing"
        return Place(text, start, start + 1).error(what)
    start = e.start if e.start is not None else 0
    return Place(text, start, e.end if e.end is not None else start).error(f"unreadable text: {_tidy(cause)}")


def _foreign(text: str, tokens: list[Token]) -> QueryError | None:
    """What to say of a text that does not parse because it calls what other dialects have."""
    found = for_call([t.text for t in tokens])
    if found is None:
        return None
    at, message = tokens[found[0]], found[1]
    return Place(text, at.start, at.end + 1).unsupported(message)


def _parse_error(text: str, e: ParseError, tokens: Sequence[Token]) -> QueryError:
    if isinstance(e, CqlParseError):
        return Place(text, e.start, e.end).error(f"{_tidy(e.message)}{_misspelt(tokens, e.start)}")
    first = e.errors[0] if e.errors else {}
    description = first.get("description") or str(e)
    place = {"line": first.get("line"), "column": first.get("col"), "token": first.get("highlight")}
    return QueryError(_tidy(str(description)), **place)


def _misspelt(tokens: Sequence[Token], start: int) -> str:
    """`` Did you mean FROM for FORM?`` where the word at ``start``, or the one before, is almost a keyword."""
    at = [i for i, t in enumerate(tokens) if t.start == start]
    words = [t.text for i in at for t in tokens[max(0, i - 1) : i + 1] if t.token_type == TokenType.VAR]
    for word in words:
        near = get_close_matches(word.upper(), _KEYWORDS, n=1, cutoff=0.75)
        if near and near[0] != word.upper():
            return f". Did you mean {near[0]} for {word}?"
    return ""
