"""EXPLAIN ANALYZE: a query run over whole tables in this process, every operator counted."""

from __future__ import annotations

import time
from collections.abc import Mapping
from math import prod

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.dataflow.graph import QueryPlan
from muntin.engine.meter import LeftOut, Meter
from muntin.local.runtime import LocalPipeline
from muntin.plan.catalog import Stream

BATCHES = 50
"""Pieces that each stream is cut into, as a live pipeline would bring it."""


def analyze(physical: QueryPlan, rows: Mapping[str, pa.Table]) -> Meter:
    """Run the query over ``rows`` (by stream, in the stream's schema; any order) and count what its operators do."""
    batches = _batches(physical.streams, rows)
    meter = Meter()
    pipeline = LocalPipeline(physical, meter=meter)
    start = time.perf_counter()
    results = [len(pipeline.push(batch)) for batch in batches] + [len(pipeline.finish())]
    meter.seconds = time.perf_counter() - start
    meter.batches, meter.results = len(batches), sum(results)
    shed = [c for c in meter.counters.values() if c.shed]
    if shed:  # a result has a row of each window
        share = prod(c.rows_in / (c.rows_in + c.shed) for c in shed)
        meter.left_out[""] = LeftOut(sum(c.shed for c in shed), share)
    return meter


def _batches(streams: tuple[Stream, ...], rows: Mapping[str, pa.Table]) -> list[dict[str, pa.Table]]:
    """Rows of each stream in order of time, cut into pieces; static tables come whole, in the first."""
    batches: list[dict[str, pa.Table]] = [{} for _ in range(BATCHES)]
    for stream in streams:
        whole = rows[stream.name]
        if stream.static:
            batches[0][stream.name] = whole
            continue
        ordered = whole.take(pc.sort_indices(whole, [(stream.ts, "ascending")]))
        marks = np.linspace(0, len(ordered), BATCHES + 1).astype(int)
        for batch, low, high in zip(batches, marks[:-1], marks[1:], strict=True):
            batch[stream.name] = ordered.slice(low, high - low)
    return batches
