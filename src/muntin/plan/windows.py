"""Windows as data, and the validity interval that each gives to a row (semantics: docs of ``core.time``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as OneOf

import numpy as np

from muntin.core.time import FOREVER, MICROSECOND, Instants, ceil_to

Bounds = OneOf["half_open", "closed", "start"]


@dataclass(frozen=True)
class Range:
    """``[RANGE length]`` or ``[RANGE length SLIDE slide]`` (same as ``[WINDOW length SLIDE slide]``), microseconds.

    ``internal``: the window bounds what is combined, but results once produced never leave (thesis 3.3.2).
    """

    length: int
    slide: int | None = None
    internal: bool = False
    rows: int | None = None
    """``SLIDE n`` of rows: the contents change only when the number of rows so far is a multiple of it."""

    def __post_init__(self) -> None:
        if self.length <= 0 or (self.slide is not None and self.slide <= 0):
            raise ValueError(f"window lengths and slides are positive: {self}")


@dataclass(frozen=True)
class Now:
    """``[NOW]``: the rows of the current instant (valid for one granule)."""


@dataclass(frozen=True)
class Unbounded:
    """``[UNBOUNDED]`` or no window: every row so far. ``internal`` as in ``Range``."""

    internal: bool = False


@dataclass(frozen=True)
class Rows:
    """``[ROWS count]``: the latest rows including the current one; ``[PARTITION BY by ROWS count]``: of each partition.

    ``slide``: the contents change only when the number of rows so far is a multiple of it; ``every``: only at multiples
    of so many microseconds (a mixed jumping window, thesis 2.1). ``by``: column names. ``internal`` as in ``Range``.
    """

    count: int
    slide: int | None = None
    by: tuple[str, ...] = ()
    internal: bool = False
    every: int | None = None

    def __post_init__(self) -> None:
        if self.count <= 0 or any(s is not None and s <= 0 for s in (self.slide, self.every)):
            raise ValueError(f"window sizes and slides are positive: {self}")


Window = Range | Now | Unbounded | Rows


@dataclass(frozen=True)
class QueryOptions:
    """What ``session.sql(text, ...)`` accepts beside the text.

    ``bounds``: reading of RANGE T at instant t: half_open (t-T, t], closed [t-T, t], start [t-T, t) (SLIDE only).
    ``origin``: microseconds from the epoch that multiples of SLIDE are counted from. ``granule``: microseconds that
    ``closed`` and ``[NOW]`` add to the last instant. ``zone``: time zone for local days (None: UTC). ``exp``: also
    output the expiry of each row. ``strategy``: execution strategy: "upa", "nt", "direct", or "auto" (the
    cheapest by estimate). ``skew``: "split" lets all shards share the join of keys that would fill one of them
    (joins of two windows, live pipelines), at the price of one more exchange after the join; "keep" does not.
    ``memory``: bytes of state that one shard of a stage may hold: joins leave out indexes that do not pay, and what
    does not fit all the same is a BudgetError before anything of the batch is committed (None: no limit).
    """

    bounds: Bounds = "half_open"
    origin: int = 0
    granule: int = MICROSECOND
    zone: str | None = None
    exp: bool = False
    strategy: str = "upa"
    skew: str = "keep"
    memory: int | None = None


@dataclass(frozen=True)
class Ticks:
    """Evaluation instants: the union of the multiples of ``slides`` counted from their origins (same order)."""

    slides: tuple[int, ...]
    origins: tuple[int, ...]

    def at_or_after(self, ts: Instants) -> Instants:
        """The first evaluation instant at or after each of ``ts``."""
        return np.minimum.reduce([ceil_to(ts, s, o) for s, o in zip(self.slides, self.origins, strict=True)])


def validity(window: Window, ts: Instants, options: QueryOptions) -> tuple[Instants, Instants]:
    """``(start, exp)`` of rows with event times ``ts``, as its own SLIDE shows them; rows never visible have start
    >= exp.

    half_open: start = ts, exp = ts + T; closed: exp = ts + T + granule; start: start = ts + granule(1 us),
    exp = ts + T + 1 us; then both ends move to the first own tick at or after them.
    """
    match window:
        case Unbounded():
            return ts, np.full(len(ts), FOREVER, np.int64)
        case Now():
            return ts, ts + options.granule
        case Range(rows=int()):
            raise ValueError("when a row enters a window that moves with the rows is known only when they come")
        case Range(length, slide):
            start, exp = _bounds(ts, length, options)
            if slide is None:
                return start, exp
            origin = tick_origin(window, options)
            return ceil_to(start, slide, origin), ceil_to(exp, slide, origin)
        case Rows():
            raise ValueError("when a row leaves a window of rows is known only when later rows come")


def _bounds(ts: Instants, length: int, options: QueryOptions) -> tuple[Instants, Instants]:
    match options.bounds:
        case "half_open":
            return ts, ts + length
        case "closed":
            return ts, ts + length + options.granule
        case "start":
            return ts + MICROSECOND, ts + length + MICROSECOND


def moves_with_rows(window: Window) -> bool:
    """Whether later rows decide when a row enters or leaves the window."""
    return isinstance(window, Rows) or (isinstance(window, Range) and window.rows is not None)


def beat(window: Window, options: QueryOptions) -> tuple[int, int] | None:
    """(length, origin below it) of a window's movements in time; None where time does not move it by steps."""
    match window:
        case Range(slide=int(slide)):
            return slide, tick_origin(window, options) % slide
        case Rows(every=int(every)):
            return every, options.origin % every
        case _:
            return None


def tick_origin(window: Range, options: QueryOptions) -> int:
    """Where multiples of the window's SLIDE count from: under ``bounds="start"`` the instants are RANGE + multiples."""
    return options.origin + (window.length if options.bounds == "start" else 0)
