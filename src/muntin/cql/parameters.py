"""Parameters of a text: ``:name`` becomes a literal, which cannot become anything else than one."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import pairwise
from typing import Any

from sqlglot.errors import TokenError
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from muntin.core.errors import ConfigError
from muntin.cql.dialect import Cql
from muntin.cql.unparse import text_literal

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def with_parameters(text: str, values: Mapping[str, Any]) -> str:
    """The text with every ``:name`` outside of texts, quoted names and comments replaced by its value as a literal.

    Values are None, booleans, numbers, text, dates and datetimes. Raises ConfigError for a parameter without a value, a
    value without a parameter, and a value of another type. Cost: one pass over the text.
    """
    if not isinstance(values, Mapping):
        raise ConfigError(f'parameters are values by name, as in parameters={{"carrier": "AA"}}, not {values!r}')
    found = list(_parameters(text)) if ":" in text else []
    missing = next((name for name, _, _ in found if name not in values), None)
    if missing is not None and values:
        raise ConfigError(f"parameter :{missing} has no value; given are {', '.join(values)}")
    if missing is not None:
        how = f'parameters={{"{missing}": ...}}, or --set {missing}=...'
        raise ConfigError(f"parameter :{missing} has no value; give it one: {how}")
    unused = next((name for name in values if name not in {n for n, _, _ in found}), None)
    if unused is not None:
        raise ConfigError(f"the text has no parameter :{unused}")
    pieces, at = [], 0
    for name, start, stop in found:
        value = literal(name, values[name])
        # A minus behind another one would begin a comment.
        pieces += [text[at:start], f"({value})" if value.startswith("-") else value]
        at = stop
    return "".join([*pieces, text[at:]])


def parameters_of(text: str) -> frozenset[str]:
    """The names of a text's parameters."""
    return frozenset(name for name, _, _ in _parameters(text))


def _parameters(text: str) -> Iterator[tuple[str, int, int]]:
    """Name and place of each: a colon with a word right behind it."""
    try:
        tokens: list[Token] = Cql().tokenize(text)
    except TokenError:
        return  # the parser says where
    for colon, name in pairwise(tokens):
        alone = not text[: colon.start][-1:].isalnum() and text[: colon.start][-1:] not in tuple('_`)]"')
        joined = colon.token_type == TokenType.COLON and name.start == colon.end + 1
        if joined and alone and name.text.isidentifier():
            yield name.text, colon.start, name.end + 1


def literal(name: str, value: Any) -> str:
    """A value as the text of a literal."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case float() if not math.isfinite(value):
            raise ConfigError(f"parameter {name}: {value} has no literal; write a CAST in the text")
        case float():
            return f"{value!r}" if "e" in repr(value) else f"{value!r}e0"
        case int():
            return str(value)
        case Decimal() if value.is_finite():
            return f"{value:f}"
        case str():
            return text_literal(value)
        case dt.datetime():
            return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
        case dt.date():
            return f"DATE '{value.isoformat()}'"
        case _:
            raise ConfigError(
                f"parameter {name}: {type(value).__name__} has no literal; give None, a boolean, a number, text, a "
                "date or a datetime"
            )


def typed(text: str) -> Any:
    """The value that a user typed on a command line: a number, true, false, null, else text; in single quotes always
    text."""
    lower = text.strip().lower()
    if lower in ("null", "true", "false"):
        return {"null": None, "true": True, "false": False}[lower]
    if _NUMBER.fullmatch(text.strip()):
        number = text.strip()
        if "e" in lower:
            return float(number)
        return Decimal(number) if "." in number else int(number)
    quoted = re.fullmatch(r"'(.*)'", text, re.DOTALL)
    return quoted[1] if quoted else text
