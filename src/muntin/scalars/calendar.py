"""Parts of dates and timestamps over Arrow columns, timestamps cut to a unit, and the clocks of zones.

In UTC, but where an argument names another zone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from muntin.core.calendar import add_months
from muntin.core.time import DAY, HOUR, MINUTE
from muntin.core.zones import Zone
from muntin.scalars.cast_rules import Value, convert, micros
from muntin.scalars.clocks import clock, constant, instant, on_micros, shown

Function = Callable[[Sequence[Value], pa.DataType], Value]
_SECOND = 1_000_000
_BY_CLOCK = {"MINUTE": MINUTE, "HOUR": HOUR, "DAY": DAY}


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
    unit, at = constant(args[0]) or "DAY", convert(args[1], kind)
    zone = clock(args[2] if len(args) > 2 else None)
    if unit in _BY_CLOCK:
        return on_micros(at, kind, lambda t: _cut(t, zone, _BY_CLOCK[unit]))
    if unit in ("MICROSECOND", "MILLISECOND", "SECOND"):
        return convert(pc.floor_temporal(at, unit=unit.lower()), kind)
    return convert(instant(pc.floor_temporal(shown(at, zone), unit=unit.lower()), zone), kind)


def _cut(at: NDArray[np.int64], zone: Zone, unit: int) -> NDArray[np.int64]:
    """Where the result comes twice it has the offset of the argument if it can (``java.time``, and so Spark)."""
    reading = zone.local(at)
    return zone.instant(reading - reading % unit, prefer=zone.offset(at))


def _at_time_zone(args: Sequence[Value], kind: pa.DataType) -> Value:
    zone = clock(args[1])
    return convert(shown(args[0], zone) if args[0].type.tz is not None else instant(args[0], zone), kind)


def _months_later(args: Sequence[Value], kind: pa.DataType) -> Value:
    months, zone = int(constant(args[1]) or 0), clock(args[2] if len(args) > 2 else None)
    if pa.types.is_date(kind):
        return convert(on_micros(args[0], pa.timestamp("us"), lambda t: add_months(t, months)), kind)
    return on_micros(args[0], kind, lambda t: zone.instant(add_months(zone.local(t), months), prefer=zone.offset(t)))


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
    "add_months": _months_later,
    "at_time_zone": _at_time_zone,
}
