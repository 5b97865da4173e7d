"""How long an operation takes on this machine: a short measured run (Ayad & Naughton's costs per tuple, measured)."""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa

from muntin.core.schema import Schema
from muntin.core.time import SECOND
from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_query
from muntin.engine.meter import Meter
from muntin.local.runtime import LocalPipeline
from muntin.plan.catalog import Catalog, Stream

TEXT = "SELECT l.k, COUNT(*) AS n FROM l [RANGE 10 SECONDS], r [RANGE 10 SECONDS] WHERE l.k = r.k GROUP BY l.k"
ROWS, BATCHES = 20_000, 6


def seconds_per_operation() -> float:
    """Processor seconds that one operation of the meter takes on one core: a join and an aggregate over batches of
    ``ROWS`` rows; the first ones, in which kernels are loaded and windows fill, do not count. About two seconds."""
    columns = Schema.of(ts=pa.int64(), k=pa.int64())
    catalog = Catalog(tuple(Stream(n, columns, "ts", ts_unit=SECOND, order=i) for i, n in enumerate("lr")))
    meter = Meter()
    pipeline = LocalPipeline(plan_query(bind(TEXT, catalog)), 1, meter)
    rng = np.random.default_rng(1)
    before, began = 0, time.process_time()
    for b in range(BATCHES):
        if b == BATCHES // 2:
            before, began = sum(c.work for c in meter.counters.values()), time.process_time()
        ts = np.full(ROWS, 5 * b)
        pipeline.push({n: pa.table({"ts": ts, "k": rng.integers(0, ROWS, ROWS)}) for n in "lr"})
    done = sum(c.work for c in meter.counters.values()) - before
    return (time.process_time() - began) / max(done, 1)
