"""Which rows a window holds at an instant, and when rows come and go: straight from the definitions.

Deliberately not built on ``plan.windows.validity``: the engine computes when a row enters and leaves, this asks at
every instant whether the row is there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from muntin.core.calendar import Months, Span
from muntin.plan.windows import Now, QueryOptions, Range, Rows, Session, Unbounded, Window
from muntin.reference.clocks import last_tick, moved, next_tick, reach, read, wall
from muntin.reference.inputs import Event
from muntin.reference.values import canonical

_DAY = 24 * 60 * 60 * 1_000_000

Beat = tuple[Span, int, str | None]
"""(SLIDE, origin in microseconds), and the zone whose clock shows the multiples."""


def contents(window: Window, events: Sequence[Event], t: int, options: QueryOptions) -> list[Event]:
    """The events (given in order) that the window shows at instant ``t``."""
    if isinstance(window, Session):
        return [e for end, part in sessions(window, events) if end == t for e in part]
    if isinstance(window, Rows):
        t = t if window.every is None else last_tick(t, window.every, options.origin, options.zone)
        return [e for part in partitions(window, [e for e in events if e.ts <= t]) for e in _latest(window, part)]
    if isinstance(window, Range) and window.rows is not None:
        seen = [e for e in events if e.ts <= t]
        fired = len(seen) - len(seen) % window.rows
        return [e for e in seen if fired and holds(replace(window, rows=None), seen[fired - 1].ts, e.ts, options)]
    return [e for e in events if holds(window, t, e.ts, options)]


def sessions(window: Session, events: Sequence[Event]) -> Iterator[tuple[int, list[Event]]]:
    """When each session ends, and its events (given in order of time)."""
    for part in partitions(window, events):
        run: list[Event] = []
        for e in part:
            if run and e.ts - run[-1].ts > window.gap:
                yield run[-1].ts + window.gap, run
                run = []
            run.append(e)
        yield run[-1].ts + window.gap, run


def _latest(window: Rows, part: list[Event]) -> list[Event]:
    """The last rows of a partition, as of the last multiple of the window's SLIDE that its count has reached."""
    seen = part if window.slide is None else part[: len(part) - len(part) % window.slide]
    return seen[-window.count :]


def partitions(window: Rows | Session, events: Sequence[Event]) -> list[list[Event]]:
    """The events by the window's PARTITION BY columns; all in one part without them."""
    found: dict[tuple[Any, ...], list[Event]] = defaultdict(list)
    for e in events:
        found[tuple(canonical(e.values[_of(e, c)]) for c in window.by)].append(e)
    return list(found.values())


def _of(event: Event, column: str) -> str:
    """The column's name in the event: a window may name it with the alias that the scan gives it."""
    return column if column in event.values else column.split(".", 1)[-1]


def holds(window: Window, t: int, ts: int, options: QueryOptions) -> bool:
    """Whether a time window's contents at instant ``t`` include a row with event time ``ts``."""
    ts += later_by(window)
    match window:
        case Unbounded():
            return ts <= t
        case Now():
            return ts <= t < ts + options.granule
        case Range(length):
            beat = beat_of(window, options)
            own = t if beat is None else last_tick(t, *beat)
            if window.cumulative:
                return _holds_since(last_tick(own - 1, length, options.origin, options.zone), own, ts, options)
            if _by_ticks(window, options):
                assert beat is not None
                return _holds_since(last_tick(own - 1, *beat), own, ts, options)
            if isinstance(length, Months) or (options.zone is not None and length % _DAY == 0):
                return _holds_on_the_clock(length, own, ts, options)
            match options.bounds:
                case "half_open":
                    return own - length < ts <= own
                case "closed":
                    return own - length - options.granule < ts <= own
                case "start":
                    return own - length <= ts < own
    raise ValueError("which rows a window of rows holds depends on the others")


def later_by(window: Window) -> int:
    """The window's DELAY: a row is in it when one so much younger would be without."""
    return getattr(window, "delay", 0)


def _holds_since(before: int, own: int, ts: int, options: QueryOptions) -> bool:
    """Whether the row came since the instant before ``own``."""
    match options.bounds:
        case "half_open":
            return before < ts <= own
        case "closed":
            return before - options.granule < ts <= own
        case "start":
            return before <= ts < own


def _by_ticks(window: Range, options: QueryOptions) -> bool:
    """Whether the window holds what came since its instant before, however long that was."""
    return window.length == window.slide and (options.zone is not None or isinstance(window.length, Months))


def _holds_on_the_clock(length: Span, own: int, ts: int, options: QueryOptions) -> bool:
    """Whether the clock has not moved on by ``length`` since the row came."""
    over = read(own, options.zone) - moved(wall(ts, options.zone), length)
    match options.bounds:
        case "half_open":
            return ts <= own and over < 0
        case "closed":
            return ts <= own and over < options.granule
        case "start":
            return ts < own and over <= 0


