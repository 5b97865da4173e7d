"""``muntin explain --analyze``: the query run over the files in this process, every operator counted."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from muntin.cli.job import Source
from muntin.cli.streams import Inputs
from muntin.core.errors import ConfigError
from muntin.core.time import ALWAYS
from muntin.plan.catalog import Stream

if TYPE_CHECKING:
    from muntin.physical.stage import PhysicalQuery
    from muntin.plan.nodes import BoundQuery

BATCHES = 50
"""Pieces that each stream is cut into, as a live pipeline would bring it."""


def analyze(bound: BoundQuery, physical: PhysicalQuery, inputs: Inputs, form: str) -> str:
    """EXPLAIN with what a run measured. Raises ConfigError for an input that pyarrow cannot read by itself."""
    from muntin.local.runtime import LocalPipeline
    from muntin.physical.explain import explain_as
    from muntin.physical.explain_measure import measuring

    batches = _batches(physical.streams, inputs)
    pipeline = LocalPipeline(physical)
    with measuring(pipeline.states) as found:
        start = time.perf_counter()
        results = [len(pipeline.push(batch)) for batch in batches] + [len(pipeline.finish())]
        found.seconds = time.perf_counter() - start
    found.batches, found.results = len(batches), sum(results)
    return explain_as(form, bound, physical, measured=found)


def _batches(streams: tuple[Stream, ...], inputs: Inputs) -> list[dict[str, pa.Table]]:
    """Rows of each stream in order of time, cut into pieces; tables come whole, in the first."""
    tables = {t.name: t for t in inputs.tables}
    batches: list[dict[str, pa.Table]] = [{} for _ in range(BATCHES)]
    for stream in streams:
        if stream.name in tables:
            batches[0][stream.name] = _feed(tables[stream.name], stream)
            continue
        part = next(s for s in inputs.streams if s.name == stream.name)
        rows = _ordered(_read(part, stream), stream)
        marks = np.linspace(0, len(rows), BATCHES + 1).astype(int)
        for batch, low, high in zip(batches, marks[:-1], marks[1:], strict=True):
            batch[stream.name] = rows.slice(low, high - low)
    return batches


def _read(part: Source, stream: Stream) -> pa.Table:
    if part.format != "parquet" or part.path is None or "://" in part.path:
        raise ConfigError(f"{part.name}: --analyze reads local Parquet files; this one needs Spark")
    names = [n for n in stream.schema.names if not n.startswith("__")]
    rows = ds.dataset(part.path, format="parquet").to_table(columns=names)
    return rows.cast(pa.schema([f for f in stream.schema.to_arrow() if f.name in names]))


def _ordered(rows: pa.Table, stream: Stream) -> pa.Table:
    return rows.take(pc.sort_indices(rows, [(stream.ts, "ascending")]))


def _feed(part: Source, stream: Stream) -> pa.Table:
    """A table's rows as updates that were always there."""
    rows = _read(part, stream)
    at = pa.array(np.full(len(rows), ALWAYS, np.int64))
    return rows.append_column("__at", at).append_column("__add", pa.array(np.ones(len(rows), bool)))
