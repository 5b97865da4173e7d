"""Lengths of event time as people read them."""

from __future__ import annotations

from muntin.core.calendar import Months, Span
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


def span_text(span: Span) -> str:
    """The length in the largest unit that divides it, as CQL writes it: ``10 MINUTES``, ``1 YEAR``."""
    if isinstance(span, Months):
        count, word = (span.count // 12, "YEAR") if span.count % 12 == 0 else (span.count, "MONTH")
    else:
        size, word = next((s, w) for s, w in _UNITS if span % s == 0)
        count = span // size
    return f"{count} {word}" if count == 1 else f"{count} {word}S"


def span_words(span: Span) -> str:
    """The length in words, in two units at most: ``1 year``, ``11 minutes 15 seconds``, ``4 minutes 22.5 seconds``."""
    if isinstance(span, Months) or span <= 0:
        return span_text(span).lower()
    size, word = next((s, w) for s, w in _UNITS[1:] if span >= s)
    count, rest = divmod(span, size)
    if size <= SECOND or not rest:
        return _counted(span / size, word)
    below = dict(_UNITS[1:])
    small = {DAY: HOUR, HOUR: MINUTE, MINUTE: SECOND}[size]
    return f"{_counted(count, word)} {_counted(rest / small, below[small])}"


def exact_words(span: Span) -> str:
    """The length in words, to the microsecond: ``10 minutes``, ``1 day 30 minutes``, ``-8 minutes 7.5 seconds``."""
    if isinstance(span, Months):
        return span_text(span).lower()
    parts, rest = [], abs(span)
    for size, word in _UNITS[1:4]:
        count, rest = divmod(rest, size)
        parts += [f"{count} {word.lower()}{'' if count == 1 else 's'}"] if count else []
    if rest or not parts:
        text = f"{rest // SECOND}.{rest % SECOND:06d}".rstrip("0").rstrip(".")
        parts.append(f"{text} second{'' if text == '1' else 's'}")
    return ("-" if span < 0 else "") + " ".join(parts)


def _counted(number: float, word: str) -> str:
    text = f"{number:.4g}"
    return f"{text} {word.lower()}" if text == "1" else f"{text} {word.lower()}s"
