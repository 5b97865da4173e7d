"""Parts of dates (days since 1970) and timestamps (microseconds since 1970), cut to a unit, and on zones' clocks."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any

import pyarrow as pa

from muntin.core.calendar import Months
from muntin.reference.clocks import instant, moved, shown

_ZERO = datetime(1970, 1, 1)
_MICRO = timedelta(microseconds=1)
_DAY = 24 * 60 * 60 * 1_000_000


def _day(days: int) -> date:
    return date.fromordinal(date(1970, 1, 1).toordinal() + days)


def _at(micros: int) -> datetime:
    return _ZERO + timedelta(microseconds=micros)


def _dated(part: Callable[[date], int]) -> Callable[..., int]:
    return lambda _, days: part(_day(days))


def _clock(part: Callable[[datetime], int]) -> Callable[..., int]:
    return lambda _, micros: part(_at(micros))


def _truncated(type_: Any, unit: str, micros: int, zone: str | None = None) -> int:
    """On the zone's clock; where the result comes twice, at the offset of ``micros`` if it can (below a week)."""
    reading = _cut(unit, shown(micros, zone))
    fine = unit not in ("WEEK", "MONTH", "QUARTER", "YEAR")
    return instant(reading, zone, beside=micros if fine else None)


def _months_later(type_: pa.DataType, at: int, months: int, zone: str | None = None) -> int:
    """On the zone's clock; where the result comes twice, at the offset of ``at`` if it can."""
    if pa.types.is_date(type_):
        return moved(at * _DAY, Months(months)) // _DAY
    return instant(moved(shown(at, zone), Months(months)), zone, beside=at)


def _at_time_zone(type_: pa.DataType, at: int, zone: str) -> int:
    return shown(at, zone) if type_.tz is None else instant(at, zone)


def _cut(unit: str, micros: int) -> int:
    t = _at(micros)
    midnight = datetime(t.year, t.month, t.day)
    match unit:
        case "MICROSECOND":
            found = t
        case "MILLISECOND":
            found = t.replace(microsecond=t.microsecond // 1000 * 1000)
        case "SECOND":
            found = t.replace(microsecond=0)
        case "MINUTE":
            found = t.replace(second=0, microsecond=0)
        case "HOUR":
            found = t.replace(minute=0, second=0, microsecond=0)
        case "DAY":
            found = midnight
        case "WEEK":
            found = midnight - timedelta(days=t.weekday())
        case "MONTH":
            found = datetime(t.year, t.month, 1)
        case "QUARTER":
            found = datetime(t.year, (t.month - 1) // 3 * 3 + 1, 1)
        case _:
            found = datetime(t.year, 1, 1)
    return (found - _ZERO) // _MICRO


TIMES: dict[str, Callable[..., int]] = {
    "year": _dated(lambda d: d.year),
    "quarter": _dated(lambda d: (d.month + 2) // 3),
    "month": _dated(lambda d: d.month),
    "day": _dated(lambda d: d.day),
    "dayofweek": _dated(lambda d: d.isoweekday() % 7 + 1),
    "dayofyear": _dated(lambda d: d.timetuple().tm_yday),
    "weekofyear": _dated(lambda d: d.isocalendar().week),
    "hour": _clock(lambda t: t.hour),
    "minute": _clock(lambda t: t.minute),
    "second": _clock(lambda t: t.second),
    "date_trunc": _truncated,
    "add_months": _months_later,
    "at_time_zone": _at_time_zone,
}
