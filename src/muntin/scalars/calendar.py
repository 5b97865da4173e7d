"""Parts of dates and timestamps over Arrow columns, and timestamps cut to a unit; all in UTC."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.scalars.cast import Value, convert, micros

Function = Callable[[Sequence[Value], pa.DataType], Value]
_SECOND = 1_000_000


def _date(part: Callable[[Value], Value]) -> Function:
    return lambda args, kind: convert(part(args[0]), kind)


def _clock(unit: int, cycle: int) -> Function:
    """Whole units of ``unit`` microseconds since the last multiple of ``cycle`` units."""

    def run(args: Sequence[Value], kind: pa.DataType) -> Value:
        at = micros(args[0])
        array = pa.repeat(at, 1) if isinstance(at, pa.Scalar) else at
        since = array.fill_null(0).to_numpy(zero_copy_only=False) // unit % cycle
        found = pa.array(since.astype(np.int32), kind, mask=np.asarray(array.is_null()))
        return found[0] if isinstance(at, pa.Scalar) else found

    return run


def _truncated(args: Sequence[Value], kind: pa.DataType) -> Value:
    unit = args[0] if isinstance(args[0], pa.Scalar) else args[0][0] if len(args[0]) else pa.scalar("DAY")
    return convert(pc.floor_temporal(convert(args[1], kind), unit=unit.as_py().lower()), kind)


TABLE: Mapping[str, Function] = {
    "year": _date(pc.year),
    "quarter": _date(pc.quarter),
    "month": _date(pc.month),
    "day": _date(pc.day),
    "dayofweek": _date(lambda d: pc.day_of_week(d, count_from_zero=False, week_start=7)),
    "dayofyear": _date(pc.day_of_year),
    "weekofyear": _date(pc.iso_week),
    "hour": _clock(3600 * _SECOND, 24),
    "minute": _clock(60 * _SECOND, 60),
    "second": _clock(_SECOND, 60),
    "date_trunc": _truncated,
}
