"""What the JVM computes for each stream: every distinct filter and column once, whatever the number of queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import Column as Computed
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from muntin.cql.spark_sql import to_spark_sql
from muntin.dataflow.graph import Graph
from muntin.engine.rows import sent_schema, wire_schema
from muntin.operators.source import Source
from muntin.plan.catalog import Stream
from muntin.plan.exprs import TRUE, Call, Column, Expr, Literal, computed_here, conjunction, conjuncts
from muntin.plan.failing import any_may_fail
from muntin.spark.late import ROW
from muntin.spark.pack import NOW
from muntin.spark.spec import EVENT_TIME, Feed


@dataclass(frozen=True)
class StreamPlan:
    """The SELECT of one stream: ``exprs`` by place, and the feeds made of them and of what packers compute of those
    (``computed``, by place)."""

    exprs: tuple[tuple[int, str], ...]
    feeds: tuple[Feed, ...]
    computed: tuple[tuple[int, Expr], ...] = ()


def plan_feeds(streams: Sequence[Stream], graph: Graph) -> list[StreamPlan]:
    """One plan per stream; equal expressions are computed once."""
    plans: list[StreamPlan] = []
    for position, stream in enumerate(streams):
        exprs = Places({})
        feeds = []
        for number, channel in enumerate(graph.channels):
            vertex = graph.vertices[channel.vertex]
            if isinstance(vertex.op, Source) and vertex.op.stream.name == stream.name:
                predicate, present = _not_null(vertex.op)
                keep = -1 if predicate == TRUE else _place(_for_rows(predicate, TRUE, stream), exprs)
                columns = tuple(
                    _place_column(_for_rows(e, vertex.op.keep, stream), stream, exprs) for _, e in vertex.op.columns
                )
                way = channel.route
                schema, sent = wire_schema(vertex, way), sent_schema(vertex, way)
                feeds.append(Feed(number, position, keep, columns, schema, sent, way, channel.level, present))
        plans.append(StreamPlan(tuple(exprs.texts()), tuple(feeds), tuple(exprs.computed())))
    return plans


def _not_null(source: Source) -> tuple[Expr, tuple[int, ...]]:
    """The source's filter without its tests for NULL of columns that are shipped anyway, and the places of those."""
    shipped = [e for _, e in source.columns]
    rest: list[Expr] = []
    present: list[int] = []
    for part in conjuncts(source.keep):
        match part:
            case Call("is_not_null", (e,)) if e in shipped:
                present.append(shipped.index(e))
            case _:
                rest.append(part)
    return conjunction(rest), tuple(present)


def _for_rows(e: Expr, keep: Expr, stream: Stream) -> Expr:
    """The expression for the rows that count: one that fails for a row which is filtered out, or has no event time, is
    no error."""
    if not any_may_fail(e):
        return e
    ts = next(f for f in stream.schema if f.name == stream.ts)
    timed = Call("is_not_null", (Column(ts.name, ts.type),), pa.bool_())
    return Call("only", (conjunction([timed, *conjuncts(keep)]), e), e.type)


def _place_column(e: Expr, stream: Stream, exprs: Places) -> int:
    return EVENT_TIME if isinstance(e, Column) and e.name == stream.ts else _place(e, exprs)


@dataclass(frozen=True)
class Places:
    """Columns of one stream by what they are: texts for the JVM, expressions for the packer."""

    of: dict[str | Expr, int]

    def texts(self) -> Iterator[tuple[int, str]]:
        """(place, text) of what the JVM computes."""
        return ((place, e) for e, place in self.of.items() if isinstance(e, str))

    def computed(self) -> Iterator[tuple[int, Expr]]:
        """(place, expression) of what the packer computes."""
        return ((place, e) for e, place in self.of.items() if not isinstance(e, str))


def _place(e: Expr, exprs: Places) -> int:
    found = _over_columns(e, exprs) if computed_here(e) else to_spark_sql(e)
    return exprs.of.setdefault(found, len(exprs.of))


def _over_columns(e: Expr, exprs: Places) -> Expr:
    """An expression that Spark SQL cannot compute, over columns of the JVM: whatever in it can be, and cannot fail for
    a row that is not asked about."""
    match e:
        case Literal():
            return e
        case Call() if computed_here(e) or any_may_fail(e):
            return replace(e, args=tuple(_over_columns(a, exprs) for a in e.args))
        case _:
            return Column(f"e{_place(e, exprs)}", e.type)


def quoted(name: str) -> str:
    """A column name as Spark SQL text."""
    return "`" + name.replace("`", "``") + "`"


BATCH_TIME = "unix_micros(current_timestamp())"
"""Processing time, fixed per micro-batch. It is a constant in the code that Spark generates, which is then compiled
anew in every batch: read only where an answer depends on it."""


def select(df: DataFrame, stream: Stream, plan: StreamPlan, timed: bool, row: Computed | None = None) -> DataFrame:
    """The stream as the packer takes it: event time, if ``timed`` processing time, expressions, and if late rows are
    wanted the ``row`` as it came."""
    now = [F.expr(BATCH_TIME).alias(NOW)] if timed else []
    computed = [F.expr(text).alias(f"e{i}") for i, text in plan.exprs]
    whole = [] if row is None else [row.alias(ROW)]
    return df.select(F.col(quoted(stream.ts)).alias("__ts"), *now, *computed, *whole)
