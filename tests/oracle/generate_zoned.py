"""Random windows on the clock of a zone: rows around the days on which it changes, windows of hours and days."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from generate import Case, draw_options, draw_query, draw_rows

from muntin.core.time import DAY, HOUR

CHANGES = {
    "America/New_York": ("2024-03-10T07:00", "2024-11-03T06:00"),
    "Australia/Lord_Howe": ("2024-04-06T15:00", "2024-10-05T15:30"),  # by half an hour
    "Asia/Kolkata": ("2024-03-10T18:30",),  # none
    "Pacific/Apia": ("2011-12-30T10:00",),  # a day that does not come
    "America/Havana": ("2024-03-10T05:00", "2024-11-03T05:00"),  # at midnight
}
ROW = HOUR // 2
"""Rows come at multiples of it."""


@dataclass(frozen=True)
class ZonedCase(Case):
    """A case whose windows are written in hours or days."""

    word: int = HOUR

    @property
    def text(self) -> str:
        return self.query.cql(self.word)


def draw_zoned(seed: int) -> ZonedCase:
    """The case of a seed; a third of the windows are tumbling."""
    from datetime import UTC, datetime

    rng = Random(f"zoned {seed}")
    zone = rng.choice(list(CHANGES))
    change = int(datetime.fromisoformat(rng.choice(CHANGES[zone])).replace(tzinfo=UTC).timestamp()) * 1_000_000
    word = rng.choice((HOUR, DAY))
    query = draw_query(rng, 2)
    sources = tuple(
        replace(s, length=s.slide) if s.slide is not None and rng.random() < 0.3 else s for s in query.sources
    )
    query = replace(query, sources=sources)
    options = draw_options(rng, query, HOUR)
    span = 10 * word // ROW
    base = change // ROW - rng.randint(0, span)
    slack = {n: rng.choice((0, 1, 4)) for n in sorted({s.stream for s in query.sources})}
    streams = {n: draw_rows(rng, rng.randint(1, 12), base, span, slack[n]) for n in slack}
    return ZonedCase(seed, ROW, False, streams, slack, query, replace(options, zone=zone), word)
