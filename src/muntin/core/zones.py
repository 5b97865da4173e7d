"""Time zones: the wall clock of a zone, and back to instants, for whole arrays.

Instants are int64 microseconds since the epoch, UTC. A reading of the wall clock is int64 microseconds, too: what the
clock of the zone shows, counted as if it were UTC. A clock change skips readings or shows them twice:

* ``local`` is what the clock shows; ``instant`` its inverse. Of a reading that comes twice it takes the first, or the
  one of the given offset; a reading that is skipped moves on by the length of the gap (the rule of ``java.time`` and so
  of Spark).
* ``wall`` is a clock that never goes back: while readings come a second time it stands where it will go on. ``reach``
  is the first instant at which the zone's clock shows a reading or a later one. Both never decrease: windows are made
  of them.

Rules come from ``zoneinfo``: as written until 2100, and from there as they repeat every 400 years.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from math import gcd
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from muntin.core.calendar import Span, multiple_at_or_after, multiples
from muntin.core.time import DAY, FOREVER, MINUTE, Instants, ceil_to

_BEGIN = -(2**63)
_ZERO = datetime(1970, 1, 1)
_CYCLE = 146_097 * DAY
"""400 years: the Gregorian calendar repeats, weekdays included, and with it every rule."""
_REGULAR = (datetime(2100, 1, 1) - _ZERO) // timedelta(microseconds=1)
_RECENT = (datetime(1980, 1, 1) - _ZERO) // timedelta(microseconds=1)
_NAMES_OF_UTC = frozenset(
    f"{area}{name}" for area in ("", "etc/") for name in ("utc", "gmt", "z", "zulu", "uct", "universal", "greenwich")
)
_FIXED = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?([0-5]\d))?", re.IGNORECASE)


def zone_name(name: str | None) -> str | None:
    """The zone as plans keep it: None for every name of UTC, ``+05:30`` for a fixed offset however it is written.

    Raises ValueError for what is neither a name (``Europe/Rome``) nor an offset of up to 18 hours.
    """
    if name is None or name.strip().lower() in _NAMES_OF_UTC:
        return None
    found = _FIXED.fullmatch(name.strip())
    if found:
        name = f"{found[1]}{int(found[2]):02}:{found[3] or '00'}"
        if name.endswith("00:00"):
            return None
    zone(name.strip())
    return name.strip()


def zone(name: str | None) -> Zone:
    """The zone of a name of ``zone_name``. Raises ValueError if there is none. Cost: 0.2 s when it is first met."""
    try:
        return _zone(name)
    except (KeyError, OSError, ValueError):
        how = "zones have names as 'Europe/Rome', or are offsets as '+05:30'"
        raise ValueError(f"there is no time zone {name!r}: {how}") from None


@lru_cache(maxsize=64)
def _zone(name: str | None) -> Zone:
    fixed = _FIXED.fullmatch("+0" if name is None else name)
    if fixed:
        minutes = int(fixed[2]) * 60 + int(fixed[3] or 0)
        if minutes > 18 * 60:
            raise ValueError(name)
        offset = minutes * MINUTE * (-1 if fixed[1] == "-" else 1)
        starts, offsets = np.array([_BEGIN]), np.array([offset], np.int64)
    else:
        starts, offsets = _changes(ZoneInfo(str(name)))
    ends = starts[1:] + offsets[:-1]  # what the clock shows when a change ends it
    floor = np.maximum.accumulate(np.concatenate([[_BEGIN], ends]))
    return Zone(starts, offsets, floor)


def _changes(rules: ZoneInfo) -> tuple[Instants, Instants]:
    """Instants from which each offset (microseconds east of UTC) holds; the first: since ever.

    Looks at every other day until 2100, at every fourth week later (no two changes come closer), and halves the
    distance around what differs: ``zoneinfo`` does not tell its table.
    """
    looks = [*_days("1840-01-01", "2100-01-01", 2), *_days("2100-01-01", "2501-01-01", 28)]
    offsets = np.array([_offset(rules, at) for at in looks])
    starts, found = [_BEGIN], [int(offsets[0])]
    for i in np.flatnonzero(np.diff(offsets)):
        starts.append((_bisect(rules, looks[i], looks[i + 1]) - _ZERO) // timedelta(microseconds=1))
        found.append(int(offsets[i + 1]))
    return np.array(starts, np.int64), np.array(found, np.int64)


def _days(first: str, end: str, step: int) -> list[datetime]:
    days = np.arange(np.datetime64(first), np.datetime64(end), np.timedelta64(step, "D"))
    return list(days.astype("datetime64[us]").astype(object))


def _offset(rules: ZoneInfo, at: datetime) -> int:
    """Microseconds east of UTC at ``at`` (naive, UTC)."""
    shown = rules.fromutc(at.replace(tzinfo=rules)).replace(tzinfo=None)
    return (shown - at) // timedelta(microseconds=1)


def _bisect(rules: ZoneInfo, low: datetime, high: datetime) -> datetime:
    """The second in (low, high] at which the offset of ``high`` begins."""
    new = _offset(rules, high)
    while high - low > timedelta(seconds=1):
        middle = low + timedelta(seconds=(high - low) // timedelta(seconds=2))
        low, high = (low, middle) if _offset(rules, middle) == new else (middle, high)
    return high


def tick_at_or_after(at: Instants, step: Span, origin: int, name: str | None) -> Instants:
    """The first multiple of ``step`` (from ``origin``) at or after each of ``at``, on the clock of a zone (None: UTC).

    FOREVER stays. See ``Zone.ceil``.
    """
    return ceil_to(at, step, origin) if name is None and isinstance(step, int) else zone(name).ceil(at, step, origin)


def ticks_between(low: int, high: int, step: Span, origin: int, name: str | None) -> Instants:
    """Every multiple in [low, high), ascending, as ``tick_at_or_after`` finds them. Cost: their number."""
    if name is None:
        return multiples(low, high, step, origin)
    clock = zone(name)
    begin, end = clock.wall(np.array([low, high], np.int64)).tolist()
    readings = multiples(begin, end + 1, step, origin)
    found = clock.reach(readings)
    return found[(clock.local(found) == readings) & (found >= low) & (found < high)]


@dataclass(frozen=True, eq=False)
class Zone:
    """Offset ``offsets[i]`` holds from instant ``starts[i]`` on; ``floor[i]``: what ``wall`` shows there at least."""

    starts: Instants
    offsets: Instants
    floor: Instants

    def local(self, at: Instants) -> Instants:
        """What the clock shows at instants."""
        at, cycles = _into_table(at)
        return at + self.offsets[self._period(at)] + cycles

    def offset(self, at: Instants) -> Instants:
        """Microseconds east of UTC at instants."""
        at, _ = _into_table(at)
        return self.offsets[self._period(at)]

    def instant(self, shown: Instants, prefer: Instants | None = None) -> Instants:
        """The instant of a reading; ``prefer``: the offset to take where it comes twice (else its first time)."""
        shown, cycles = _into_table(shown)
        first = self._first(shown)
        if prefer is not None:
            second = shown - prefer
            first = np.where(self.offsets[self._period(second)] == prefer, second, first)
        return first + cycles

    def _first(self, shown: Instants) -> Instants:
        """The first time of a reading; in a gap what the offset before it would give."""
        i = self._showing(shown)
        reached = np.maximum(shown - self.offsets[i], self.starts[i])
        in_gap = reached + self.offsets[i] != shown
        return np.where(in_gap, shown - self.offsets[np.maximum(i - 1, 0)], reached)

    def wall(self, at: Instants) -> Instants:
        """What the clock shows that stands still where the zone's goes back."""
        at, cycles = _into_table(at)
        i = self._period(at)
        return np.maximum(at + self.offsets[i], self.floor[i]) + cycles

    def reach(self, shown: Instants) -> Instants:
        """The first instant at which the clock shows each reading or a later one; FOREVER stays."""
        inside, cycles = _into_table(shown)
        i = self._showing(inside)
        return np.where(shown == FOREVER, FOREVER, np.maximum(inside - self.offsets[i], self.starts[i]) + cycles)

    def _showing(self, shown: Instants) -> NDArray[np.int64]:
        """The first period that shows each reading or a later one."""
        found: NDArray[np.int64] = np.searchsorted(self.floor, shown, "right") - 1
        return found

    def ceil(self, at: Instants, step: Span, origin: int = 0) -> Instants:
        """The first instant at or after each of ``at`` at which the clock shows a multiple of ``step`` (counted from
        the reading ``origin``) for the first time.

        A multiple that the clock skips is left out, one that it shows twice counts at its first. FOREVER stays.
        """
        ends = at == FOREVER
        shown = multiple_at_or_after(self.wall(np.where(ends, 0, at)), step, origin)
        found = self.reach(shown)
        while (skipped := self.local(found) != shown).any():
            shown = np.where(skipped, multiple_at_or_after(self.wall(found), step, origin), shown)
            found = self.reach(shown)
        return np.where(ends, FOREVER, found)

    def _period(self, at: Instants) -> NDArray[np.int64]:
        found: NDArray[np.int64] = np.searchsorted(self.starts, at, "right") - 1
        return found


