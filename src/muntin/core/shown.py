"""Rows for people: values as text, tables as text and as HTML. Text in HTML is escaped."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal
from html import escape
from itertools import zip_longest
from typing import Any

import pyarrow as pa

_CELL = "padding:2px 8px;vertical-align:top;text-align:"

_SHORT = 24
"""Characters of a cell that stands in one line however narrow the page is."""


def value_text(value: Any) -> str:
    """A value of an answer: NULL, true, doubles to six digits, instants without a zone, nested values as JSON."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case float():
            return f"{value:.6g}"
        case datetime():
            return instant(value)
        case dict() | list():
            return json.dumps(value, default=plain, ensure_ascii=False)
        case _:
            return str(value)


def instant(value: datetime) -> str:
    """``2013-01-01 10:15:00``, with fractions only where there are any."""
    text = value.replace(tzinfo=None).isoformat(sep=" ")
    return text.rstrip("0") if "." in text else text


def counted(number: int, word: str) -> str:
    """``1 batch``, ``12,000 rows``."""
    many = "es" if word.endswith("ch") else "s"
    return f"{number:,} {word}{'' if number == 1 else many}"


def plain(value: Any) -> Any:
    """A value that JSON has no form for, as text (bytes in hexadecimal)."""
    match value:
        case datetime() | date():
            return value.isoformat()
        case Decimal():
            return str(value)
        case bytes():
            return value.hex()
        case _:
            return str(value)


def is_number(kind: pa.DataType) -> bool:
    """Whether a column stands to the right."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def text_table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[bool] = ()) -> str:
    """Lines with columns apart; ``right``: by column whether it stands to the right."""
    lines = [list(head), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip_longest(*lines, fillvalue="")]
    sides = [*right, *([False] * len(widths))]
    return "\n".join(
        "  ".join(c.rjust(w) if r else c.ljust(w) for c, w, r in zip(line, widths, sides, strict=False)).rstrip()
        for line in lines
    )


def html_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[bool] = (), caption: str = ""
) -> str:
    """A table of texts; ``right``: by column whether it stands to the right."""
    sides = ["right" if r else "left" for r in right] + ["left"] * (len(head) - len(right))
    title = f'<caption style="text-align:left;font-weight:bold">{escape(caption)}</caption>' if caption else ""
    heads = "".join(_cell("th", *cell) for cell in zip(head, sides, strict=True))
    body = "".join("<tr>" + "".join(_cell("td", *c) for c in zip(row, sides, strict=True)) + "</tr>" for row in rows)
    return f"<table>{title}<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def _cell(tag: str, text: str, side: str) -> str:
    whole = ";white-space:nowrap" if len(text) <= _SHORT else ""
    return f'<{tag} style="{_CELL}{side}{whole}">{escape(text)}</{tag}>'


class Shown:
    """Rows of an answer for a notebook (HTML) or a terminal (``str``); ``note``: a line below them."""

    def __init__(self, rows: pa.Table, note: str = "") -> None:
        self.rows, self.note = rows, note

    @property
    def _right(self) -> list[bool]:
        return [is_number(f.type) for f in self.rows.schema]

    def _cells(self) -> list[list[str]]:
        columns = (column.to_pylist() for column in self.rows.columns)
        return [[value_text(v) for v in row] for row in zip(*columns, strict=True)]

    def __str__(self) -> str:
        return "\n".join([text_table(self.rows.column_names, self._cells(), self._right), *filter(None, [self.note])])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        note = f"<p>{escape(self.note)}</p>" if self.note else ""
        return html_table(self.rows.column_names, self._cells(), self._right) + note
