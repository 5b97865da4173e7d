"""Random windows on the clock of a zone: rows around the days on which it changes, windows of hours and days; windows
of months, rows around their ends."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
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


def _micros(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1_000_000


def draw_zoned(seed: int) -> ZonedCase:
    """The case of a seed; a third of the windows are tumbling."""
    rng = Random(f"zoned {seed}")
    zone = rng.choice(list(CHANGES))
    change = _micros(rng.choice(CHANGES[zone]))
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


MONTH_ENDS = ("2024-01-26", "2023-01-26", "2024-02-24", "2024-10-27", "2024-08-27", "1999-11-27")


@dataclass(frozen=True)
class MonthlyCase(Case):
    """A case whose windows are of months, with SLIDE of months, days or hours."""

    words: tuple[tuple[str, str], ...] = ()

    @property
    def text(self) -> str:
        """Each window's RANGE and SLIDE in their own units, in the order of FROM."""
        written = [
            f"{s.stream} [RANGE {s.length} {long}{'' if s.slide is None else f' SLIDE {s.slide} {short}'}] AS {s.alias}"
            for s, (long, short) in zip(self.query.sources, self.words, strict=True)
        ]
        body = self.query.body(written)
        return f"{self.query.kind}({body})" if self.query.kind else body


def draw_monthly(seed: int) -> MonthlyCase:
    """The case of a seed: rows around the ends of months, in a zone or without one."""
    rng = Random(f"monthly {seed}")
    query = draw_query(rng, 2)
    slides = rng.random() < 0.6
    starts = slides and rng.random() < 0.3
    sources, words = [], []
    for source in query.sources:
        short = rng.choice(("MONTHS", "MONTHS", "MONTHS" if starts else "DAYS", "MONTHS" if starts else "HOURS"))
        step = {"MONTHS": rng.choice((1, 1, 2)), "DAYS": rng.choice((1, 7, 10)), "HOURS": 36}[short]
        slide = step if slides else None
        long = "MONTHS" if starts or rng.random() < 0.8 else rng.choice(("YEARS", "DAYS"))
        length = {"MONTHS": rng.choice((1, 1, 2, 3)), "YEARS": 1, "DAYS": rng.choice((20, 40))}[long]
        sources.append(replace(source, window="range", length=length, slide=slide))
        words.append((long, short))
    query = replace(query, sources=tuple(sources))
    options = replace(draw_options(rng, query, DAY), bounds=rng.choice(("half_open", "closed")))
    if starts:
        options = replace(options, bounds="start")
    base = _micros(f"{rng.choice(MONTH_ENDS)}T00:00") // ROW - rng.randint(0, 40)
    span = rng.choice((8, 40)) * DAY // ROW
    slack = {n: rng.choice((0, 5, 100)) for n in sorted({s.stream for s in query.sources})}
    streams = {n: draw_rows(rng, rng.randint(1, 12), base, span, slack[n]) for n in slack}
    zone = rng.choice((None, None, *CHANGES))
    origin = rng.choice((0, 0, 12 * DAY + HOUR, 27 * DAY))
    options = replace(options, zone=zone, origin=origin, granule=1)
    return MonthlyCase(seed, ROW, False, streams, slack, query, options, tuple(words))
