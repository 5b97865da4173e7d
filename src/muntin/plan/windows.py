"""Windows as data, and the validity interval that each gives to a row (semantics: docs of ``core.time``)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal as OneOf

import numpy as np

from muntin.core.calendar import Months, Span, first_multiple, later, positive
from muntin.core.time import DAY, FOREVER, MICROSECOND, Instants
from muntin.core.zones import tick_at_or_after, zone

Bounds = OneOf["half_open", "closed", "start"]
Periods = OneOf["exact", "flexible"]
Strategy = OneOf["upa", "nt", "direct", "auto"]
Skew = OneOf["keep", "split"]
Shed = OneOf["never", "harvest", "drop"]


@dataclass(frozen=True)
class Range:
    """``[RANGE length]`` or ``[RANGE length SLIDE slide]`` (same as ``[WINDOW length SLIDE slide]``): microseconds, or
    months on the zone's clock.

    ``internal``: the window bounds what is combined, but results once produced never leave (thesis 3.3.2).
    """

    length: Span
    slide: Span | None = None
    internal: bool = False
    rows: int | None = None
    """``SLIDE n`` of rows: the contents change only when the number of rows so far is a multiple of it."""
    delay: int = 0
    """``DELAY d``: microseconds by which rows come later, and go later, than they would."""
    cumulative: bool = False
    """``CUMULATE``: the window holds the rows since the last multiple of its length, and is empty behind each."""

    def __post_init__(self) -> None:
        if not positive(self.length) or (self.slide is not None and not positive(self.slide)):
            raise ValueError(f"window lengths and slides are positive: {self}")


@dataclass(frozen=True)
class Now:
    """``[NOW]``: the rows of the current instant (valid for one granule). ``internal``, ``delay`` as in ``Range``."""

    internal: bool = False
    delay: int = 0


@dataclass(frozen=True)
class Unbounded:
    """``[UNBOUNDED]`` or no window: every row so far. ``internal`` as in ``Range``."""

    internal: bool = False


@dataclass(frozen=True)
class Rows:
    """``[ROWS count]``: the latest rows including the current one; ``[PARTITION BY by ROWS count]``: of each partition.

    ``slide``: the contents change only when the number of rows so far is a multiple of it; ``every``: only at multiples
    of so much time (a mixed jumping window, thesis 2.1). ``by``: column names. ``internal`` as in ``Range``.
    """

    count: int
    slide: int | None = None
    by: tuple[str, ...] = ()
    internal: bool = False
    every: Span | None = None

    def __post_init__(self) -> None:
        if self.count <= 0 or any(s is not None and not positive(s) for s in (self.slide, self.every)):
            raise ValueError(f"window sizes and slides are positive: {self}")


@dataclass(frozen=True)
class Session:
    """``[SESSION gap]``, ``[PARTITION BY by SESSION gap]``: at the instant at which a session ends its rows.

    A session is a run of rows (of each combination of the columns ``by``) in which each comes at most ``gap``
    microseconds after the one before; it ends ``gap`` after its last row. ``internal`` is never set.
    """

    gap: int
    by: tuple[str, ...] = ()
    internal: bool = False

    def __post_init__(self) -> None:
        if self.gap <= 0 or self.internal:
            raise ValueError(f"the gap of a session is positive, and it is not INTERNAL: {self}")


Window = Range | Now | Unbounded | Rows | Session


def as_external(window: Window) -> Window:
    """The window, whose results leave with its rows."""
    return replace(window, internal=False)


@dataclass(frozen=True)
class QueryOptions:
    """What ``session.sql(text, ...)`` accepts beside the text.

    ``bounds``: reading of RANGE T at instant t: half_open (t-T, t], closed [t-T, t], start [t-T, t) (SLIDE only).
    ``origin``: microseconds from the epoch that multiples of SLIDE are counted from. ``granule``: microseconds that
    ``closed`` and ``[NOW]`` add to the last instant. ``zone``: time zone of literals, casts and functions, and of
    the clock that SLIDE and RANGE of whole days and months go by (None: UTC, and ``session_zone`` for literals, casts
    and functions: what holds in the Spark session in which the query is registered). ``exp``: also
    output the expiry of each row. ``strategy``: execution strategy: "upa", "nt", "direct", or "auto" (the
    cheapest by estimate). ``skew``: "split" lets all shards share the join of keys that would fill one of them
    (joins of two windows, live pipelines), at the price of one more exchange after the join; "keep" does not.
    ``memory``: bytes of state that one shard of a level may hold: joins leave out indexes that do not pay, and what
    does not fit all the same is a BudgetError before anything of the batch is committed (None: no limit); in a live run
    of a query that may ``shed`` its joins let go of the oldest panes first, of those that nothing reads before others.
    ``priority``: in a live run the sinks of queries with greater ones are written first in a batch; where the run has a
    budget they run first among those that are equally late; under overload they lose last.
    ``periods``: "exact" reports every multiple of SLIDE;
    "flexible" lets a live run that is behind lengthen the period: of the instants that come with one batch the newest
    alone is shown, and the others are counted as skipped (whole answers at multiples of a fixed length of time).
    ``shed``: what a live run does when there is more input than it has time for: "never" (it falls behind), "drop"
    (drop boxes at the streams) or "harvest" (joins read the parts of their windows that give most); the answer is then
    a part of the exact one. ``quality``: the least share of its rows, or of the work of its joins, that it then keeps.
    """

    bounds: Bounds = "half_open"
    origin: int = 0
    granule: int = MICROSECOND
    zone: str | None = None
    exp: bool = False
    strategy: str = "upa"
    skew: str = "keep"
    memory: int | None = None
    session_zone: str | None = field(default=None, compare=False)
    priority: int = 0
    periods: Periods = "exact"
    shed: Shed = field(default="never", compare=False)
    quality: float = field(default=0.0, compare=False)

    @property
    def scalar_zone(self) -> str | None:
        """The zone of literals, casts and functions (None: UTC)."""
        return self.session_zone if self.zone is None else self.zone


@dataclass(frozen=True)
class Ticks:
    """Evaluation instants: the union of the multiples of ``slides`` counted from their origins (same order), as the
    clock of ``zone`` shows them (None: UTC; see ``core.zones.Zone.ceil``)."""

    slides: tuple[Span, ...]
    origins: tuple[int, ...]
    zone: str | None = None

    def at_or_after(self, ts: Instants) -> Instants:
        """The first evaluation instant at or after each of ``ts``."""
        beats = zip(self.slides, self.origins, strict=True)
        return np.minimum.reduce([tick_at_or_after(ts, s, o, self.zone) for s, o in beats])


def validity(window: Window, ts: Instants, options: QueryOptions) -> tuple[Instants, Instants]:
    """``(start, exp)`` of rows with event times ``ts``, as its own SLIDE shows them; rows never visible have start
    >= exp.

    half_open: start = ts, exp = ts + T; closed: exp = ts + T + granule; start: start = ts + granule(1 us),
    exp = ts + T + 1 us; then both ends move to the first own tick at or after them.

    In a zone RANGE of whole days is time on its clock: ts + T is the first instant at which the clock shows T more than
    at ts (while it shows an hour again, as at the end of that hour). RANGE equal to SLIDE reaches to the tick before.
    RANGE of months is time on the clock with or without a zone (``core.calendar``); rows of the last days of a month
    may then leave in another order than they came in. DELAY: as for rows that are so much younger.
    """
    ts = ts + delay_of(window) if delay_of(window) else ts
    match window:
        case Unbounded():
            return ts, np.full(len(ts), FOREVER, np.int64)
        case Now():
            return ts, ts + options.granule
        case Range(rows=int()):
            raise ValueError("when a row enters a window that moves with the rows is known only when they come")
        case Range(length, slide):
            start, exp = _bounds(ts, length, options)
            own = own_ticks(window, options)
            if window.cumulative:
                exp = _multiples(length, options).at_or_after(start) + MICROSECOND
            if own is None:
                return start, exp
            if window.cumulative:
                return own.at_or_after(start), own.at_or_after(exp)
            if length == slide and (own.zone is not None or isinstance(length, Months)):
                start = own.at_or_after(start)
                last = start if options.bounds != "closed" else own.at_or_after(ts + options.granule)
                return start, own.at_or_after(last + MICROSECOND)
            return own.at_or_after(start), own.at_or_after(exp)
        case Rows() | Session():
            raise ValueError("when a row leaves such a window is known only when later rows come")


def _multiples(length: Span, options: QueryOptions) -> Ticks:
    """The instants at which a window that cumulates begins anew."""
    origin = options.origin % length if isinstance(length, int) else first_multiple(length, options.origin)
    return Ticks((length,), (origin,), options.zone)


def delay_of(window: Window) -> int:
    """By how much later than without DELAY rows come into the window and go (microseconds)."""
    return window.delay if isinstance(window, Range | Now) else 0


def _bounds(ts: Instants, length: Span, options: QueryOptions) -> tuple[Instants, Instants]:
    match options.bounds:
        case "half_open":
            return ts, _later(ts, length, options)
        case "closed":
            return ts, _later(ts, length, options, options.granule)
        case "start":
            return ts + MICROSECOND, _later(ts, length, options, MICROSECOND)


def _later(ts: Instants, length: Span, options: QueryOptions, more: int = 0) -> Instants:
    """``ts + length + more``; on the zone's clock where ``length`` is whole days or months."""
    if isinstance(length, int) and (options.zone is None or length % DAY):
        return ts + (length + more)
    clock = zone(options.zone)
    return clock.reach(later(clock.wall(ts), length) + more)


