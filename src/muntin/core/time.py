"""Event time: int64 microseconds since the epoch, UTC; half-open validity intervals; ticks.

A row of a window is *valid* on ``[start, exp)``: ``start`` is the first instant whose answer sees it, ``exp`` the
first that does not. A window with SLIDE only moves both ends to evaluation instants (ticks), so every operator
above the windows works on intervals and knows nothing of SLIDE.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

Instants = NDArray[np.int64]

FOREVER = int(np.iinfo(np.int64).max)
"""Expiry of a row that never leaves; also the watermark that completes every instant."""

NEVER = -(2**62)
"""A watermark before every row: nothing is complete yet."""

ALWAYS = -(2**60)
"""Event time of what is there before every row: the rows of a static table."""

USABLE = 2**61
"""Event times at or beyond +-USABLE microseconds (73,000 years) count as unreadable: window arithmetic must not
overflow."""

MICROSECOND = 1
MILLISECOND = 1_000
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
WEEK = 7 * DAY

MAX_SPAN = 10_000 * 366 * DAY
"""Longest RANGE or SLIDE accepted (10,000 years): keeps ``ts + span`` inside int64 for every date Spark can hold."""


def instant_text(us: int) -> str:
    """``2013-01-01 10:15:00``, in UTC, with fractions only where there are any; ``-`` beyond the years 1 to 9999."""
    if not -62_135_596_800_000_000 < us < 253_402_300_800_000_000:
        return "-"
    text = (datetime(1970, 1, 1) + timedelta(microseconds=us)).isoformat(sep=" ")
    return text.rstrip("0") if "." in text else text


def ceil_to(ts: Instants, step: int, origin: int = 0) -> Instants:
    """Smallest multiple of ``step`` (counted from ``origin``) that is at or after each of ``ts``; FOREVER stays."""
    moved = -((origin - ts) // step) * step + origin
    return np.where(ts == FOREVER, FOREVER, moved)
