"""The tables that a text of another dialect of SQL reads of what a pipeline holds: names, with windows in brackets.

Only those are read here; the rest of the text is the other engine's business.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

_SKIP = r"'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/"
_WINDOW = r"\[\s*(?:RANGE|NOW|UNBOUNDED|ROWS|SESSION|PARTITION)\b[^\]]*\]"
_NAME = r'"(?:[^"]|"")+"|`[^`]+`|[A-Za-z_]\w*'
_PIECES = re.compile(
    rf"(?P<skip>{_SKIP})|(?P<name>{_NAME})(?P<window>\s*{_WINDOW})?|(?P<mark>\S)", re.IGNORECASE | re.DOTALL
)
_NEXT = re.compile(rf"(?:{_SKIP}|\s)*({_NAME})?", re.DOTALL)
_TABLES = frozenset(["from", "join"])
_CLAUSES = frozenset(
    ["select", "where", "on", "using", "group", "order", "having", "limit", "offset", "union", "intersect", "except"]
    + ["window", "qualify", "values", "set", "fetch"]
)
_JOINS = frozenset(
    ["inner", "left", "right", "full", "cross", "natural", "outer", "asof", "positional", "semi", "anti", "lateral"]
    + ["tablesample", "sample", "pivot", "unpivot", "sort", "cluster", "distribute"]
)
"""Words that follow a table, besides clauses, and are no name for it."""


@dataclass(frozen=True)
class HeldTable:
    """A table of a text. ``name``: under which the rewritten text reads it; ``query``: what it is, in CQL."""

    name: str
    query: str


def held_tables(text: str, known: Collection[str], quoted: Callable[[str], str]) -> tuple[str, tuple[HeldTable, ...]]:
    """The text with names of their own in place of the ``known`` names, windows behind them included, that stand where
    a table does; and these tables. ``quoted``: a name as the engine quotes it. Cost: the text."""
    reading = _Reading(text, {n.lower(): n for n in known}, quoted)
    return _PIECES.sub(reading.piece, text), tuple(reading.found.values())


@dataclass
class _Reading:
    text: str
    known: dict[str, str]
    quoted: Callable[[str], str]
    found: dict[str, HeldTable] = field(default_factory=dict)
    clause: str = ""
    before: str = ""
    outer: list[str] = field(default_factory=list)

    def piece(self, m: re.Match[str]) -> str:
        """What a piece of the text becomes."""
        if m["skip"]:
            return m[0]
        if m["mark"]:
            self._mark(m["mark"])
            return m[0]
        word = m["name"].lower()
        at_table = self.clause in _TABLES and self.before in (*_TABLES, ",", "(")
        self.before = word
        if word in _TABLES or word in _CLAUSES:
            self.clause = word
            return m[0]
        name = self.known.get(word.strip('"`'))
        return m[0] if name is None or not (at_table or m["window"]) else self._table(m, name)

    def _mark(self, mark: str) -> None:
        if mark == "(":
            self.outer.append(self.clause)
        elif mark == ")" and self.outer:
            self.clause = self.outer.pop()
        self.before = mark

    def _table(self, m: re.Match[str], name: str) -> str:
        query = f"SELECT * FROM `{name}` {(m['window'] or '').strip()}".rstrip()
        table = self.found.setdefault(query, HeldTable(f"held_{len(self.found)}", query))
        after = _NEXT.match(self.text, m.end())
        follows = (after[1] or "").lower() if after else ""
        named = follows and follows not in _CLAUSES | _TABLES | _JOINS
        return self.quoted(table.name) + ("" if named else f" AS {m['name']}")
