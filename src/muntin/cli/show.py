"""Result rows for a terminal or for another program: a rich table, CSV, or one JSON object a line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, TextIO

import pyarrow as pa
import pyarrow.csv as pc
import typer
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


def deliver(
    rows: pa.Table,
    form: Format,
    output: Path | None,
    limit: int,
    notes: Iterable[str],
    more: str = "--limit 0 prints all",
) -> None:
    """Show the first ``limit`` rows (0: all), or write them to ``output``; then say the notes, and what was left out.
    ``more``: what shows it.

    Raises ConfigError as ``output.write_rows`` does.
    """
    shown = rows.slice(0, limit) if limit else rows
    if output is None:
        show(shown, form)
    else:
        from muntin.cli.output import write_rows

        told(f"{write_rows(output, shown.schema, [shown]):,} rows in {output}")
    for note in notes:
        told(note)
    if len(shown) < len(rows):
        what = more if output is None else "without --limit all are written"
        told(f"the first {limit} rows; {what}")


def told(line: str) -> None:
    """A line for the user, beside the rows."""
    typer.echo(f"muntin: {line}", err=True)


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
