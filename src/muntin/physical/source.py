"""Source rows made ready for a stage without Spark: event time in microseconds, the filter, the shipped columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.errors import DataError
from muntin.core.watermark import Header
from muntin.kernels.hashing import as_int64, validity_of
from muntin.physical.evaluate import predicate_mask
from muntin.physical.operators.compute import project
from muntin.physical.shard import TS
from muntin.physical.stage import SourceInput
from muntin.plan.catalog import Stream


@dataclass(frozen=True)
class Arrived:
    """One source's rows of a batch with usable event times (``ts``, microseconds), and what they say of progress."""

    rows: pa.RecordBatch
    ts: NDArray[np.int64]
    header: Header


def arrive(stream: Stream, rows: pa.RecordBatch, source: int, partition: int = 0) -> Arrived:
    """Read the event times; rows without one are dropped and counted, or refused, as the stream says."""
    column = rows.column(stream.ts)
    if pa.types.is_timestamp(column.type):
        ts = as_int64(column.cast(pa.timestamp("us", column.type.tz)))
    else:
        ts = as_int64(column) * stream.ts_unit
    valid = validity_of(column)
    bad = int((~valid).sum()) if len(valid) else 0
    if bad and stream.on_bad_time == "fail":
        row = int(np.flatnonzero(~valid)[0])
        raise DataError(
            f"stream {stream.name!r}: row {row} of partition {partition} has no event time in column {stream.ts!r}. "
            "Mend the data, or register the stream with on_bad_time='drop' to leave such rows out"
        )
    if bad:
        rows, ts = rows.take(pa.array(np.flatnonzero(valid))), ts[valid]
    header = Header(source, partition, len(ts), bad=bad)
    if len(ts):
        header = Header(source, partition, len(ts), int(ts.min()), int(ts.max()), int(np.median(ts)), bad)
    return Arrived(rows, ts, header)


def ship(source: SourceInput, arrived: Arrived) -> pa.RecordBatch:
    """The rows of one input as they travel (``shard.wire_schema``)."""
    mask = predicate_mask(source.keep, arrived.rows)
    kept = np.flatnonzero(mask)
    columns = project(source.columns, arrived.rows.take(pa.array(kept)))
    arrays = [*columns.columns, pa.array(arrived.ts[kept])]
    return pa.RecordBatch.from_arrays(arrays, names=[n for n, _ in source.columns] + [TS])
