"""Wall clocks, one instant at a time, by ``zoneinfo``: what the engine computes with arrays in ``core.zones``."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from muntin.core.calendar import Months, Span

_ZERO = datetime(1970, 1, 1)
_MICRO = timedelta(microseconds=1)
_DAY = 24 * 60 * 60 * 1_000_000


def rules(zone: str) -> tzinfo:
    """The zone of a name, or of an offset as ``+05:30``."""
    offset = re.fullmatch(r"([+-])(\d\d):(\d\d)", zone)
    if not offset:
        return ZoneInfo(zone)
    return timezone(int(f"{offset[1]}1") * timedelta(hours=int(offset[2]), minutes=int(offset[3])))


def shown(at: int, zone: str | None) -> int:
    """What the zone's clock shows at an instant, as if it were UTC; None: UTC."""
    return at if zone is None else (_there(at, zone).replace(tzinfo=None) - _ZERO) // _MICRO


def _there(at: int, zone: str) -> datetime:
    return (_ZERO.replace(tzinfo=UTC) + at * _MICRO).astimezone(rules(zone))


def instant(reading: int, zone: str | None, beside: int | None = None) -> int:
    """The instant of a reading: the first of two; in a gap what the offset before it gives.

    ``beside``: of two take the one of the offset that holds at this instant.
    """
    if zone is None:
        return reading
    local = (_ZERO + reading * _MICRO).replace(tzinfo=rules(zone))
    found = [(local.replace(fold=f).astimezone(UTC).replace(tzinfo=None) - _ZERO) // _MICRO for f in (0, 1)]
    same = [t for t in found if beside is not None and shown(t, zone) - t == shown(beside, zone) - beside]
    return next((t for t in same if shown(t, zone) == reading), found[0])


def wall(at: int, zone: str | None) -> int:
    """What a clock shows that never goes back: while an hour comes a second time it stands at its end."""
    if zone is None or not _there(at, zone).fold:
        return shown(at, zone)
    earlier = instant(shown(at, zone), zone)
    back = _least(lambda t: _there(t, zone).utcoffset() == _there(at, zone).utcoffset(), earlier, at)
    return shown(back - 1, zone) + 1


def read(at: int, zone: str | None) -> int:
    """The latest reading that the clock has shown so far."""
    found = wall(at, zone)
    return found if found == shown(at, zone) else found - 1


def reach(reading: int, zone: str | None) -> int:
    """The first instant at which the clock shows the reading or a later one."""
    found = instant(reading, zone)
    if shown(found, zone) == reading:
        return found
    return _least(lambda t: shown(t, zone) >= reading, found - 2 * _DAY, found)


def moved(reading: int, span: Span) -> int:
    """The reading later by a span; by months: on the same day of the month, or on the last one of a shorter month."""
    if isinstance(span, int):
        return reading + span
    at = _ZERO + reading * _MICRO
    month = at.year * 12 + at.month - 1 + span.count
    last = calendar.monthrange(month // 12, month % 12 + 1)[1]
    return (at.replace(year=month // 12, month=month % 12 + 1, day=min(at.day, last)) - _ZERO) // _MICRO


def _multiple(reading: int, slide: Span, origin: int) -> int:
    """The last multiple (from ``origin``) that is not after the reading."""
    if isinstance(slide, int):
        return reading - (reading - origin) % slide
    start, now = _ZERO + origin * _MICRO, _ZERO + reading * _MICRO
    months = (now.year - start.year) * 12 + now.month - start.month
    found = moved(origin, Months(months // slide.count * slide.count))
    return found if found <= reading else moved(found, Months(-slide.count))


def next_tick(t: int, slide: Span, origin: int, zone: str | None) -> int:
    """The first instant at or after ``t`` at which the clock shows a multiple (from ``origin``) for the first time."""
    reading = _multiple(shown(t, zone), slide, origin)
    while not (shown(found := instant(reading, zone), zone) == reading and found >= t):
        reading = moved(reading, slide)
    return found


def last_tick(t: int, slide: Span, origin: int, zone: str | None) -> int:
    """The last such instant at or before ``t``."""
    reading = _multiple(read(t, zone), slide, origin)
    while not (shown(found := instant(reading, zone), zone) == reading and found <= t):
        reading = moved(reading, -slide if isinstance(slide, int) else Months(-slide.count))
    return found


def _least(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The least instant in (low, high] for which ``holds``, which does from there on."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
