"""What runs a case: a callable from a job to its result rows. The reference and the local runtime are here; any other
runtime is plugged in as one more callable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import pyarrow as pa

from muntin.core.time import ALWAYS
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.nodes import BoundQuery
from muntin.plan.windows import QueryOptions
from muntin.reference import ResultRow, Tables, run
from muntin.verify.arrow import from_table, to_table


@dataclass(frozen=True)
class Job:
    """A query and the rows to run it over.

    ``rows``: stream name -> rows in arrival order, ``ts`` in the stream's ``ts_unit``. ``late``: rows to feed after
    instant ``complete`` (microseconds) has been declared complete. ``until``: the last instant to answer
    (microseconds), time being moved on to it; None: the end of input. ``changes``: show the query's relation as a
    change stream whatever its own output is. ``tables``: by name the rows that are always there, and the updates
    (instant in microseconds, '+' or '-', row).
    """

    text: str
    catalog: Catalog
    options: QueryOptions
    rows: Mapping[str, Sequence[Mapping[str, Any]]]
    until: int | None = None
    changes: bool = False
    late: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    complete: int | None = None
    tables: Tables = field(default_factory=dict)

    def bind(self) -> BoundQuery:
        """The bound query. Raises QueryError, or UnsupportedError for what this version cannot run."""
        from muntin.cql.binder import bind

        query = bind(self.text, self.catalog, self.options)
        return replace(query, root=replace(query.root, kind="changes")) if self.changes else query


@dataclass(frozen=True)
class Outcome:
    """Names of the query's own columns, and rows: (instant in microseconds, '+'/'-' or None, values).

    Timestamp values are integers in microseconds, dates in days.
    """

    columns: tuple[str, ...]
    rows: Sequence[ResultRow]


class Runner(Protocol):
    """A runtime, as the verifier sees it. Raises UnsupportedError for a query that it cannot run."""

    def __call__(self, job: Job) -> Outcome: ...


def run_on_reference(job: Job) -> Outcome:
    """The naive evaluator. Late rows are left out: being dropped is what they are for."""
    query = job.bind()
    return Outcome(query.root.schema.names, run(query, job.rows, job.until, job.tables))


def run_on_local(job: Job, shards: int = 2) -> Outcome:
    """The local runtime: all rows in one batch, then the late rows in another."""
    from muntin.dataflow.planner import plan_query
    from muntin.local.runtime import LocalPipeline

    query = job.bind()
    physical = plan_query(query)
    pipeline = LocalPipeline(physical, shards)
    feeds = table_feeds(physical.streams, job)
    tables = [pipeline.push(_batch([s for s in physical.streams if s.name not in feeds], job.rows) | feeds)]
    if job.complete is not None:
        tables += [pipeline.heartbeat(job.complete + 1), pipeline.push(_batch(physical.streams, job.late))]
    tables.append(pipeline.finish() if job.until is None else pipeline.heartbeat(job.until + 1))
    rows = [r for t in tables for r in from_table(t, physical.schema, physical.shows_op)]
    return Outcome(physical.schema.names, rows)


def _batch(streams: Sequence[Stream], rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, pa.Table]:
    return {s.name: to_table(s, rows.get(s.name, ())) for s in streams}


def table_feeds(streams: Sequence[Stream], job: Job) -> dict[str, pa.Table]:
    """The updates of the query's tables as their feeds take them; rows that are always there come first of all."""
    found = {}
    for stream in streams:
        table = job.catalog.table(stream.name)
        if table is None or job.catalog.stream(stream.name) is not None:
            continue
        rows = [
            {**row[2], table.at: row[0], table.add: row[1] == "+"}
            if isinstance(row, tuple)
            else {**row, table.at: ALWAYS, table.add: True}
            for row in job.tables.get(table.name, ())
        ]
        found[stream.name] = to_table(stream, rows)
    return found
