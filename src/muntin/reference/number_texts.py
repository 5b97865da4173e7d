"""TO_NUMBER, one text at a time: the format is read from left to right, and the text with it."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from muntin.reference.values import Failed

_TOKENS = re.compile(r"[09]+(?:[,G][09]+)*|MI|PR|[.D]|\$|S")
_SIGNS = {"S": ("+", "-"), "MI": ("", "-"), "<": ("", "<"), ">": (">", "")}


def to_number(_: Any, text: str, form: str) -> Decimal:
    """The number; Failed for a text that is not of the format."""
    tokens = _TOKENS.findall(form)
    if tokens[-1] == "PR":
        tokens = ["<", *tokens[:-1], ">"]
    at, minus, parts = 0, False, [""]
    for i, token in enumerate(tokens):
        c = text[at : at + 1]
        if token in (".", "D"):
            at += c == "."
            parts += [""] if c == "." else []
        elif token in _SIGNS:
            at += bool(c) and c in _SIGNS[token]
            minus |= bool(c) and c == _SIGNS[token][1]
        elif token == "$":
            if c != "$":
                raise Failed(text)
            at += 1
        else:
            behind = bool({".", "D"} & {*tokens[:i]})
            found, at = _digits(text, at, token.replace("0", "9") if behind else token, behind)
            parts[-1] += found
    if at < len(text) or not any(parts):
        raise Failed(text)
    number = Decimal(f"{parts[0] or '0'}.{parts[-1] if len(parts) > 1 else '0'}")
    return -number if minus else number


def _digits(text: str, at: int, groups: str, behind: bool) -> tuple[str, int]:
    """The digits from a place on that are of the groups, and where they end."""
    found = [""]
    while at < len(text) and (text[at] in " \t\n\x0b\f\r0123456789" or (text[at] == "," and not behind)):
        if text[at] == ",":
            found.append("")
        else:
            found[-1] += text[at].strip()
        at += 1
    wanted = re.split("[,G]", groups)
    if len(found) > len(wanted):
        raise Failed(text)
    for i, run in enumerate(reversed(wanted)):
        size = len(found[-1 - i]) if i < len(found) else 0
        if size > len(run) or (run[0] == "0" and size < len(run)):
            raise Failed(text)
    return "".join(found), at
