"""Whom the shell asks: files, read in this process, or the windows of a pipeline that goes on."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from muntin.cli.in_process import Opened, first_rows, needs_spark, open_inputs, progress, replay_of, warned
from muntin.cli.job import SessionPart, Source
from muntin.cli.live import when
from muntin.cli.output import write_rows
from muntin.cli.streams import Inputs
from muntin.core.errors import ConfigError
from muntin.cql.binder import bind
from muntin.dataflow.explain import explain_as
from muntin.dataflow.planner import plan_query
from muntin.engine.answer import ordered
from muntin.local.replay import feeds_of
from muntin.plan.catalog import Catalog
from muntin.plan.nodes import BoundQuery
from muntin.plan.user_functions import ScalarFunction
from muntin.plan.windows import QueryOptions


@dataclass(frozen=True)
class Answer:
    """``rows``: the first of the answer, one more than asked for where there are more; ``notes``: what is to be said
    beside them."""

    rows: pa.Table
    notes: tuple[str, ...] = ()


class Asked(Protocol):
    """What answers. All methods raise QueryError for a text and ConfigError for an input that is wrong."""

    def catalog(self) -> Catalog:
        """What queries may name now."""
        ...

    def places(self) -> dict[str, str]:
        """Where the rows of a stream or table come from, by name."""
        ...

    def ask(self, text: str, limit: int) -> Answer:
        """The first ``limit`` rows (0: all) in order of time."""
        ...

    def write(self, text: str, path: Path) -> tuple[str, ...]:
        """Put all rows into a file, and what is to be said of it."""
        ...

    def explain(self, text: str, analyze: bool) -> str:
        """The plan of a text, after a run with counters if ``analyze``."""
        ...


@dataclass
class Files:
    """Local files by name; one that changes is read anew."""

    inputs: Inputs
    options: QueryOptions
    _opened: Opened | None = None
    _stamps: dict[str, Any] = field(default_factory=dict)

    def add(self, inputs: Inputs) -> None:
        """Take streams and tables in, in place of those of the same names. Raises ConfigError for what cannot be read
        in this process; then nothing changes."""
        reason = needs_spark(inputs, SessionPart())
        if reason is not None:
            raise ConfigError(f"the shell reads local files in this process, and {reason}")
        open_inputs(inputs)
        new = {p.name.lower() for p in (*inputs.streams, *inputs.tables)}
        streams = tuple(s for s in self.inputs.streams if s.name.lower() not in new) + inputs.streams
        tables = tuple(t for t in self.inputs.tables if t.name.lower() not in new) + inputs.tables
        self.inputs, self._opened = Inputs(streams, tables, self.inputs.functions + inputs.functions), None

    def catalog(self) -> Catalog:
        return self._open().catalog

    def places(self) -> dict[str, str]:
        return {p.name: p.path or "" for p in (*self.inputs.streams, *self.inputs.tables)}

    def ask(self, text: str, limit: int) -> Answer:
        with warned() as warnings:
            replay, notes = replay_of(text, self._open(), self.options)
            with progress(sys.stderr, "muntin") as replay.on_progress:
                rows = first_rows(replay.results(), replay.plan, limit)
        return Answer(rows, (*notes, *warnings, *replay.losses.lines()))

    def write(self, text: str, path: Path) -> tuple[str, ...]:
        """As they come: the answer may be larger than memory."""
        with warned() as warnings:
            replay, notes = replay_of(text, self._open(), self.options)
            with progress(sys.stderr, "muntin") as replay.on_progress:
                tables = (ordered(table, replay.plan) for table in replay.results() if len(table))
                written = write_rows(path, replay.plan.result_schema.to_arrow(), tables)
        return (_written(written, path), *notes, *warnings, *replay.losses.lines())

    def explain(self, text: str, analyze: bool) -> str:
        bound = self._bound(text)
        plan = plan_query(bound)
        if not analyze:
            return explain_as("text", bound, plan)
        from muntin.local.analyze import analyze as run

        return explain_as("text", bound, plan, measured=run(plan, feeds_of(plan, self._open().read)))

    def _bound(self, text: str) -> BoundQuery:
        return bind(text, self._open().catalog, self.options)

    def _open(self) -> Opened:
        stamps = {p.name: _stamp(p) for p in (*self.inputs.streams, *self.inputs.tables)}
        if self._opened is None or stamps != self._stamps:
            self._opened, self._stamps = open_inputs(self.inputs), stamps
        return self._opened


def _stamp(part: Source) -> list[tuple[str, int, int]]:
    """Names, times and sizes of the files of a part."""
    path = Path(part.path or "")
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    return [(str(f), (s := f.stat()).st_mtime_ns, s.st_size) for f in files if f.is_file()]


def _written(rows: int, path: Path) -> str:
    return f"{rows:,} rows in {path}"


@dataclass(frozen=True)
class Live:
    """The windows of a pipeline that goes on, after its last committed batch."""

    checkpoint: str
    functions: tuple[ScalarFunction, ...] = ()

    def catalog(self) -> Catalog:
        from muntin.session.one_time import checkpoint_catalog

        return checkpoint_catalog(self.checkpoint, self.functions)

    def places(self) -> dict[str, str]:
        return {}

    def ask(self, text: str, limit: int) -> Answer:
        from muntin.session.one_time import ask_checkpoint

        found = ask_checkpoint(self.checkpoint, text, functions=self.functions)
        rows = found.rows.slice(0, limit + 1) if limit else found.rows
        return Answer(rows, (when(found), *found.notes))

    def write(self, text: str, path: Path) -> tuple[str, ...]:
        answer = self.ask(text, 0)
        return (_written(write_rows(path, answer.rows.schema, [answer.rows]), path), *answer.notes)

    def explain(self, text: str, analyze: bool) -> str:
        if analyze:
            raise ConfigError("EXPLAIN ANALYZE runs a query over files; over a checkpoint there is EXPLAIN")
        bound = bind(text, self.catalog(), QueryOptions())
        return explain_as("text", bound, plan_query(bound))

