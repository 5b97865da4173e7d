"""Whole months on a clock: readings moved by months, multiples of months, and lengths that are either fixed or months.

A reading is what a clock shows, int64 microseconds counted as if it were UTC (``core.zones``). A reading moved by
months keeps its time of day; a day that its month has not becomes that month's last (January 31 plus a month is the
last of February), as in Spark's ``add_months``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from muntin.core.time import DAY, Instants, ceil_to

LATEST_DAY = 28
"""The last day of a month that multiples of months may fall on: every month has it."""


@dataclass(frozen=True, order=True)
class Months:
    """A length of whole months; a year is twelve."""

    count: int


Span = int | Months
"""A length of time: microseconds, or months."""


def nominal(span: Span) -> int:
    """Microseconds of a span, for estimates: a month has 30.4369 days on average."""
    return span if isinstance(span, int) else span.count * 146_097 * DAY // 4_800


def positive(span: Span) -> bool:
    """Whether a span is longer than nothing."""
    return nominal(span) > 0


def add_months(readings: Instants, months: int | NDArray[np.int64]) -> Instants:
    """Readings moved by months."""
    day, rest = readings // DAY, readings % DAY
    date = day.astype("datetime64[D]")
    month = date.astype("datetime64[M]")
    in_month = (date - month.astype("datetime64[D]")).astype(np.int64)
    moved = month + np.asarray(months).astype("timedelta64[M]")
    first = moved.astype("datetime64[D]").astype(np.int64)
    following = (moved + np.timedelta64(1, "M")).astype("datetime64[D]").astype(np.int64)
    return np.asarray((first + np.minimum(in_month, following - first - 1)) * DAY + rest)


def day_of_month(reading: int) -> int:
    """1 to 31."""
    date = np.datetime64(reading // DAY, "D")
    return int((date - date.astype("datetime64[M]").astype("datetime64[D]")).astype(np.int64)) + 1


def later(readings: Instants, span: Span) -> Instants:
    """Readings moved by a span."""
    return readings + span if isinstance(span, int) else add_months(readings, span.count)


def first_multiple(step: Months, origin: int) -> int:
    """The multiple of a step that lies in the months [0, step) since 1970, of those that ``origin`` is one of."""
    return int(add_months(np.array([origin]), -(_month(origin) // step.count) * step.count)[0])


def multiple_at_or_after(readings: Instants, step: Span, origin: int) -> Instants:
    """The first multiple of a step (counted from the reading ``origin``) at or after each reading."""
    if isinstance(step, int):
        return ceil_to(readings, step, origin)
    months = (readings // DAY).astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    moved = (months - _month(origin)) // step.count * step.count
    near = add_months(np.full(len(readings), origin, np.int64), moved)
    return np.where(near >= readings, near, add_months(np.full(len(readings), origin, np.int64), moved + step.count))


def multiples(low: int, high: int, step: Span, origin: int) -> Instants:
    """Every multiple in [low, high), ascending. Cost: their number."""
    first = int(multiple_at_or_after(np.array([low], np.int64), step, origin)[0])
    if isinstance(step, int):
        return np.arange(first, high, step, dtype=np.int64)
    count = max(0, (_month(high) - _month(first)) // step.count + 1)
    found = add_months(np.full(count, first, np.int64), np.arange(count) * step.count)
    return found[found < high]


def _month(reading: int) -> int:
    """Months since January 1970."""
    return int(np.datetime64(reading // DAY, "D").astype("datetime64[M]").astype(np.int64))
