"""Which rows a window holds at an instant, and at which instants a query answers: straight from the definitions.

Deliberately not built on ``plan.windows.validity``: the engine computes when a row enters and leaves, this asks at
every instant whether the row is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from muntin.plan.nodes import BoundQuery, Scan
from muntin.plan.windows import Now, QueryOptions, Range, Unbounded, Window


def holds(window: Window, t: int, ts: int, options: QueryOptions) -> bool:
    """Whether the window's contents at instant ``t`` include a row with event time ``ts``."""
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


def origin_of(window: Range, options: QueryOptions) -> int:
    """Where the multiples of SLIDE are counted from: under ``start`` the multiples are window starts, not ends."""
    return options.origin + (window.length if options.bounds == "start" else 0)


def last_tick(t: int, slide: int, origin: int) -> int:
    """The last multiple of ``slide`` (from ``origin``) at or before ``t``."""
    return t - (t - origin) % slide


def next_tick(t: int, slide: int, origin: int) -> int:
    """The first multiple of ``slide`` (from ``origin``) at or after ``t``."""
    return t + (origin - t) % slide


def instants(query: BoundQuery, times: Mapping[str, Iterable[int]], until: int | None) -> list[int]:
    """The instants at which ``query`` has an answer, ascending.

    ``times``: event times of the rows of each stream, before WHERE. ``until`` None: time runs on to the last expiry of
    a finite window (to the first tick at or after it) and stops; else to ``until``, inclusive.
    """
    options = query.options
    visits = [_visit(s, ts, options) for s in query.scans for ts in times[s.stream.name]]
    if not visits:
        return []
    first = min(v.enters for v in visits)
    beats = _beats(query)
    if not beats:
        found = {v.enters for v in visits} | {v.leaves for v in visits if v.leaves is not None}
        return sorted(t for t in found if until is None or t <= until)
    end = max(_shown_end(v, beats) for v in visits) if until is None else until
    return sorted({t for slide, origin in beats for t in range(next_tick(first, slide, origin), end + 1, slide)})


@dataclass(frozen=True)
class _Visit:
    """A row's stay in a window, SLIDE apart: ``leaves`` is None where it stays; ``own`` is the window's SLIDE."""

    enters: int
    leaves: int | None
    own: tuple[int, int] | None


def _visit(scan: Scan, ts: int, options: QueryOptions) -> _Visit:
    match scan.window:
        case Unbounded():
            return _Visit(ts, None, None)
        case Now():
            return _Visit(ts, ts + options.granule, None)
        case Range(length, slide) as window:
            own = None if slide is None else (slide, origin_of(window, options))
            match options.bounds:
                case "half_open":
                    return _Visit(ts, ts + length, own)
                case "closed":
                    return _Visit(ts, ts + length + options.granule, own)
                case "start":
                    return _Visit(ts + 1, ts + length + 1, own)


def _beats(query: BoundQuery) -> list[tuple[int, int]]:
    """(SLIDE, origin) of every window that has one."""
    windows = [s.window for s in query.scans]
    return sorted(
        {(w.slide, origin_of(w, query.options)) for w in windows if isinstance(w, Range) and w.slide is not None}
    )


def _shown_end(visit: _Visit, beats: list[tuple[int, int]]) -> int:
    """The tick that shows the last that the row does: its going from a finite window, its coming into any other."""
    last = visit.enters if visit.leaves is None else visit.leaves
    return min(next_tick(last, *b) for b in ([visit.own] if visit.own else beats))