@dataclass(frozen=True)
class Grid:
    """Instants among which are all multiples of some steps on a zone's clock: ``base`` and whole multiples of ``step``
    from there; up to ``since``, before which offsets differ by parts of a step, multiples of ``unit``."""

    step: int
    base: int
    since: int
    unit: int

    def ceil(self, at: Instants) -> Instants:
        """The first of them at or after instants."""
        end = ceil_to(at, self.step, self.base)
        return end if self.unit == self.step else np.where(at > self.since, end, ceil_to(at, self.unit, self.base))


@lru_cache(maxsize=256)
def grid_of(step: int, origin: int, name: str) -> Grid:
    """The coarsest grid of instants with the multiples of ``step`` (and of its multiples) from the reading ``origin``
    on a zone's clock, and all that lie whole steps from them. What clocks were changed by since 1980 divides it."""
    clock = zone(name)
    apart = clock.offsets - clock.offsets[-1]
    recent = np.append(clock.starts[1:] > _RECENT, True)
    fine = gcd(step, *apart[recent].tolist())
    odd = np.flatnonzero(apart % fine)
    base = (origin - int(clock.offsets[-1])) % fine
    if len(odd) == 0:
        return Grid(fine, base, _BEGIN, fine)
    since = int(clock.starts[odd[-1] + 1])
    return Grid(fine, base, since, gcd(fine, since - base, *apart.tolist()))


def _into_table(at: Instants) -> tuple[Instants, Instants]:
    """Times beyond the table moved into its last 400 years, and by how much."""
    beyond = at >= _REGULAR + _CYCLE
    if not beyond.any():
        return at, np.zeros(1, np.int64)
    cycles = np.where(beyond, (at - _REGULAR) // _CYCLE * _CYCLE, 0)
    return at - cycles, cycles
