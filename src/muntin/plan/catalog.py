"""What a session has registered: streams and tables, as descriptions without data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal as OneOf

from muntin.core.errors import ConfigError
from muntin.core.schema import Schema


@dataclass(frozen=True)
class Stream:
    """A registered stream. Durations are microseconds.

    ``ts`` names the event-time column: an Arrow timestamp, or an integer counted in ``ts_unit`` microseconds.
    ``slack``: how far back in event time rows may come. ``idle_after``: processing time without rows after which the
    stream no longer holds the watermark back. ``max_jump``: the most that one batch may move the stream's maximum event
    time. ``order``: position of registration, which breaks ties between streams.
    """

    name: str
    schema: Schema
    ts: str
    slack: int = 0
    idle_after: int | None = None
    max_jump: int | None = None
    on_bad_time: OneOf["drop", "fail"] = "drop"
    ts_unit: int = 1
    order: int = 0
    order_by: str | None = None

    def __post_init__(self) -> None:
        if self.schema.get(self.ts) is None:
            raise ConfigError(
                f"stream {self.name!r}: there is no column {self.ts!r} to take event time from; "
                f"it has {', '.join(self.schema.names)}. Give ts=..."
            )
        if self.slack < 0:
            raise ConfigError(f"stream {self.name!r}: slack must not be negative")


@dataclass(frozen=True)
class Table:
    """A registered table; ``kind`` as in thesis 3.3.1: static, nrr (non-retroactive) or relation (retroactive)."""

    name: str
    schema: Schema
    kind: OneOf["static", "nrr", "relation"] = "static"


@dataclass(frozen=True)
class Catalog:
    """Names visible to a query; looked up without regard to case, as Spark does."""

    streams: tuple[Stream, ...] = ()
    tables: tuple[Table, ...] = field(default=())

    def stream(self, name: str) -> Stream | None:
        return next((s for s in self.streams if s.name.lower() == name.lower()), None)

    def table(self, name: str) -> Table | None:
        return next((t for t in self.tables if t.name.lower() == name.lower()), None)