def _leaves(window: Range, ts: int, options: QueryOptions) -> int:
    """The instant from which the window holds the row no more, SLIDE apart (with SLIDE: not after the tick at it)."""
    more = {"half_open": 0, "closed": options.granule, "start": 1}[options.bounds]
    if window.cumulative:
        return next_tick(ts + more, window.length, options.origin, options.zone) + 1
    if _by_ticks(window, options):
        beat = beat_of(window, options)
        assert beat is not None
        return next_tick(ts + more, *beat) + 1
    if isinstance(window.length, Months) or (options.zone is not None and window.length % _DAY == 0):
        return reach(moved(wall(ts, options.zone), window.length) + more, options.zone)
    return ts + window.length + more


def origin_of(window: Range, options: QueryOptions) -> int:
    """Where the multiples of SLIDE are counted from: under ``start`` the multiples are window starts, not ends."""
    return moved(options.origin, window.length) if options.bounds == "start" else options.origin


def last_of_month(window: Window, events: Sequence[Event], options: QueryOptions) -> list[Event]:
    """An event that stands for what may leave last: of several days that become the last of a shorter month, the
    earlier ones' rows may leave after the newest row, up to the end of that day."""
    if not events or not isinstance(window, Range) or window.rows is not None or not isinstance(window.length, Months):
        return []
    midnight = wall(max(e.ts for e in events) + later_by(window), options.zone) // _DAY * _DAY
    return [Event(reach(midnight, options.zone) - 1 - later_by(window), (-1, 0), {})]


@dataclass(frozen=True, slots=True)
class Visit:
    """A row's stay in a window, time SLIDE apart: ``leaves`` is None where it stays; ``own`` is the window's SLIDE."""

    event: Event
    enters: int
    leaves: int | None
    own: Beat | None = None


def visits(window: Window, events: Sequence[Event], options: QueryOptions) -> Iterator[Visit]:
    """The stay of every event (given in order of time); rows that a window of rows never shows are left out."""
    if isinstance(window, Session):
        for end, part in sessions(window, events):
            yield from (Visit(e, end, end + 1) for e in part)
        return
    if isinstance(window, Rows):
        for part in partitions(window, events):
            for visit in _row_visits(window, part):
                yield replace(visit, own=beat_of(window, options))
        return
    if isinstance(window, Range) and window.rows is not None:
        yield from _fired_visits(window, events, options)
        return
    own = beat_of(window, options)
    for e in events:
        at = e.ts + later_by(window)
        match window:
            case Unbounded():
                yield Visit(e, at, None)
            case Now():
                yield Visit(e, at, at + options.granule)
            case Range():
                yield Visit(e, at + (options.bounds == "start"), _leaves(window, at, options), own)


def _row_visits(window: Rows, part: list[Event]) -> Iterator[Visit]:
    step = window.slide or 1

    def reached(count: int) -> int | None:
        """The row that brings the count to a multiple of SLIDE at or above ``count``, by number; None if none has."""
        number = -(-count // step) * step
        return number if number <= len(part) else None

    for number, event in enumerate(part, 1):
        come, gone = reached(number), reached(number + window.count)
        if come is not None and come != gone:
            yield Visit(event, part[come - 1].ts, None if gone is None else part[gone - 1].ts)


def _fired_visits(window: Range, events: Sequence[Event], options: QueryOptions) -> Iterator[Visit]:
    """A window of time that moves when the count of rows is a multiple of its SLIDE."""
    fires = [e.ts for e in events[window.rows - 1 :: window.rows]]  # type: ignore[operator]
    for v in visits(replace(window, rows=None), events, options):
        assert v.leaves is not None
        come = next((f for f in fires if f >= v.enters), None)
        gone = next((f for f in fires if f >= v.leaves), None)
        if come is not None and come != gone:
            yield Visit(v.event, come, gone)


def beat_of(window: Window, options: QueryOptions) -> Beat | None:
    """The window's time SLIDE and where its multiples count from; None without one."""
    if isinstance(window, Range) and window.slide is not None:
        return window.slide, origin_of(window, options), options.zone
    if isinstance(window, Rows) and window.every is not None:
        return window.every, options.origin, options.zone
    return None


def instants(stays: Sequence[Visit], beats: Sequence[Beat], until: int | None, end: int | None) -> list[int]:
    """The instants at which a query over these stays has an answer, ascending; ``beats``: the SLIDEs of its windows.

    ``until`` None: time runs on to ``end`` and stops; else to ``until``, inclusive.
    """
    if not stays:
        return []
    if not beats:
        found = {v.enters for v in stays} | {v.leaves for v in stays if v.leaves is not None}
        return sorted(t for t in found if until is None or t <= until)
    first = min(v.enters for v in stays)
    end = until if until is not None else end
    assert end is not None
    return sorted({t for b in beats for t in _ticks(first, end, b)})


def _ticks(first: int, end: int, beat: Beat) -> Iterator[int]:
    t = next_tick(first, *beat)
    while t <= end:
        yield t
        t = next_tick(t + 1, *beat)


def shown_end(visit: Visit, beats: Sequence[Beat]) -> int:
    """The instant (with SLIDE the tick) that shows the last that a row does: its going from a finite window, its coming
    into any other."""
    last = visit.enters if visit.leaves is None else visit.leaves
    return min((next_tick(last, *b) for b in ([visit.own] if visit.own else beats)), default=last)
