"""The newest rows of a query, read back from where its sink put them."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from muntin.dataflow.graph import QueryPlan
from muntin.spark import files
from muntin.spark.sinks import Sink

BATCHES = 20
"""Batches that are looked through for rows, from the newest back."""


def newest_rows(sink: Sink, plan: QueryPlan, limit: int) -> pa.Table | None:
    """At most ``limit`` rows, in order of time; None for sinks other than ``memory`` and Parquet files.

    Cost: the newest batches that have so many rows, at most ``BATCHES`` of them.
    """
    batches: Iterator[pa.Table]
    if sink.keeps_rows:
        batches = (sink.memory[b] for b in sorted(sink.memory, reverse=True))
    elif sink.format == "parquet" and sink.foreach_batch is None and sink.path is not None:
        batches = _written(sink.path)
    else:
        return None
    found: list[pa.Table] = []
    for _, rows in zip(range(BATCHES), batches, strict=False):
        found.insert(0, rows)
        if sum(map(len, found)) >= limit:
            break
    whole = pa.concat_tables(found) if found else plan.result_schema.to_arrow().empty_table()
    ordered = whole.sort_by(plan.time_column)
    return ordered.slice(max(0, len(ordered) - limit))


def _written(path: str) -> Iterator[pa.Table]:
    """The batches of a directory of Parquet files, from the newest back."""
    numbers = [n.removeprefix("batch=") for n in files.names(path) if n.startswith("batch=")]
    for number in sorted((int(n) for n in numbers if n.isdigit()), reverse=True):
        folder = files.join(path, f"batch={number}")
        system, inside = files.resolve(folder)
        parts = [i for i in files.names(folder) if i.endswith(".parquet")]
        tables = [pq.read_table(f"{inside}/{name}", filesystem=system, partitioning=None) for name in sorted(parts)]
        if tables:
            yield pa.concat_tables(tables)
