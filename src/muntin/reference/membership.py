"""Which rows a window holds at an instant, and when rows come and go: straight from the definitions.

Deliberately not built on ``plan.windows.validity``: the engine computes when a row enters and leaves, this asks at
every instant whether the row is there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from muntin.plan.windows import Now, QueryOptions, Range, Rows, Unbounded, Window
from muntin.reference.inputs import Event
from muntin.reference.values import canonical

Beat = tuple[int, int]
"""(SLIDE, origin) in microseconds."""


def contents(window: Window, events: Sequence[Event], t: int, options: QueryOptions) -> list[Event]:
    """The events (given in order) that the window shows at instant ``t``."""
    if isinstance(window, Rows):
        t = t if window.every is None else last_tick(t, window.every, options.origin)
        return [e for part in partitions(window, [e for e in events if e.ts <= t]) for e in _latest(window, part)]
    if isinstance(window, Range) and window.rows is not None:
        seen = [e for e in events if e.ts <= t]
        fired = len(seen) - len(seen) % window.rows
        return [e for e in seen if fired and holds(replace(window, rows=None), seen[fired - 1].ts, e.ts, options)]
    return [e for e in events if holds(window, t, e.ts, options)]


def _latest(window: Rows, part: list[Event]) -> list[Event]:
    """The last rows of a partition, as of the last multiple of the window's SLIDE that its count has reached."""
    seen = part if window.slide is None else part[: len(part) - len(part) % window.slide]
    return seen[-window.count :]


def partitions(window: Rows, events: Sequence[Event]) -> list[list[Event]]:
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
    match window:
        case Unbounded():
            return ts <= t
        case Now():
            return ts <= t < ts + options.granule
        case Range(length, slide):
            own = t if slide is None else last_tick(t, slide, origin_of(window, options))
            match options.bounds:
                case "half_open":
                    return own - length < ts <= own
                case "closed":
                    return own - length - options.granule < ts <= own
                case "start":
                    return own - length <= ts < own
    raise ValueError("which rows a window of rows holds depends on the others")


def origin_of(window: Range, options: QueryOptions) -> int:
    """Where the multiples of SLIDE are counted from: under ``start`` the multiples are window starts, not ends."""
    return options.origin + (window.length if options.bounds == "start" else 0)


def last_tick(t: int, slide: int, origin: int) -> int:
    """The last multiple of ``slide`` (from ``origin``) at or before ``t``."""
    return t - (t - origin) % slide


def next_tick(t: int, slide: int, origin: int) -> int:
    """The first multiple of ``slide`` (from ``origin``) at or after ``t``."""
    return t + (origin - t) % slide


@dataclass(frozen=True, slots=True)
class Visit:
    """A row's stay in a window, time SLIDE apart: ``leaves`` is None where it stays; ``own`` is the window's SLIDE."""

    event: Event
    enters: int
    leaves: int | None
    own: Beat | None = None

    def shown(self) -> Visit:
        """The stay as the window's own SLIDE shows it."""
        if self.own is None:
            return self
        leaves = None if self.leaves is None else next_tick(self.leaves, *self.own)
        return replace(self, enters=next_tick(self.enters, *self.own), leaves=leaves)


def visits(window: Window, events: Sequence[Event], options: QueryOptions) -> Iterator[Visit]:
    """The stay of every event (given in order of time); rows that a window of rows never shows are left out."""
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
        match window:
            case Unbounded():
                yield Visit(e, e.ts, None)
            case Now():
                yield Visit(e, e.ts, e.ts + options.granule)
            case Range(length):
                match options.bounds:
                    case "half_open":
                        yield Visit(e, e.ts, e.ts + length, own)
                    case "closed":
                        yield Visit(e, e.ts, e.ts + length + options.granule, own)
                    case "start":
                        yield Visit(e, e.ts + 1, e.ts + length + 1, own)


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
        return window.slide, origin_of(window, options)
    if isinstance(window, Rows) and window.every is not None:
        return window.every, options.origin
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
    return sorted({t for slide, origin in beats for t in range(next_tick(first, slide, origin), end + 1, slide)})


def shown_end(visit: Visit, beats: Sequence[Beat]) -> int:
    """The instant (with SLIDE the tick) that shows the last that a row does: its going from a finite window, its coming
    into any other."""
    last = visit.enters if visit.leaves is None else visit.leaves
    return min((next_tick(last, *b) for b in ([visit.own] if visit.own else beats)), default=last)
