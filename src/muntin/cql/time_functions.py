"""Functions of dates and timestamps: parts of a date, of the clock, cutting to a unit, and other zones' clocks.

What they make is in UTC; ``cql.zones`` moves it to the query's zone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from muntin.core.zones import zone_name
from muntin.cql import zones
from muntin.cql.coerce import coerce
from muntin.cql.operators import TypeClash, describe
from muntin.cql.types import TIMESTAMP, TIMESTAMP_NTZ, family
from muntin.plan.exprs import Call, Expr, Literal

DATE_PARTS = ("year", "quarter", "month", "day", "dayofweek", "dayofyear", "weekofyear")
CLOCK_PARTS = ("hour", "minute", "second")
_EXTRACTED = {
    "yr": "year", "y": "year", "years": "year", "qtr": "quarter", "mon": "month", "months": "month", "d": "day",
    "days": "day", "dow": "dayofweek", "doy": "dayofyear", "week": "weekofyear", "w": "weekofyear", "hr": "hour",
    "hours": "hour", "min": "minute", "minutes": "minute",
}  # fmt: skip
UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond", "microsecond")
_UNITS = {"yyyy": "year", "yy": "year", "mon": "month", "mm": "month", "dd": "day"} | {u: u for u in UNITS}


def date_of(e: Expr, name: str) -> Expr:
    """``e`` as a date."""
    if family(e.type) not in ("date", "timestamp", "null"):
        raise TypeClash(f"{name.upper()} takes a date or a timestamp, not {describe(e)}; write CAST(... AS TIMESTAMP)")
    return coerce(e, pa.date32())


def time_of(e: Expr, name: str) -> Expr:
    """``e`` as a timestamp, with or without zone."""
    if family(e.type) not in ("date", "timestamp", "null"):
        raise TypeClash(f"{name.upper()} takes a timestamp, not {describe(e)}; write CAST(... AS TIMESTAMP)")
    return e if family(e.type) == "timestamp" else coerce(e, TIMESTAMP)


def part(name: str) -> Callable[[Sequence[Expr]], Expr]:
    """The builder of a part of a date or of the clock."""
    of = date_of if name in DATE_PARTS else time_of
    return lambda args: Call(name, (of(args[0], name),), pa.int32())


def extract(unit: str, e: Expr) -> Expr:
    """``EXTRACT(unit FROM e)``."""
    name = _EXTRACTED.get(unit.lower(), unit.lower())
    if name in ("second", "seconds", "s", "sec"):
        raise TypeClash("EXTRACT(SECOND ...) with its fraction is not supported: SECOND(t) gives the whole seconds")
    if name not in DATE_PARTS + CLOCK_PARTS:
        raise TypeClash(f"EXTRACT takes {', '.join(DATE_PARTS + CLOCK_PARTS[:2])}, not {unit}")
    return part(name)([e])


def date_trunc(unit: str, e: Expr) -> Expr:
    """``DATE_TRUNC(unit, e)``, a timestamp."""
    known = _UNITS.get(unit.lower())
    if known is None:
        raise TypeClash(f"DATE_TRUNC takes one of {', '.join(UNITS)}, not {unit!r}")
    at = coerce(time_of(e, "date_trunc"), TIMESTAMP)
    return Call("date_trunc", (Literal(known.upper(), pa.string()), at), TIMESTAMP)


def add_months(e: Expr, months: int) -> Expr:
    """``t + INTERVAL n MONTH``: of a date a date, of a timestamp one of the same kind."""
    if family(e.type) not in ("date", "timestamp", "null"):
        raise TypeClash(f"an INTERVAL of months is added to a date or a timestamp, not to {describe(e)}")
    if not -_MOST_MONTHS <= months <= _MOST_MONTHS:
        raise TypeClash(f"an INTERVAL has at most {_MOST_MONTHS} months here")
    e = coerce(e, TIMESTAMP) if family(e.type) == "null" else e
    return Call("add_months", (e, Literal(months, pa.int32())), e.type)


_MOST_MONTHS = 120_000
_UTC = Literal("UTC", pa.string())


def at_time_zone(args: Sequence[Expr]) -> Expr:
    """``t AT TIME ZONE zone``: of a timestamp what the zone's clock shows, of one without zone the instant."""
    return zones.at_time_zone(time_of(args[0], "at time zone"), _zone_of(args[1], "AT TIME ZONE"))


def from_utc_timestamp(args: Sequence[Expr]) -> Expr:
    """Spark's: a timestamp moved by the offset of the zone."""
    shown = zones.at_time_zone(_instant_of(args[0], "from_utc_timestamp"), _zone_of(args[1], "FROM_UTC_TIMESTAMP"))
    return zones.at_time_zone(shown, _UTC)


def to_utc_timestamp(args: Sequence[Expr]) -> Expr:
    """Spark's: the inverse of ``from_utc_timestamp``."""
    shown = zones.at_time_zone(_instant_of(args[0], "to_utc_timestamp"), _UTC)
    return zones.at_time_zone(shown, _zone_of(args[1], "TO_UTC_TIMESTAMP"))


def convert_timezone(args: Sequence[Expr]) -> Expr:
    """Spark's ``convert_timezone([from, ]to, t)``: a clock's reading as another zone's clock shows it then."""
    *given, t = args
    clocks = [_zone_of(z, "CONVERT_TIMEZONE") for z in given]
    shown = coerce(time_of(t, "convert_timezone"), TIMESTAMP_NTZ)
    at = zones.at_time_zone(shown, clocks[0]) if len(clocks) > 1 else coerce(shown, TIMESTAMP)
    return zones.at_time_zone(at, clocks[-1])


def _instant_of(e: Expr, name: str) -> Expr:
    return coerce(e if family(e.type) == "string" else time_of(e, name), TIMESTAMP)


def _zone_of(e: Expr, name: str) -> Literal:
    if not (isinstance(e, Literal) and isinstance(e.value, str)):
        raise TypeClash(f"{name} takes a zone as plain text, as 'Europe/Rome', not {describe(e)}")
    return Literal(zone_name(e.value) or "UTC", pa.string())
