"""The progress of a running pipeline: one line that renews itself on a terminal, a line now and then in a log."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from typing import Any, TextIO

from rich.console import Console
from rich.live import Live
from rich.text import Text

from muntin.core.shown import instant
from muntin.core.time import instant_text

LOG_EVERY = 10.0
"""Seconds between lines where the output is no terminal."""


@dataclass
class Rate:
    """Rows per second between two looks at a total that only grows."""

    total: int = 0
    at: float = 0.0
    value: float = 0.0

    def look(self, total: int, now: float) -> float:
        """The rate since the last look that saw the total grow; between batches the last rate, after 5 s 0."""
        if total > self.total and self.at:
            self.value = (total - self.total) / max(now - self.at, 1e-6)
        elif total == self.total and now - self.at > 5.0:
            self.value = 0.0
        if total != self.total or not self.at:
            self.total, self.at = total, now
        return self.value


class Progress:
    """Prints ``read()`` (what ``run.metrics()`` gives) while it is open; the last numbers stay when it closes."""

    def __init__(self, out: TextIO, read: Callable[[], Any]) -> None:
        self._read = read
        self._console = Console(file=out, highlight=False)
        self._live = Live(console=self._console, transient=True, auto_refresh=False) if out.isatty() else None
        self._rate = Rate()
        self._printed = time.monotonic()
        self._text = self._last = ""

    def __enter__(self) -> Progress:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()
        if self._text not in ("", self._last):
            self._console.print(Text(self._text), soft_wrap=True)

    def look(self) -> None:
        """Read the metrics once and show them if it is time."""
        now = time.monotonic()
        numbers = flat(self._read())
        text = line(numbers, self._rate.look(int(numbers.get("rows") or 0), now))
        self._text = text if numbers else ""
        if self._live:
            self._live.update(Text(text, no_wrap=True, overflow="ellipsis"), refresh=True)
        elif text != self._last and now - self._printed >= LOG_EVERY:
            self._console.print(Text(text), soft_wrap=True)
            self._printed, self._last = now, text


def flat(metrics: Any) -> Mapping[str, Any]:
    """The numbers of a metrics record as a mapping; an empty one before the first batch."""
    if metrics is None:
        return {}
    if is_dataclass(metrics) and not isinstance(metrics, type):
        return {f.name: getattr(metrics, f.name) for f in fields(metrics)}
    return dict(metrics) if isinstance(metrics, Mapping) else {}


def line(numbers: Mapping[str, Any], rows_per_s: float) -> str:
    """``batch 12 | 84,210 rows/s | watermark 2013-01-03 11:20:00 | lag 2.1 s | state 10,322 rows | 51,204 results``."""
    if not numbers:
        return "starting"
    parts = [
        f"batch {numbers.get('batch', '-')}",
        f"{rows_per_s:,.0f} rows/s",
        f"watermark {_watermark(numbers.get('watermark'))}{_held(numbers.get('held_by'))}",
        f"lag {_lag(numbers.get('lag'))}",
        f"state {int(numbers.get('state_rows') or 0):,} rows",
        f"{int(numbers.get('results') or 0):,} results",
    ]
    parts += [f"{int(numbers[key]):,} {key}" for key in ("late", "bad") if numbers.get(key)]
    parts += [f"{n:,} bad updates of {table}" for table, n in (numbers.get("bad_updates") or {}).items()]
    parts += [f"EVERY ROW OF A BATCH DROPPED: {s} ({sum(n):,} rows)" for s, n in (numbers.get("lost") or {}).items()]
    return " | ".join(parts)


def _held(stream: Any) -> str:
    return f" (held back by {stream})" if stream else ""


def _watermark(us: Any) -> str:
    if isinstance(us, datetime):
        return instant(us)
    return instant_text(us) if isinstance(us, int) else "-"


def _lag(us: Any) -> str:
    if not isinstance(us, int | float):
        return "-"
    seconds = us / 1e6
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if abs(seconds) >= 2 * size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:,.1f} s"
