"""Result rows for a terminal or for another program: a rich table, CSV, or one JSON object a line."""

from __future__ import annotations

import json
import sys
from typing import Any, Literal, TextIO

import pyarrow as pa
import pyarrow.csv as pc
from rich.console import Console
from rich.table import Table
from rich.text import Text

from muntin.core.shown import is_number, plain, value_text

Format = Literal["table", "csv", "json"]

_UNLIMITED = 100_000


def console(file: TextIO | None = None) -> Console:
    """A console that never folds rows of output that goes to a file or a pipe, and takes a terminal's own width."""
    out = file or sys.stdout
    return Console(file=out, width=None if out.isatty() else _UNLIMITED, highlight=False, soft_wrap=not out.isatty())


def show(rows: pa.Table, form: Format, file: TextIO | None = None, title: str | None = None) -> None:
    """Write ``rows`` to ``file`` (standard output when None)."""
    out = file or sys.stdout
    match form:
        case "csv":
            sink = pa.BufferOutputStream()
            pc.write_csv(rows, sink)
            out.write(sink.getvalue().to_pybytes().decode())
        case "json":
            for row in rows.to_pylist():
                out.write(json.dumps(row, default=plain, ensure_ascii=False) + "\n")
        case "table":
            console(out).print(as_table(rows, title))


def as_table(rows: pa.Table, title: str | None = None) -> Table:
    """A rich table; numbers to the right, NULL dimmed."""
    table = Table(title=title, title_justify="left", header_style="bold")
    for field in rows.schema:
        table.add_column(field.name, justify="right" if is_number(field.type) else "left", no_wrap=True)
    for row in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        table.add_row(*(_cell(value) for value in row))
    return table


def _cell(value: Any) -> Text:
    return Text(value_text(value), style="dim" if value is None else "")
