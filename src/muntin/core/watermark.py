"""Progress of event time, from the headers that travel with every batch. Pure: processing time is a parameter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from muntin.core.time import FOREVER, NEVER, SECOND

FRESH = 0.3
"""Weight of the newest batch in a source's rate."""


@dataclass(frozen=True)
class Header:
    """What one packer partition says of one source in one batch (``source``: position among the query's streams).

    ``rows``: rows with a usable event time, before WHERE; ``min_ts``, ``max_ts``, ``mid_ts`` (median): their event
    times
    in microseconds (meaningless when ``rows`` is 0); ``bad``: rows dropped for a NULL or unreadable event time;
    ``heartbeat``: event time that is known to be complete. ``late``: rows that some query left out for coming too late;
    ``late_by_query``: those that each query left out, by its number (() where there are none).
    """

    source: int
    partition: int
    rows: int
    min_ts: int = FOREVER
    max_ts: int = NEVER
    mid_ts: int = NEVER
    bad: int = 0
    heartbeat: int = NEVER
    late: int = 0
    late_by_query: tuple[int, ...] = ()


@dataclass(frozen=True)
class SourceClock:
    """How far one source has come. ``max_ts``: its maximum event time as ``max_jump`` restrains it; ``top_ts``:
    unrestrained;
    ``first_ts``: the minimum so far; ``last_row_at``: processing time of its last row, of the first batch, or of the
    start of the run, whichever is latest (NEVER where ``idle_after`` is None): nobody could see a row come while the
    pipeline was down."""

    slack: int = 0
    idle_after: int | None = None
    max_jump: int | None = None
    max_ts: int = NEVER
    top_ts: int = NEVER
    first_ts: int = FOREVER
    last_row_at: int = NEVER
    heartbeat: int = NEVER
    rate: float = 0.0
    """Rows per second of event time of late, as a hint to the planner (0: not known)."""
    step: float = 0.0
    """Seconds of event time that a batch brought of late."""
    waiting: int = 0
    """Rows since the rate was last measured, while time stood."""

    def advance(self, headers: Sequence[Header], now: int, since: int = NEVER) -> SourceClock:
        """The clock after one batch at processing time ``now`` of a run that began at ``since``; never moves back.

        ``max_jump`` restrains a batch, counted from the clock's maximum, or in the first batch from the median event
        time, so that one row from the future or the past cannot set it.
        """
        beats = max([self.heartbeat, *(h.heartbeat for h in headers)])
        live = [h for h in headers if h.rows]
        if not live:
            return replace(self, heartbeat=beats, last_row_at=self._seen(max(self.last_row_at, since), now))
        highest = top = max(h.max_ts for h in live)
        if self.max_jump is not None:
            base = self.max_ts if self.max_ts != NEVER else max(h.mid_ts for h in live)
            top = min(top, base + self.max_jump)
        return replace(
            self,
            max_ts=max(self.max_ts, top),
            top_ts=max(self.top_ts, highest),
            first_ts=min([self.first_ts, *(h.min_ts for h in live)]),
            last_row_at=self._seen(now, now),
            heartbeat=beats,
            **self._measured(sum(h.rows for h in live), highest, min(h.min_ts for h in live)),
        )

    def _measured(self, rows: int, highest: int, lowest: int) -> dict[str, Any]:
        """Rate and step with a batch of rows, smoothed over batches."""
        rows += self.waiting
        moved = (highest - (lowest if self.top_ts == NEVER else self.top_ts)) / SECOND
        if moved <= 0:
            return {"waiting": rows}
        return {"waiting": 0, "rate": _blend(self.rate, rows / moved), "step": _blend(self.step, moved)}

    def _seen(self, at: int, now: int) -> int:
        """Processing time of the last row, ``at``, or of the first batch; kept only where idleness is asked about."""
        if self.idle_after is None:
            return NEVER
        return max(self.last_row_at, now if at == NEVER else at)

    def watermark(self) -> int:
        """Every instant before it is complete for this source."""
        reached = NEVER if self.max_ts == NEVER else self.max_ts - self.slack
        return max(reached, self.heartbeat)

    def idle(self, now: int) -> bool:
        """Whether the source has been without rows for longer than ``idle_after`` at processing time ``now``."""
        return self.idle_after is not None and self.last_row_at != NEVER and now - self.last_row_at >= self.idle_after

    def to_json(self) -> dict[str, Any]:
        """What a checkpoint keeps of it; its keyword arguments make it again."""
        return dict(vars(self))


def _blend(old: float, new: float) -> float:
    return round(new if old == 0 else (1 - FRESH) * old + FRESH * new, 6)


def lost(headers: Sequence[Header], before: int) -> dict[int, tuple[int, int]]:
    """Sources of which every row of the batch is dropped, with (rows without a usable event time, rows that are late
    because all instants up to ``before`` are answered), before WHERE."""
    found: dict[int, tuple[int, int]] = {}
    for source in {h.source for h in headers if h.rows or h.bad}:
        mine = [h for h in headers if h.source == source]
        if all(h.max_ts < before for h in mine if h.rows):
            found[source] = sum(h.bad for h in mine), sum(h.rows for h in mine)
    return found


def largest(counts: Iterable[tuple[str, int]]) -> dict[str, int]:
    """The largest count of each name, without zeros."""
    found: dict[str, int] = {}
    for name, count in counts:
        if count > found.get(name, 0):
            found[name] = count
    return found


def watermark_of(clocks: Sequence[SourceClock], now: int, before: int) -> int:
    """Minimum over the sources that are not idle; ``before`` when that would move back or when all are idle."""
    awake = [c.watermark() for c in clocks if not c.idle(now)]
    return max(before, min(awake)) if awake else before
