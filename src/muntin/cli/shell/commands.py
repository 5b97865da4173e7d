"""What a statement or a command does. Results go to standard output, or to a file; all else to standard error."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer
from rich.table import Column
from rich.table import Table as Shown

from muntin.cli.failures import CONTEXT
from muntin.cli.output import output_kind
from muntin.cli.shell.sources import Asked, Files
from muntin.cli.shell.statements import Command, Statement, split
from muntin.cli.show import Format, console, deliver, told
from muntin.cli.streams import Inputs, parse_stream, parse_table
from muntin.core.errors import ConfigError
from muntin.cql.parameters import parameters_of, typed, with_parameters
from muntin.cql.types import to_spark
from muntin.dataflow.explain import asked as explained
from muntin.plan.catalog import Stream, Table

DEEPEST = 16
"""So many files may run one another."""

HELP = (
    ("SELECT ...;", "a query: it ends with a semicolon, and may take several lines"),
    ("EXPLAIN [ANALYZE] SELECT ...;", "its plan; ANALYZE runs it and counts"),
    (r"\d", "streams and tables, and their columns"),
    (r"\d NAME", "the columns of one, and their types"),
    (r"\stream NAME PATH COLUMN", "a stream of a file or a directory, and its column of event time;"),
    ("", "as --stream of muntin sql, too: NAME=PATH:COLUMN;ts_unit=ms"),
    (r"\table NAME PATH", "a table that never changes"),
    (r"\set NAME VALUE", "the value of :NAME in queries; without VALUE: none any more; without NAME: lists them"),
    (r"\limit N", "how many rows are shown, 0 for all"),
    (r"\format table|csv|json", "how rows are shown"),
    (r"\o FILE", "the next answer goes whole into this file (.parquet, .csv, .json); without FILE: it is shown"),
    (r"\i FILE", "the statements and commands of a file"),
    (r"\timing", "say how long each statement takes, or stop it"),
    (r"\?", "this help"),
    (r"\q", "leave (also Ctrl-D); Ctrl-C ends the statement that runs, or empties the line"),
)


class Leave(Exception):
    """``\\q``."""


@dataclass
class Shell:
    """``asked``: who answers. The rest is what commands set; ``output``: where the next answer goes."""

    asked: Asked
    limit: int = 50
    form: Format = "table"
    output: Path | None = None
    timing: bool = False
    parameters: dict[str, Any] = field(default_factory=dict)
    _depth: int = 0

    def run(self, text: str, origin: str = "") -> str:
        """Do all that is whole in a text, and give back what is left. ``origin``: the file that it is of.

        Raises Leave, and what a statement raises: then what comes after it is not done.
        """
        found, rest = split(text)
        for item in found:
            if isinstance(item, Command):
                self.command(item)
            else:
                self.statement(item, origin)
        return rest

    def statement(self, statement: Statement, origin: str = "") -> None:
        """Answer a query, or explain it."""
        lines = "\n" * statement.line if origin else ""  # so that messages name the lines of the file
        asked = parameters_of(statement.text)  # one that is set and not asked for is no error here
        missing = sorted(asked - self.parameters.keys())
        if missing:
            raise ConfigError(rf"parameter :{missing[0]} has no value; \set {missing[0]} VALUE gives it one")
        used = {name: value for name, value in self.parameters.items() if name in asked}
        text = CONTEXT.reading(with_parameters(lines + statement.text, used), origin)
        started, found = time.perf_counter(), explained(text)
        if found.explain:
            typer.echo(self.asked.explain(found.text, found.analyze))
        else:
            self._answer(text)
        if self.timing:
            told(f"{time.perf_counter() - started:.3f} s")

    def _answer(self, text: str) -> None:
        if self.output is not None:
            path, self.output = self.output, None
            for line in self.asked.write(text, path):
                told(line)
            return
        answer = self.asked.ask(text, self.limit)
        deliver(answer.rows, self.form, None, self.limit, (), r"\limit 0 shows all")
        if self.form == "table" and not 0 < self.limit < len(answer.rows):
            told(f"{len(answer.rows):,} row{'' if len(answer.rows) == 1 else 's'}")
        for note in answer.notes:
            told(note)

    def command(self, command: Command) -> None:
        """Do what a command says. Raises ConfigError where there is none of its name."""
        argument = command.argument.removesuffix(";").rstrip()
        match command.name.rstrip(";"):
            case "q" | "quit":
                raise Leave
            case "?" | "h" | "help":
                self._help()
            case "d":
                self._describe(argument)
            case "timing":
                self.timing = not self.timing
                told(f"timing is {'on' if self.timing else 'off'}")
            case "i":
                self._file(argument)
            case "o":
                self._output(argument)
            case "stream" | "table":
                self._add(command.name, argument)
            case "set":
                self._set(argument)
            case "limit":
                if not argument.isdecimal():
                    raise ConfigError(rf"\limit {argument}: write a number of rows, 0 for all")
                self.limit = int(argument)
            case "format":
                self._format(argument)
            case other:
                raise ConfigError(rf"there is no command \{other}; \? lists them")

    def _help(self) -> None:
        width = max(len(what) for what, _ in HELP)
        for what, says in HELP:
            typer.echo(f"  {what:{width}}  {says}")

    def _describe(self, name: str) -> None:
        catalog = self.asked.catalog()
        known: list[Stream | Table] = [*catalog.streams, *catalog.tables]
        if not name:
            places = self.asked.places()
            table = Shown("name", "kind", "event time", "columns", Column("from", overflow="fold"), header_style="bold")
            for s in known:
                columns = ", ".join(s.schema.names)
                table.add_row(s.name, _kind(s), s.ts if isinstance(s, Stream) else "", columns, places.get(s.name, ""))
            console().print(table if known else r"nothing yet: \stream NAME PATH COLUMN names one")
            return
        found = next((s for s in known if s.name.lower() == name.lower()), None)
        if found is None:
            there = ", ".join(s.name for s in known) or "none yet"
            raise ConfigError(f"there is no stream or table {name!r}; there are: {there}")
        table = Shown("column", "type", "", title=f"{_kind(found)} {found.name}", title_justify="left")
        for f in found.schema:
            is_time = isinstance(found, Stream) and f.name == found.ts
            table.add_row(f.name, to_spark(f.type), "event time" if is_time else "")
        console().print(table)

    def _file(self, name: str) -> None:
        if not name:
            raise ConfigError(r"\i: name a file of statements")
        if self._depth >= DEEPEST:
            raise ConfigError(rf"\i {name}: files run one another, more than {DEEPEST} deep")
        try:
            text = Path(name).expanduser().read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as e:
            reason = e.strerror if isinstance(e, OSError) else "it is not UTF-8 text"
            raise ConfigError(rf"\i {name}: cannot read it: {reason}") from None
        self._depth += 1
        try:
            rest = self.run(text, name)
        finally:
            self._depth -= 1
        if rest.strip():
            raise ConfigError(rf"\i {name}: its last statement does not end with ;")

    def _output(self, name: str) -> None:
        path = Path(name).expanduser() if name else None
        if path is not None:
            output_kind(path)
            told(f"the next answer goes to {path}")
        self.output = path

    def _add(self, kind: str, argument: str) -> None:
        if not isinstance(self.asked, Files):
            raise ConfigError(rf"\{kind}: the shell asks a checkpoint, which has streams of its own; \d lists them")
        words = argument.split()
        spelled = len(words) > 1 and "=" not in words[0]  # NAME PATH [COLUMN], as opposed to NAME=PATH:COLUMN;...
        if kind == "stream":
            text = f"{words[0]}={' '.join(words[1:-1])}:{words[-1]}" if spelled else argument
            new = Inputs(streams=(parse_stream(text),))
        else:
            text = f"{words[0]}={' '.join(words[1:])}" if spelled else argument
            new = Inputs(tables=(parse_table(text),))
        self.asked.add(new)
        self._describe((*new.streams, *new.tables)[0].name)

    def _set(self, argument: str) -> None:
        name, _, value = argument.replace("=", " ", 1).partition(" ")
        if not name:
            for key, held in self.parameters.items():
                typer.echo(f":{key} = {held!r}")
        elif not name.isidentifier():
            raise ConfigError(rf"\set {argument}: write \set NAME VALUE, as in \set carrier AA")
        elif value.strip():
            self.parameters[name] = typed(value.strip())
        else:
            self.parameters.pop(name, None)

    def _format(self, argument: str) -> None:
        match argument:
            case "table" | "csv" | "json":
                self.form = argument
            case _:
                raise ConfigError(rf"\format {argument}: it is table, csv or json")


def _kind(described: Stream | Table) -> str:
    return "stream" if isinstance(described, Stream) else f"{described.kind} table"
