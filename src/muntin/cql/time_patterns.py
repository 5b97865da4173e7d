"""Texts of times by a pattern, as in ``TO_TIMESTAMP(text, 'dd/MMM/yyyy:HH:mm:ss Z')``: Spark's letters for reading.

A pattern becomes a regular expression with one group for each field, in the form that RE2 reads; what the fields mean
together is ``scalars.time_texts``' business.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from muntin.cql.operators import TypeClash

MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_ANY = "[0-9]{1,18}"
_LETTERS: dict[str, tuple[str, str]] = {
    "yyyy": ("year", "[0-9]{4}|[+][0-9]{5,6}|-[0-9]{4,6}"), "y": ("year", "-?[0-9]{1,6}"),
    "yy": ("short_year", "[0-9]{2}"),
    "MMMM": ("month_name", "|".join(MONTHS)), "MMM": ("month_name", "|".join(m[:3] for m in MONTHS)),
    **{letter * n: (field, "[0-9]{2}" if n == 2 else _ANY)
       for letter, field in {"M": "month", "d": "day", "H": "hour", "h": "hour_12", "k": "hour_24", "K": "hour_11",
                             "m": "minute", "s": "second"}.items() for n in (1, 2)},
    **{"S" * n: ("fraction", f"[0-9]{{1,{n}}}") for n in range(1, 10)},
    "a": ("half", "am|pm"),
    "X": ("offset", "Z|[+-][0-9]{2}(?:[0-9]{2})?"), "XX": ("offset", "Z|[+-][0-9]{4}"),
    "XXX": ("offset", "Z|[+-][0-9]{2}:[0-9]{2}"), "x": ("offset", "[+-][0-9]{2}(?:[0-9]{2})?"),
    "xx": ("offset", "[+-][0-9]{4}"), "xxx": ("offset", "[+-][0-9]{2}:[0-9]{2}"),
    **dict.fromkeys(("Z", "ZZ", "ZZZ"), ("offset", "[+-][0-9]{4}")),
}  # fmt: skip
_LETTERS |= {pattern.replace("M", "L"): found for pattern, found in _LETTERS.items() if pattern.startswith("M")}
_ALLOWED = (
    "letters are yyyy, yy, y (year), MMMM, MMM, MM, M (month), dd, d (day), HH, H (0-23), hh, h (1-12), a (AM, PM), "
    "kk, k (1-24), KK, K (0-11), mm, m (minute), ss, s (second), S to SSSSSSSSS (fraction), X, XX, XXX, x, xx, xxx, Z "
    "(offset of the zone); other letters stand between single quotes, what may be missing between [ and ]"
)
_PIECES = re.compile(r"'(?:[^']|'')*'|([A-Za-z])\1*|\[|\]|[^A-Za-z'\[\]]+|'")


@dataclass(frozen=True)
class TimePattern:
    """``regex``: over a whole text, a group for each field; ``fields``: their names."""

    regex: str
    fields: tuple[str, ...]

    @property
    def zoned(self) -> bool:
        """Whether the text names an offset from UTC."""
        return "offset" in self.fields


@lru_cache(maxsize=1024)
def time_pattern(name: str, pattern: str) -> TimePattern:
    """The pattern of a call of ``name``.

    Raises:
        TypeClash: a letter that is not here, one that comes twice, quotes or brackets that are not closed.
    """
    parts, fields, depth, chain = [], list[str](), 0, ""
    for found in _PIECES.finditer(pattern):
        piece = found[0]
        if piece == "'":
            raise TypeClash(f"a quote of the pattern of {name} is not closed; {_ALLOWED}")
        if piece in "[]":
            depth += 1 if piece == "[" else -1
            parts.append("(?:" if piece == "[" else ")?")
            if depth < 0:
                raise TypeClash(f"a ] of the pattern of {name} closes nothing")
        elif piece[0].isalpha():
            field, text = _field(name, piece)
            if field in fields:
                raise TypeClash(f"{piece} comes twice in the pattern of {name}")
            if field == "offset" and depth:
                raise TypeClash(f"{piece} between [ and ] in the pattern of {name}: a zone is always there, or never")
            chain = _chained(name, piece, chain)
            fields.append(field)
            parts.append(f"(?P<{field}>{text})")
        else:
            chain = ""
            parts.append(re.escape(_plain(name, piece)))
    if depth:
        raise TypeClash(f"a [ of the pattern of {name} is not closed")
    if not fields:
        raise TypeClash(f"{name} takes a pattern, as 'yyyy-MM-dd HH:mm'; {_ALLOWED}")
    return TimePattern(rf"(?i)\A{''.join(parts)}\z", tuple(fields))


def _chained(name: str, piece: str, before: str) -> str:
    """The first of the numbers that stand side by side, with this one. Of such numbers only the first may have any
    number of digits, and no fraction may stand behind it: no text would be read (``java.time``)."""
    varies = len(piece) == 1 or piece == "yyyy"
    if piece[0] not in "yMLdHhkKmsS" or piece[:3] in ("MMM", "LLL"):
        return ""
    if before and (piece[0] == "S" or varies) and (len(before) == 1 or before == "yyyy"):
        raise TypeClash(f"{piece} cannot stand in a row of digits that begins with {before} in the pattern of {name}")
    return before or piece


def _field(name: str, piece: str) -> tuple[str, str]:
    if piece not in _LETTERS:
        raise TypeClash(f"there is no {piece} in the patterns that {name} reads: {_ALLOWED}")
    return _LETTERS[piece]


def _plain(name: str, piece: str) -> str:
    if piece[0] == "'":
        return piece[1:-1].replace("''", "'") or "'"
    if odd := next((c for c in piece if c in "{}#"), None):
        raise TypeClash(f"{odd} in the pattern of {name} stands between single quotes")
    return piece
