"""Regular expressions that mean the same to Spark (Java), to Arrow (RE2) and to Python.

A pattern is brought into a form made of what the three share: characters, classes, groups, alternation, ``*``, ``+``,
``?``, ``{m,n}`` and their lazy forms, ``^`` and ``$`` for the ends of the whole text. ``.`` becomes ``[^\\n]``,
``\\d``, ``\\w`` and ``\\s`` their ASCII classes, ``$`` becomes ``\\z``. The rest (look-around, references to groups,
flags, ends of words, ...) is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from muntin.cql.operators import TypeClash

_CLASSES = {"d": "0-9", "w": "A-Za-z0-9_", "s": " \\t\\n\\x0b\\f\\r"}
_PLAIN = {"n": "\\n", "t": "\\t", "r": "\\r", "f": "\\f"}
_COUNT = re.compile(r"\{(\d{1,3})(,(\d{0,3}))?\}")
_SPECIAL = "\\.[]{}()*+?^$|&-"


@dataclass(frozen=True)
class Regex:
    """``text``: in the form that all share; ``groups``: how many are captured; ``empty``: whether it fits the empty
    text."""

    text: str
    groups: int
    empty: bool


def regex(pattern: str) -> Regex:
    """The pattern in the form that all share.

    Raises:
        TypeClash: it has what they do not share, or is none.
    """
    parts, i, groups = [], 0, 0
    while i < len(pattern):
        c = pattern[i]
        match c:
            case "\\":
                parts.append(_escape(pattern, i))
                i += 1
            case "[":
                made, i = _class(pattern, i)
                parts.append(made)
            case "(":
                groups += not pattern.startswith("(?", i)
                if pattern.startswith("(?", i) and not pattern.startswith("(?:", i):
                    raise _refused(pattern, pattern[i : i + 3])
                parts.append("(?:" if pattern.startswith("(?:", i) else "(")
                i += 2 if pattern.startswith("(?:", i) else 0
            case "{":
                found = _COUNT.match(pattern, i)
                if found is None:
                    raise _refused(pattern, "{ (write \\{ for the character)")
                parts.append(found.group())
                i = found.end() - 1
            case ".":
                parts.append("[^\\n]")
            case "$":
                parts.append("\\z")
            case "}" | "]":
                parts.append("\\" + c)
            case _:
                if c == "+" and i and pattern[i - 1] in "*+?}" and not pattern.endswith("\\" + pattern[i - 1], 0, i):
                    raise _refused(pattern, pattern[i - 1 : i + 1])
                parts.append(c)
        i += 1
    text = "".join(parts)
    try:
        compiled = re.compile(python_of(text))
    except re.error as e:
        raise TypeClash(f"{pattern!r} is no regular expression: {e}") from None
    return Regex(text, groups, compiled.match("") is not None)


def python_of(text: str) -> str:
    """The form that all share as Python reads it."""
    return re.sub(r"(\\.)", lambda m: "\\Z" if m.group() == "\\z" else m.group(), text)


def _escape(pattern: str, i: int) -> str:
    c = pattern[i + 1 : i + 2]
    if c == "z" and i + 2 == len(pattern):
        return "\\z"
    if c.lower() in _CLASSES:
        return f"[{'^' if c.isupper() else ''}{_CLASSES[c.lower()]}]"
    if c in _PLAIN:
        return _PLAIN[c]
    if not c or c.isalnum():
        raise _refused(pattern, f"\\{c}")
    return "\\" + c


def _class(pattern: str, i: int) -> tuple[str, int]:
    """A class, and the place of its end."""
    parts, j = ["["], i + 1
    if pattern.startswith("^", j):
        parts.append("^")
        j += 1
    while j < len(pattern) and (pattern[j] != "]" or (j == i + 1 and parts[-1] == "[")):
        c = pattern[j]
        if c == "\\":
            d = pattern[j + 1 : j + 2]
            if d in _CLASSES:
                parts.append(_CLASSES[d])
            elif d in _PLAIN:
                parts.append(_PLAIN[d])
            elif not d or d.isalnum():
                raise _refused(pattern, f"\\{d} in [...]")
            else:
                parts.append("\\" + d)
            j += 2
            continue
        if c == "[" and pattern.startswith("[:", j):
            raise _refused(pattern, "[: :]")
        parts.append("\\" + c if c in "[]&~|" else c)
        j += 1
    if j >= len(pattern):
        raise TypeClash(f"{pattern!r} is no regular expression: a [ is not closed")
    return "".join(parts) + "]", j


def _refused(pattern: str, what: str) -> TypeClash:
    return TypeClash(
        f"{what} in {pattern!r} is not supported, since Spark's, Arrow's and Python's regular expressions do not agree "
        "on it: supported are characters, classes, groups, |, *, +, ?, {m,n}, ., ^, $, \\d, \\w and \\s"
    )