def in_order(window: Window) -> bool:
    """Whether rows of a window of time leave in the order in which they came: not where months have different ends."""
    return not (isinstance(window, Range) and isinstance(window.length, Months))


def moves_with_rows(window: Window) -> bool:
    """Whether later rows decide when a row enters or leaves the window."""
    return isinstance(window, Rows | Session) or (isinstance(window, Range) and window.rows is not None)


def beat(window: Window, options: QueryOptions) -> tuple[Span, int] | None:
    """(length, origin below it) of a window's movements in time; None where time does not move it by steps."""
    match window:
        case Range(slide=int(slide)):
            return slide, tick_origin(window, options) % slide
        case Range(slide=Months() as months):
            return months, first_multiple(months, tick_origin(window, options))
        case Rows(every=int(every)):
            return every, options.origin % every
        case Rows(every=Months() as months):
            return months, first_multiple(months, options.origin)
        case _:
            return None


ANY_INSTANT = Ticks((MICROSECOND,), (0,))
"""Sessions end at any instant: what is there is shown at each."""


def own_ticks(window: Window, options: QueryOptions) -> Ticks | None:
    """The instants of a window's own movements in time; None where time does not move it by steps."""
    if isinstance(window, Session):
        return ANY_INSTANT
    own = beat(window, options)
    return None if own is None else Ticks((own[0],), (own[1],), options.zone)


def tick_origin(window: Range, options: QueryOptions) -> int:
    """Where multiples of the window's SLIDE count from: under ``bounds="start"`` the instants are RANGE + multiples."""
    if options.bounds != "start":
        return options.origin
    return int(later(np.array([options.origin], np.int64), window.length)[0])
