"""Lengths of event time as people read them."""

from __future__ import annotations

from muntin.core.time import DAY, HOUR, MILLISECOND, MINUTE, SECOND, WEEK

_UNITS = (
    (WEEK, "WEEK"),
    (DAY, "DAY"),
    (HOUR, "HOUR"),
    (MINUTE, "MINUTE"),
    (SECOND, "SECOND"),
    (MILLISECOND, "MILLISECOND"),
    (1, "MICROSECOND"),
)


def span_text(microseconds: int) -> str:
    """The length in the largest unit that divides it, as CQL writes it: ``10 MINUTES``."""
    size, word = next((s, w) for s, w in _UNITS if microseconds % s == 0)
    count = microseconds // size
    return f"{count} {word}" if count == 1 else f"{count} {word}S"
