"""Source rows made ready for a level without Spark: event time in microseconds, the filter, the shipped columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from muntin.core.errors import DataError
from muntin.core.time import USABLE
from muntin.core.watermark import Header
from muntin.engine.rows import TS
from muntin.operators.compute import project
from muntin.operators.source import Source
from muntin.plan.catalog import Stream
from muntin.scalars.evaluate import predicate_mask


@dataclass(frozen=True)
class Arrived:
    """One source's rows of a batch with usable event times (``ts``, microseconds), and what they say of progress."""

    rows: pa.RecordBatch
    ts: NDArray[np.int64]
    header: Header


def event_times(column: pa.Array, unit: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Microseconds, and which of them are usable (not NULL, inside +-``USABLE``).

    Timestamps of any zone, or integers counted in ``unit`` microseconds.
    """
    if pa.types.is_timestamp(column.type):
        column, unit = column.cast(pa.timestamp("us", column.type.tz)), 1
    raw = pc.fill_null(column.cast(pa.int64()), USABLE).to_numpy(zero_copy_only=False)
    good = (raw > -USABLE // unit) & (raw < USABLE // unit)
    return np.where(good, raw, 0) * unit if unit != 1 or not good.all() else raw, good


def bad_time(stream: Stream, row: int, partition: int) -> DataError:
    """The error of a row without a usable event time where the stream does not let it pass."""
    return DataError(
        f"stream {stream.name!r}: row {row} of partition {partition} has no usable event time "
        f"(column {stream.ts!r} is NULL, unreadable or beyond reach); mend the data, or register the "
        'stream with on_bad_time="drop" to count and skip such rows'
    )


def arrive(stream: Stream, rows: pa.RecordBatch, source: int, partition: int = 0) -> Arrived:
    """Read the event times; rows without one are dropped and counted, or refused, as the stream says."""
    ts, good = event_times(rows.column(stream.ts), stream.ts_unit)
    bad = len(ts) - int(good.sum())
    if bad and stream.on_bad_time == "fail":
        raise bad_time(stream, int(np.argmin(good)), partition)
    if bad:
        rows, ts = rows.take(pa.array(np.flatnonzero(good))), ts[good]
    header = Header(source, partition, len(ts), bad=bad)
    if len(ts):
        header = Header(source, partition, len(ts), int(ts.min()), int(ts.max()), int(np.median(ts)), bad)
    return Arrived(rows, ts, header)


def ship(source: Source, arrived: Arrived) -> pa.RecordBatch:
    """A source's rows as they leave: its columns and their event time."""
    mask = predicate_mask(source.keep, arrived.rows)
    kept = np.flatnonzero(mask)
    columns = project(source.columns, arrived.rows.take(pa.array(kept)))
    arrays = [*columns.columns, pa.array(arrived.ts[kept])]
    return pa.RecordBatch.from_arrays(arrays, names=[n for n, _ in source.columns] + [TS])
