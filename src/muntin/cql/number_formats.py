"""Formats of ``TO_NUMBER('$1,234.5-', '$9,999.9S')``: Spark's, as a regular expression that RE2 reads."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from muntin.cql.operators import TypeClash

_FORMAT = re.compile(
    r"(?P<before>MI|S)?(?P<dollar>\$)?(?P<whole>[09]+(?:[,G][09]+)*)(?P<point>[.D])?(?P<rest>[09]*)(?P<after>MI|S|PR)?"
)
_SPACE = r"[ \t\n\x0b\f\r]*"
_SIGNS = {"S": "[+-]?", "MI": "-?", "PR": ">?", None: ""}


@dataclass(frozen=True)
class NumberFormat:
    """``pattern``: what the texts are; digits of the number, ``scale`` of them behind the point."""

    pattern: str
    precision: int
    scale: int


@lru_cache(maxsize=1024)
def number_format(text: str) -> NumberFormat:
    """The format, letters in any case: 0 and 9 are digits, of which runs that begin with 0 are there in full before
    the point, ``,`` and ``G`` part them, ``.`` and ``D`` are the point, ``S``, ``MI`` and ``PR`` (``<1>``) signs.

    Raises:
        TypeClash: it is none, has two signs, or more than 38 digits.
    """
    found = _FORMAT.fullmatch(text.upper())
    if found is None or (found["rest"] and not found["point"]) or (found["before"] and found["after"]):
        raise TypeClash(
            f"{text!r} is no format of a number here: digits as in '999' or '000', in groups as in '9,999', with a "
            "point as in '0.99', $ before them and one of S, MI (before or behind) and PR (behind)"
        )
    runs, rest = re.split("[,G]", found["whole"]), found["rest"]
    digits = sum(map(len, runs)) + len(rest)
    if digits > 38:
        raise TypeClash(f"a number has at most 38 digits, not {digits}")
    behind = rf"(?:\.{_digits('9' * len(rest))}{_SPACE})?" if rest else r"\.?" if found["point"] else ""
    signs = "<?" if found["after"] == "PR" else _SIGNS[found["before"]], _SIGNS[found["after"]]
    dollar = r"\$" if found["dollar"] else ""
    return NumberFormat(rf"^{signs[0]}{dollar}{_groups(runs)}{_SPACE}{behind}{signs[1]}$", digits, len(rest))


def _groups(runs: list[str]) -> str:
    """Groups that may be missing are so from the left."""
    pattern, full = _digits(runs[0]), runs[0][0] == "0"
    for run in runs[1:]:
        pattern = f"(?:{pattern}{_SPACE},){'' if full else '?'}{_digits(run)}"
        full |= run[0] == "0"
    return pattern


def _digits(run: str) -> str:
    return f"(?:{_SPACE}[0-9]){{{'' if run[0] == '0' else '0,'}{len(run)}}}"
