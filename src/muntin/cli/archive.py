"""``muntin archive``: probes, scans, figures, advice and migration of an archive; needs no JVM."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pyarrow as pa
import typer

from muntin.cli.failures import reported
from muntin.cli.show import Format, as_table, console, deliver, show
from muntin.core.errors import ConfigError

if TYPE_CHECKING:
    from muntin.archive.reader import Snapshot

archive = typer.Typer(help="Read and tend an archive: rows that expire, on disk.", no_args_is_help=True)

Place = Annotated[str, typer.Argument(metavar="ARCHIVE", help="The archive's directory or URI.")]
FormOption = Annotated[Format, typer.Option("--format", help="How to print the rows.")]
OutputOption = Annotated[Path | None, typer.Option("--output", "-o", help="Write the rows to this file instead.")]
LimitOption = Annotated[int, typer.Option(min=0, help="Rows to print, 0 for all.")]
AsOf = Annotated[str | None, typer.Option(help="Rows that live at this instant; default: the archive's time.")]
Since = Annotated[str | None, typer.Option(help="Rows of this time or later.")]
Until = Annotated[str | None, typer.Option(help="Rows of this time or earlier.")]


@archive.command()
def probe(
    place: Place,
    key: Annotated[str | None, typer.Argument(help="The search key.")] = None,
    null: Annotated[bool, typer.Option("--null", help="Rows whose key is NULL.")] = False,
    low: Annotated[str | None, typer.Option(help="Keys from this one on.")] = None,
    high: Annotated[str | None, typer.Option(help="Keys up to this one.")] = None,
    since: Since = None,
    until: Until = None,
    as_of: AsOf = None,
    form: FormOption = "table",
    output: OutputOption = None,
    limit: LimitOption = 50,
) -> None:
    """Live rows with a key, or with keys in a range."""
    with reported():
        if (key is not None) + null + (low is not None or high is not None) != 1:
            raise ConfigError("give a KEY, or --null, or --low and --high")
        keys: dict[str, Any] = {"key": None} if null else {"low": low, "high": high} if key is None else {"key": key}
        _answer(place, keys, {"since": since, "until": until, "as_of": as_of}, form, output, limit)


@archive.command()
def scan(
    place: Place,
    since: Since = None,
    until: Until = None,
    as_of: AsOf = None,
    form: FormOption = "table",
    output: OutputOption = None,
    limit: LimitOption = 50,
) -> None:
    """All live rows."""
    with reported():
        _answer(place, {}, {"since": since, "until": until, "as_of": as_of}, form, output, limit)


def _answer(
    place: str, keys: Mapping[str, Any], times: Mapping[str, Any], form: Format, output: Path | None, limit: int
) -> None:
    from muntin.archive.reader import place as files_of
    from muntin.archive.reader import reading_newest

    def ask(found: Snapshot) -> tuple[pa.Table, Snapshot]:
        design = found.manifest.design
        given = {
            k: _nan(v) if pa.types.is_floating(found.schema.field(design.key).type) else v for k, v in keys.items()
        }
        rows = found.read(found.wanted(**given, **times))
        return rows.sort_by([(design.key, "ascending"), (design.time, "ascending")]), found

    rows, found = reading_newest(files_of(place), ask)
    w = found.work
    work = (
        f"{rows.num_rows:,} rows as of {found.now}, version {found.manifest.version}; read {w.blocks} blocks "
        f"of {w.cells} sub-indices, {w.rows:,} rows, {w.bytes:,} bytes"
    )
    deliver(rows, form, output, 0 if output else limit, [work])


def _nan(value: Any) -> Any:
    return math.nan if isinstance(value, str) and value.lower() == "nan" else value


@archive.command()
def stats(
    place: Place,
    form: Annotated[Literal["table", "json"], typer.Option("--format", help="How to show it.")] = "table",
    files: Annotated[bool, typer.Option("--files", help="Only the data files, one a line, for other readers.")] = False,
) -> None:
    """What an archive holds: design, time, sub-indices, what the last update did."""
    with reported():
        from muntin.archive import snapshot

        found = snapshot(place)
        if files:
            for path in found.paths():
                typer.echo(path)
            return
        told = found.stats()
        if form == "json":
            typer.echo(json.dumps(told, indent=1))
            return
        cells = told.pop("cells")
        out = console(sys.stdout)
        for name, value in told.items():
            out.print(f"{name}: {value}")
        if cells:
            out.print(as_table(pa.Table.from_pylist(cells), "Sub-indices"))


@archive.command()
def advise(
    place: Place,
    probes: Annotated[float, typer.Option(min=0, help="One-key requests between two updates.")],
    scans: Annotated[float, typer.Option(min=0, help="Requests for everything between two updates.")] = 0.0,
    form: Annotated[Format, typer.Option("--format", help="How to show it.")] = "table",
) -> None:
    """Which layout would be cheapest under so many requests: bytes moved, by estimate."""
    with reported():
        from muntin.archive import advice, snapshot

        found = snapshot(place)
        estimates = advice.advise(advice.workload(found.manifest, probes, scans))
        show(pa.Table.from_pylist(advice.table(estimates)), form)
        now, best = str(found.manifest.design.layout), str(estimates[0].layout)
        typer.echo(f"muntin: it is {now}; cheapest by estimate: {best}", err=True)


@archive.command()
def migrate(
    place: Place,
    layout: Annotated[str, typer.Argument(help="GxE, as 3x3, or a wave index, as R-ins4.")],
    order: Annotated[
        Literal["round_robin", "chronological", "random"], typer.Option(help="How times go to partitions.")
    ] = "round_robin",
    update: Annotated[
        Literal["rebuild", "norebuild"], typer.Option(help="Cluster sub-indices anew in an update, or not.")
    ] = "rebuild",
    how: Annotated[
        Literal["rebuild", "roll_over"], typer.Option(help="Move all rows now, or let the old index empty out.")
    ] = "rebuild",
) -> None:
    """Go over to another layout, while readers go on. No writer may be running."""
    with reported():
        from muntin.archive import open_archive
        from muntin.archive.layout import layout_of

        found = open_archive(place)
        found.migrate(layout_of(layout, order, update), how)
        typer.echo(f"muntin: version {found.manifest.version} is {found.design.layout}", err=True)
