"""Formats of ``FORMAT_STRING('%s has %05d of %.2f', ...)``: what of ``java.util.Formatter`` there is here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from muntin.cql.operators import TypeClash

_PIECE = re.compile(
    r"%%|%(?P<flags>[-0,]*)(?P<width>[1-9]\d*)?(?:\.(?P<digits>\d+))?(?P<kind>[sdfxX])|(?P<odd>%)|[^%]+"
)
_FORMATS = (
    "formats are %s, %d, %x, %X, %f and %.2f, with a width, with - (left), 0 (zeros before) or a comma (%d), and "
    "%% for the character"
)

MOST_DIGITS = 400
"""So many digits behind the point are written at most, as by FORMAT_NUMBER."""


@dataclass(frozen=True)
class FormatPiece:
    """A plain ``text`` (no ``kind``), or how one value is written: ``digits`` behind the point, None if not said."""

    text: str
    kind: str = ""
    flags: str = ""
    width: int = 0
    digits: int | None = None


@lru_cache(maxsize=1024)
def format_pieces(text: str) -> tuple[FormatPiece, ...]:
    """The pieces of a format, from left to right.

    Raises:
        TypeClash: it has what is not here.
    """
    return tuple(_piece(found) for found in _PIECE.finditer(text))


def _piece(found: re.Match[str]) -> FormatPiece:
    if found["odd"]:
        raise TypeClash(f"there is no {found.string[found.start() : found.start() + 3]!r} here: {_FORMATS}")
    kind, flags = found["kind"] or "", found["flags"] or ""
    if not kind:
        return FormatPiece(found[0].replace("%%", "%"))
    digits = None if found["digits"] is None else int(found["digits"])
    if (digits is not None and kind != "f") or ("," in flags and kind != "d") or ("0" in flags and kind == "s"):
        raise TypeClash(f"{found[0]} is no format here: {_FORMATS}")
    if digits is not None and digits > MOST_DIGITS:
        raise TypeClash(f"{found[0]} asks for more than {MOST_DIGITS} digits behind the point")
    if "-" in flags and "0" in flags:
        raise TypeClash(f"{found[0]} pads left and right")
    return FormatPiece(found[0], kind, flags, int(found["width"] or 0), digits)
