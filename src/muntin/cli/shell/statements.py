"""What is typed, cut into statements that end with ``;`` and commands: a line that begins with a backslash."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""'(?:[^'\\]|\\.)*(?:'|\Z) | "(?:[^"\\]|\\.)*(?:"|\Z) | `[^`]*(?:`|\Z)  # what is not closed reaches to the end
      | --[^\n]* | /\*.*?(?:\*/|\Z) | ;""",
    re.DOTALL | re.VERBOSE,
)
_BLANK = re.compile(r"(?:\s+|--[^\n]*(?:\n|\Z)|/\*.*?\*/)*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Statement:
    """A query, or EXPLAIN and a query, without its ``;``; ``line``: where it begins, from 0."""

    text: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class Command:
    """A command without its backslash, and what stands behind its name."""

    name: str
    argument: str


def split(text: str) -> tuple[list[Statement | Command], str]:
    """The statements and commands that are whole, and what follows them: the beginning of another, or nothing.

    ``;`` within quotes and comments ends nothing; a statement of blanks and comments is none.
    """
    found: list[Statement | Command] = []
    start = 0
    while True:
        start = _past_blanks(text, start)
        if text.startswith("\\", start):
            stop = text.find("\n", start)
            if stop < 0:
                stop = len(text)
            name, _, argument = text[start + 1 : stop].strip().partition(" ")
            found.append(Command(name, argument.strip()))
        else:
            stop = next((m.start() for m in _TOKEN.finditer(text, start) if m.group() == ";"), -1)
            if stop < 0:
                return found, text[start:]
            if stop > start:
                found.append(Statement(text[start:stop], text.count("\n", 0, start)))
        start = stop + 1
        if start > len(text):
            return found, ""


def _past_blanks(text: str, start: int) -> int:
    found = _BLANK.match(text, start)
    assert found is not None
    return found.end()


def is_whole(text: str) -> bool:
    """Whether nothing is missing: what Enter goes by."""
    return not split(text)[1].strip()


def is_open(text: str) -> bool:
    """Whether a text ends within quotes or a comment: a ``;`` behind it would end nothing."""
    *_, last = _TOKEN.finditer(text + ";")
    return last.group() != ";"
