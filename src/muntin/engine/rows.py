"""Rows as they travel between vertices, and as the user sees them.

A record batch's last columns are ours: ``__ts`` (int64: event time of a source row, start of an interval row, or
instant of a change), then for rows of operators ``__exp`` (int64), and ``__sign`` (int8) for signed ones.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

import numpy as np
import pyarrow as pa

from muntin.core.batch import Batch, no_columns
from muntin.core.time import FOREVER, NEVER
from muntin.dataflow.graph import Graph, QueryPlan, Vertex
from muntin.dataflow.routes import Keyed, Route, Split
from muntin.engine.clocks import Times
from muntin.engine.ordering import in_order
from muntin.kernels.hashing import buffer_values
from muntin.operators.joins.hot_keys import ROLE
from muntin.operators.source import Source
from muntin.plan.exprs import Column

INSTANT = pa.timestamp("us", "UTC")

TS, EXP, SIGN = "__ts", "__exp", "__sign"


def wire_schema(vertex: Vertex, route: Route) -> pa.Schema:
    """The Arrow schema in which rows of a vertex arrive on a route."""
    fields = list(vertex.schema)
    if isinstance(route, Split):
        fields.append(pa.field(ROLE, pa.int8()))
    fields.append(pa.field(TS, pa.int64()))
    if not vertex.is_source:
        fields.append(pa.field(EXP, pa.int64()))
        if vertex.signed:
            fields.append(pa.field(SIGN, pa.int8()))
    return pa.schema(fields)


def sent_schema(vertex: Vertex, route: Route) -> pa.Schema:
    """``wire_schema`` without the columns that say what the event time beside them does: a source's own event time in
    microseconds, unless rows are spread by it."""
    whole = wire_schema(vertex, route)
    if not isinstance(vertex.op, Source):
        return whole
    by = route.columns if isinstance(route, Keyed | Split) else ()
    own = {n for n, e in vertex.op.columns if isinstance(e, Column) and e.name == vertex.op.stream.ts} - set(by)
    return pa.schema([f for f in whole if f.name not in own or not _in_microseconds(f.type)])


def _in_microseconds(type: pa.DataType) -> bool:
    return pa.types.is_timestamp(type) and type.unit == "us"


def completed(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Rows in ``wire_schema`` that came in ``sent_schema``. Nothing is copied."""
    if rows.num_columns == len(schema):
        return rows
    there, ts = set(rows.schema.names), rows.column(TS)
    columns = [rows.column(f.name) if f.name in there else ts.view(f.type) for f in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def to_wire(vertex: Vertex, batch: Batch) -> pa.RecordBatch:
    """A vertex's rows as they leave; its columns of roles, which belong to where they came from, stay behind."""
    columns = [*batch.columns.select(vertex.schema.names).columns, pa.array(batch.ts), pa.array(batch.exp)]
    names = [*vertex.schema.names, TS, EXP]
    if vertex.signed:
        columns.append(pa.array(batch.sign))
        names.append(SIGN)
    return pa.RecordBatch.from_arrays(columns, names=names)


def from_wire(vertex: Vertex, rows: pa.RecordBatch) -> Batch:
    """Rows that arrived, in order of time. Source rows have their event time as both ends of validity."""
    names = [n for n in rows.schema.names if n not in (TS, EXP, SIGN)]
    columns = rows.select(names) if names else no_columns(rows.num_rows)
    ts = buffer_values(rows.column(TS), np.int64)
    if vertex.is_source:
        return Batch(columns, ts, ts)
    sign = buffer_values(rows.column(SIGN), np.int8) if vertex.signed else None
    return Batch(columns, ts, buffer_values(rows.column(EXP), np.int64), sign).in_time()


def results_of(graph: Graph, rows: Mapping[int, Batch], times: Times) -> Iterator[tuple[int, pa.RecordBatch]]:
    """(number of the plan, its answer as the user sees it) for every plan whose root is among ``rows`` (by vertex).

    Plans that show one vertex in one form differ in names alone: their answer is made once.
    """
    made: dict[Hashable, pa.RecordBatch] = {}
    for number, (plan, root) in enumerate(zip(graph.plans, graph.roots, strict=True)):
        if root not in rows:
            continue
        end, since = times.end_of(number), times.shown.get(number, NEVER)
        form = form_of(plan, root), end, since
        known = made.get(form)
        if known is None:
            made[form] = known = result_rows(plan, rows[root], end, since)
            yield number, known
        else:
            yield number, pa.RecordBatch.from_arrays(known.columns, schema=plan.result_schema.to_arrow())


def form_of(plan: QueryPlan, root: int) -> Hashable:
    """Equal for plans whose answers are equal but for the names of their columns."""
    return root, plan.shows_op, plan.options.exp, plan.shown, plan.order, plan.edges


def result_rows(plan: QueryPlan, rows: Batch, end: int = FOREVER, since: int = NEVER) -> pa.RecordBatch:
    """The answer as the user sees it (``plan.result_schema``), without what lies after ``end`` or before ``since``; an
    expiry that never comes is NULL."""
    rows = rows if end == FOREVER else rows.where(rows.ts <= end)
    rows = rows if since == NEVER else rows.where(rows.ts >= since)
    rows = in_order(rows, plan.order) if plan.order else rows
    kept = rows.columns.select(list(plan.shown)) if plan.shown else rows.columns
    schema = plan.result_schema.to_arrow()
    instant = INSTANT
    columns = list(kept.columns)
    for edge in plan.edges:
        columns.insert(edge.position, pa.array(edge.of(rows.ts)).view(instant))
    columns.append(pa.array(rows.ts).view(instant))
    if plan.shows_op:
        assert rows.sign is not None
        columns.append(pa.array(["-", "+"]).take(pa.array((rows.sign > 0).astype(np.int8))))
    if plan.options.exp:
        endless = rows.exp == FOREVER
        columns.append(pa.array(np.where(endless, 0, rows.exp), mask=endless).cast(instant))
    return pa.RecordBatch.from_arrays(columns, schema=schema)
