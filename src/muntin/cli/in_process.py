"""``muntin sql`` without Spark: the query over local files in this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TextIO
from warnings import catch_warnings

import pyarrow as pa
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from muntin.cli.job import SessionPart
from muntin.cli.streams import Inputs, form_of
from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.cql.user_functions import with_functions
from muntin.dataflow.graph import QueryPlan
from muntin.dataflow.planner import plan_query
from muntin.engine.answer import ordered
from muntin.local.query import open_stream, open_table
from muntin.local.readers import Input
from muntin.local.replay import OnProgress, Replay
from muntin.plan.catalog import Catalog, Stream, Table
from muntin.plan.windows import QueryOptions


def needs_spark(inputs: Inputs, session: SessionPart) -> str | None:
    """Why inputs cannot be read in this process as Spark would read them; None where they can."""
    if session.conf:
        return f"[session] has conf ({next(iter(session.conf))})"
    for table in inputs.tables:
        if table.kind != "static":
            return f"table {table.name!r} changes"
    for part in (*inputs.streams, *inputs.tables):
        if part.format not in ("parquet", "csv", "json"):
            return f"{part.name!r} has format {part.format}"
        if part.path is None or "://" in part.path:
            return f"{part.name!r} is no local file"
        if part.columns:
            return f"{part.name!r} has columns that are expressions of Spark's"
        if part.table_schema is not None:
            return f"{part.name!r} has a schema in Spark's words"
        if form_of(part) is None:
            return f"{part.name!r} has options of Spark's reader, or none where text is to be read as Spark reads it"
    return None


@dataclass(frozen=True)
class Opened:
    """Local inputs: what queries may name, and by name the rows and their schema."""

    catalog: Catalog
    read: Mapping[str, tuple[Input, Schema]]


def open_inputs(inputs: Inputs) -> Opened:
    """Read what there is to know of local files (of CSV and JSON all). Raises ConfigError."""
    read: dict[str, tuple[Input, Schema]] = {}
    streams: list[Stream] = []
    tables: list[Table] = []
    for s in inputs.streams:
        read[s.name], stream = open_stream(
            s.name, s.path, s.ts, s.ts_unit, s.on_bad_time, len(streams), form_of(s),
            order_by=s.order_by, rate=s.rate, sample=s.sample,
        )  # fmt: skip
        streams.append(stream)
    for t in inputs.tables:
        read[t.name] = open_table(t.name, t.path, form_of(t))
        tables.append(Table(t.name, read[t.name][1]))
    return Opened(with_functions(Catalog(tuple(streams), tuple(tables)), inputs.functions), read)


def replay_of(text: str, opened: Opened, options: QueryOptions) -> tuple[Replay, tuple[str, ...]]:
    """The planned query over its files, and what its author may not have meant. Raises QueryError."""
    bound = bind(text, opened.catalog, options)
    return Replay(plan_query(bound), opened.read), tuple(n.text for n in bound.notes if not n.endless)


@contextmanager
def warned() -> Iterator[list[str]]:
    """What a replay warns of, as lines for the user: whole when it is over."""
    lines: list[str] = []
    with catch_warnings(record=True, action="always", category=UserWarning) as found:
        yield lines
    lines += [str(w.message) for w in found]


def first_rows(results: Iterator[pa.Table], plan: QueryPlan, limit: int) -> pa.Table:
    """The first ``limit`` rows and one more if there is one (all for 0), in the order of ``ordered``. All results are
    taken, so that what was dropped is counted; only the first are kept."""
    kept: list[pa.Table] = []
    for table in results:
        if not limit or sum(map(len, kept)) <= limit:
            kept.append(ordered(table, plan))
    rows = pa.concat_tables(kept)
    return rows.slice(0, limit + 1) if limit else rows


@contextmanager
def progress(out: TextIO, label: str) -> Iterator[OnProgress | None]:
    """What a replay calls to show a bar of the rows that are done: on a terminal alone, None elsewhere."""
    if not out.isatty():
        yield None
        return
    words = TextColumn("{task.description} {task.completed:,.0f} of {task.total:,.0f} rows")
    columns = (words, BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=out), transient=True) as bar:
        task = bar.add_task(label, total=None, visible=False)

        def moved_on(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, visible=True)

        yield moved_on
