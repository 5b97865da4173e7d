"""What may stand where the cursor is: keywords, functions, streams, tables, their columns; commands and files."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from muntin.aggregates.registry import AGGREGATES
from muntin.cli.shell.commands import HELP
from muntin.cli.shell.statements import is_open
from muntin.cql.functions import NAMES
from muntin.plan.catalog import Catalog, Stream, Table

KEYWORDS = (
    "ALL", "ANALYZE", "AND", "AS", "ASC", "BETWEEN", "BY", "CASE", "CUMULATE", "DELAY", "DESC", "DISTINCT", "ELSE",
    "END", "EXCEPT", "EXISTS", "EXPLAIN", "FALSE", "FETCH", "FILTER", "FROM", "FULL", "GROUP", "HAVING", "IN",
    "INTERNAL", "INTERSECT", "INTERVAL", "IS", "JOIN", "LEFT", "LIKE", "LIMIT", "NOT", "NOW", "NULL", "OFFSET", "ON",
    "OR", "ORDER", "PARTITION", "QUALIFY", "RANGE", "RIGHT", "ROWS", "SELECT", "SLIDE", "THEN", "TIES", "TIMESTAMP",
    "TRUE", "UNBOUNDED", "UNION", "USING", "WHEN", "WHERE", "WITH", "WITHIN", "MILLISECONDS", "SECONDS", "MINUTES",
    "HOURS", "DAYS", "WEEKS", "MONTHS", "YEARS", "ISTREAM", "DSTREAM", "RSTREAM", "WSTREAM",
)  # fmt: skip

_WORD = re.compile(r"(?:(\w+)\.)?(\w*)$")
_FROM = re.compile(r"\b(?:FROM|JOIN|,)\s*(\w+)\s*(?:\[[^\]]*\])?\s*(?:AS\s+)?(\w+)?", re.IGNORECASE)
_AFTER_FROM = re.compile(r"\b(?:FROM|JOIN)\s+\w*$", re.IGNORECASE)
_OF_FILES = ("i", "o", "stream", "table")


@dataclass(frozen=True, slots=True)
class Candidate:
    """``text`` stands in for the last ``typed`` characters; ``kind``: what it is, for people."""

    text: str
    typed: int
    kind: str


def candidates(text: str, cursor: int, catalog: Catalog) -> list[Candidate]:
    """What may be meant at a place in a text, in order: columns, streams, functions, keywords.

    Behind ``x.`` the columns of the stream that the text calls x. Keywords and functions follow the case of what is
    typed. Nothing within quotes and comments.
    """
    before = text[:cursor]
    if before.lstrip().startswith("\\"):
        return list(_of_command(before.lstrip(), catalog))
    found = _WORD.search(before)
    assert found is not None
    owner, word = found.groups()
    if is_open(before) or (owner is None and not word):
        return []
    if owner is not None:
        meant = _meant(owner, text)
        columns = (c for s in _known(catalog) if s.name.lower() == meant for c in s.schema.names)
        return _starting(word, ((c, "column") for c in columns))
    if _AFTER_FROM.search(before):
        return _starting(word, _named(catalog))
    return _starting(word, _all(catalog, word.islower()))


def _known(catalog: Catalog) -> list[Stream | Table]:
    return [*catalog.streams, *catalog.tables]


def _named(catalog: Catalog) -> Iterator[tuple[str, str]]:
    yield from ((s.name, "stream") for s in catalog.streams)
    yield from ((t.name, "table") for t in catalog.tables)


def _all(catalog: Catalog, lower: bool) -> Iterator[tuple[str, str]]:
    yield from ((c, "column") for s in _known(catalog) for c in s.schema.names)
    yield from _named(catalog)
    functions = [*(n for a in AGGREGATES for n in a.names), *(n for n in NAMES if n.isidentifier())]
    yield from ((n.lower() if lower else n.upper(), "function") for n in functions)
    yield from ((k.lower() if lower else k, "keyword") for k in KEYWORDS)


def _starting(word: str, names: Iterator[tuple[str, str]]) -> list[Candidate]:
    """Those that begin with what is typed, each once."""
    fit = {n: kind for n, kind in reversed(list(names)) if n.lower().startswith(word.lower()) and n != word}
    return [Candidate(n, len(word), kind) for n, kind in reversed(fit.items())]


def _meant(owner: str, text: str) -> str:
    """The stream that a text calls ``owner``, in lower case."""
    for name, alias in _FROM.findall(text):
        if alias.lower() == owner.lower() and alias.upper() not in KEYWORDS:
            return str(name).lower()
    return owner.lower()


def _of_command(before: str, catalog: Catalog) -> Iterator[Candidate]:
    name, blank, argument = before[1:].partition(" ")
    if not blank:
        known = dict.fromkeys(what[1:].partition(" ")[0] for what, _ in HELP if what.startswith("\\"))
        yield from (Candidate(k, len(name), "command") for k in known if k.startswith(name) and k != name)
    elif name == "d":
        yield from _starting(argument.strip(), ((s.name, "stream or table") for s in _known(catalog)))
    elif name == "format":
        yield from _starting(argument.strip(), ((f, "format") for f in ("table", "csv", "json")))
    elif name in _OF_FILES:
        path = re.split(r"[\s=]", argument)[-1]
        for file in sorted(glob.glob(glob.escape(os.path.expanduser(path)) + "*"))[:200]:
            shown = path[: path.rfind("/") + 1] + os.path.basename(file) + ("/" if os.path.isdir(file) else "")
            yield Candidate(shown, len(path), "file")
