"""``muntin sql --live CHECKPOINT``: a one-time query over the windows that a pipeline holds; needs no JVM."""

from __future__ import annotations

import time
from pathlib import Path

import typer

from muntin.cli.show import Format, show


def run_live(checkpoint: str, text: str, form: Format, output: Path | None, limit: int) -> None:
    """Ask, print the rows or write them, and say of which instant they are and how old that is."""
    from muntin.core.time import instant_text
    from muntin.session.one_time import ask_checkpoint

    found = ask_checkpoint(checkpoint, text)
    shown = found.rows.slice(0, limit) if limit else found.rows
    if output is None:
        show(shown, form)
    else:
        from muntin.cli.output import write_rows

        typer.echo(f"muntin: {write_rows(output, shown.schema, [shown]):,} rows in {output}", err=True)
    told = f"muntin: as of {instant_text(found.at)}, after batch {found.batch}"
    if found.committed is not None:
        told += f", committed {max(time.time() - found.committed, 0):.1f} s ago"
    typer.echo(f"{told}; the newest rows that had come are {found.behind / 1e6:.6g} s later", err=True)
    for note in found.notes:
        typer.echo(f"muntin: {note}", err=True)
    if len(shown) < len(found.rows):
        what = "--limit 0 prints all" if output is None else "without --limit all are written"
        typer.echo(f"muntin: the first {limit} rows; {what}", err=True)
