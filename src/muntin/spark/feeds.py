"""What the JVM computes for each stream: every distinct filter and column once, whatever the number of queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from muntin.cql.spark_sql import to_spark_sql
from muntin.dataflow.stage import PhysicalQuery, SourceInput
from muntin.engine.shard import wire_schema
from muntin.plan.catalog import Stream
from muntin.plan.exprs import TRUE, Call, Column, Expr, conjunction, conjuncts
from muntin.plan.failing import any_may_fail
from muntin.spark.pack import NOW
from muntin.spark.spec import EVENT_TIME, Feed, Target

Shape = tuple[int, tuple[int, ...], tuple[int, ...], tuple[int, ...], bool, bool]
"""Filter, columns, those that must not be NULL, keys, whether every shard gets every row, whether hot keys are
split."""


@dataclass(frozen=True)
class StreamPlan:
    """The SELECT of one stream: ``exprs`` in order, and the feeds made of them."""

    exprs: tuple[str, ...]
    feeds: tuple[Feed, ...]


def plan_feeds(streams: Sequence[Stream], queries: Sequence[PhysicalQuery]) -> list[StreamPlan]:
    """One plan per stream; equal expressions and equal feeds are shared."""
    plans: list[StreamPlan] = []
    number = 0
    for position, stream in enumerate(streams):
        inputs = [(t, i) for t, i in source_inputs(queries) if i.stream.name == stream.name]
        plan = _plan_stream(position, inputs, number, [q.depths for q in queries])
        plans.append(plan)
        number += len(plan.feeds)
    return plans


def source_inputs(queries: Sequence[PhysicalQuery]) -> Iterator[tuple[Target, SourceInput]]:
    """Every input that reads a stream, with its address."""
    for q, query in enumerate(queries):
        for number, stage in enumerate(query.stages):
            for i, source in enumerate(stage.inputs):
                if isinstance(source, SourceInput):
                    yield Target(q, number, i), source


def _plan_stream(
    position: int, inputs: list[tuple[Target, SourceInput]], first: int, depths: Sequence[tuple[int, ...]]
) -> StreamPlan:
    exprs: dict[str, int] = {}
    shapes: dict[Shape, list[tuple[Target, SourceInput]]] = {}
    for target, source in inputs:
        predicate, present = _not_null(source)
        keep = -1 if predicate == TRUE else _place(_for_rows(predicate, TRUE, source.stream), exprs)
        columns = tuple(
            _place_column(_for_rows(e, source.keep, source.stream), source.stream, exprs) for _, e in source.columns
        )
        names = [n for n, _ in source.columns]
        keys = tuple(names.index(k) for k in source.shard_key)
        shape = (keep, columns, present, keys, source.everywhere, source.split)
        shapes.setdefault(shape, []).append((target, source))
    feeds = [
        Feed(
            number=first + k, stream=position, keep=keep, columns=columns, present=present, keys=keys,
            schema=wire_schema(found[0][1]), targets=tuple(t for t, _ in found),
            level=max(depths[t.query][t.stage] for t, _ in found), everywhere=everywhere, split=split,
        )
        for k, ((keep, columns, present, keys, everywhere, split), found) in enumerate(shapes.items())
    ]  # fmt: skip
    return StreamPlan(tuple(exprs), tuple(feeds))


def _not_null(source: SourceInput) -> tuple[Expr, tuple[int, ...]]:
    """The input's filter without its tests for NULL of columns that are shipped anyway, and the places of those."""
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


def _place_column(e: Expr, stream: Stream, exprs: dict[str, int]) -> int:
    return EVENT_TIME if isinstance(e, Column) and e.name == stream.ts else _place(e, exprs)


def _place(e: Expr, exprs: dict[str, int]) -> int:
    text = to_spark_sql(e)
    return exprs.setdefault(text, len(exprs))


def quoted(name: str) -> str:
    """A column name as Spark SQL text."""
    return "`" + name.replace("`", "``") + "`"


BATCH_TIME = "unix_micros(current_timestamp())"
"""Processing time, fixed per micro-batch. It is a constant in the code that Spark generates, which is then compiled
anew in every batch: read only where an answer depends on it."""


def select(df: DataFrame, stream: Stream, plan: StreamPlan, timed: bool) -> DataFrame:
    """The stream as the packer takes it: event time, if ``timed`` processing time, expressions."""
    now = [F.expr(BATCH_TIME).alias(NOW)] if timed else []
    computed = [F.expr(text).alias(f"e{i}") for i, text in enumerate(plan.exprs)]
    return df.select(F.col(quoted(stream.ts)).alias("__ts"), *now, *computed)
