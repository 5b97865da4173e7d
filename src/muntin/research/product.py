"""Asking the product: a text over rows, on the local runtime and by the naive evaluator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import pyarrow as pa

from muntin.core.batch import Batch
from muntin.core.schema import Schema
from muntin.core.time import SECOND
from muntin.cql.binder import bind
from muntin.dataflow.graph import QueryPlan
from muntin.dataflow.planner import plan_query
from muntin.engine.meter import Counter, Meter
from muntin.local.runtime import LocalPipeline
from muntin.optimizer import settled
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.nodes import BoundQuery
from muntin.plan.windows import QueryOptions
from muntin.reference import ResultRow, run
from muntin.state.shard_state import ShardState

Rows = Mapping[str, Sequence[Mapping[str, int]]]
"""By stream name, rows in order of ``ts`` (whole seconds); every other column is an integer."""


@dataclass(frozen=True)
class Row:
    """A result row: the second it is of, '+' or '-' in a change stream, the query's values, its expiry in seconds
    if asked for."""

    ts: int
    op: str | None
    values: tuple[object, ...]
    exp: float | None = None


def catalog(**columns: str) -> Catalog:
    """Streams with a column ``ts`` in seconds and the integer columns that the text lists, as in ``S="a b"``."""
    streams = [
        Stream(name, Schema.of(ts=pa.int64(), **{c: pa.int64() for c in names.split()}), "ts", ts_unit=SECOND, order=i)
        for i, (name, names) in enumerate(columns.items())
    ]
    return Catalog(tuple(streams))


def bound(text: str, streams: Catalog, exp: bool = False) -> BoundQuery:
    """The query, bound; one granule is a second. ``exp``: results carry their expiry."""
    return bind(text, streams, QueryOptions(exp=exp, granule=SECOND))


def local(query: BoundQuery, rows: Rows, live: bool = False, until: int | None = None) -> list[Row]:
    """What the local runtime answers. ``live``: it is fed second by second, so that it cannot see what comes.

    ``until``: the last second that is answered; None: to the end of input.
    """
    plan = plan_query(query)
    return _drive(LocalPipeline(plan, 2), plan, rows, live, until)


@dataclass(frozen=True)
class Metered:
    """A run under a strategy: its changes, and what the meter counted of each vertex, by the operator's name."""

    strategy: str
    changes: list[Row]
    counters: tuple[tuple[str, Counter], ...]
    given_out: list[Row]
    """Interval rows, as '+', that the vertices of the watched operator gave out, each with its expiry."""

    def of(self, *operators: str) -> list[Counter]:
        """The counters of the vertices of these operators."""
        return [c for name, c in self.counters if name in operators]

    @property
    def plain(self) -> dict[str, object]:
        """For the JSON record."""
        kept = [(name, asdict(c)) for name, c in self.counters]
        return {f"{i} {name}": {k: v for k, v in c.items() if k != "seconds"} for i, (name, c) in enumerate(kept)}


def metered(
    query: BoundQuery,
    rows: Rows,
    strategy: str,
    live: bool = True,
    until: int | None = None,
    tables: Rows | None = None,
    watch: str = "",
) -> Metered:
    """``query`` under a strategy (upa, nt, direct, auto) on the local runtime, on one shard, counted. ``tables``: rows
    of a table's feed, with ``ts`` for when and ``__add`` for whether a row comes or goes. ``watch``: an operator whose
    output is recorded."""
    chosen = replace(query, options=replace(query.options, strategy=strategy))
    plan, meter = plan_query(chosen), Recorder()
    pipeline = LocalPipeline(plan, 1, meter)
    meter.watched = {i for i, v in enumerate(pipeline.graph.vertices) if type(v.op).__name__ == watch}
    found = _drive(pipeline, plan, {**rows, **(tables or {})}, live, until)
    named = [(type(v.op).__name__, meter.of(i)) for i, v in enumerate(pipeline.graph.vertices)]
    return Metered(settled(chosen).options.strategy, found, tuple(named), meter.rows)


class Recorder(Meter):
    """A meter that also keeps what the ``watched`` vertices give out."""

    def __init__(self) -> None:
        super().__init__()
        self.watched: set[int] = set()
        self.rows: list[Row] = []

    def count(self, vertex: int, shard: int, rows_in: int, out: Batch, state: ShardState, seconds: float) -> None:
        super().count(vertex, shard, rows_in, out, state, seconds)
        if vertex in self.watched:
            values = zip(*(c.to_pylist() for c in out.columns.columns), strict=True)
            times = zip(out.ts.tolist(), out.exp.tolist(), strict=True)
            self.rows += [Row(t // SECOND, "+", v, e / SECOND) for (t, e), v in zip(times, values, strict=True)]


def _drive(pipeline: LocalPipeline, physical: QueryPlan, rows: Rows, live: bool, until: int | None) -> list[Row]:
    exp = physical.options.exp
    found: list[Row] = []
    names = [s.name for s in physical.streams]

    def take(table: pa.Table) -> None:
        found.extend(_rows(table, len(physical.schema), physical.shows_op, exp))

    def batch(low: int | None, high: int | None) -> dict[str, pa.Table]:
        return {s.name: _table(s, rows.get(s.name, ()), low, high) for s in physical.streams}

    if live:
        for second in sorted({r["ts"] for n in names for r in rows.get(n, ())}):
            take(pipeline.heartbeat(second * SECOND))
            take(pipeline.push(batch(second, second)))
            take(pipeline.heartbeat(second * SECOND + 1))
    else:
        take(pipeline.push(batch(None, None)))
    take(pipeline.finish() if until is None else pipeline.heartbeat(until * SECOND + 1))
    return found


def naive(query: BoundQuery, rows: Rows, until: int | None = None) -> list[Row]:
    """What the naive evaluator answers (without expiry times)."""
    plain = replace(query, options=replace(query.options, exp=False))
    return [_naive_row(r) for r in run(plain, rows, None if until is None else until * SECOND)]


def snapshots(changes: Sequence[Row]) -> dict[int, list[tuple[object, ...]]]:
    """The answer after every second at which a change stream changes it, as a sorted bag."""
    answer: list[tuple[object, ...]] = []
    found: dict[int, list[tuple[object, ...]]] = {}
    for row in changes:
        if row.op == "+":
            answer.append(row.values)
        else:
            answer.remove(row.values)
        found[row.ts] = sorted(answer, key=repr)
    return found


def _table(stream: Stream, rows: Sequence[Mapping[str, int]], low: int | None, high: int | None) -> pa.Table:
    part = [r for r in rows if (low is None or r["ts"] >= low) and (high is None or r["ts"] <= high)]
    schema = stream.schema.to_arrow()
    return pa.table([pa.array([r[f.name] for r in part], f.type) for f in schema], schema=schema)


def _rows(table: pa.Table, width: int, shows_op: bool, shows_exp: bool) -> list[Row]:
    columns = [c.to_pylist() for c in table.columns[:width]]
    ts = [t // SECOND for t in table.columns[width].cast(pa.int64()).to_pylist()]
    ops = table.columns[width + 1].to_pylist() if shows_op else [None] * len(ts)
    last = table.columns[-1].cast(pa.int64()).to_pylist() if shows_exp else [None] * len(ts)
    exps = [None if e is None else e / SECOND for e in last]
    return [Row(t, op, tuple(c[i] for c in columns), e) for i, (t, op, e) in enumerate(zip(ts, ops, exps, strict=True))]


def _naive_row(row: ResultRow) -> Row:
    ts, op, values = row
    return Row(ts // SECOND, op, values)
