"""What a session has registered: streams and tables, as descriptions without data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any
from typing import Literal as OneOf

import pyarrow as pa

from muntin.core.errors import ConfigError
from muntin.core.schema import Field, Schema
from muntin.plan.user_functions import ScalarFunction

TABLE_ORDER = -1
"""Updates of tables come before stream rows of the same instant."""


UNITS = {"us": 1, "ms": 1000, "s": 1_000_000}
"""Microseconds of the units in which an integer may count event time."""


def is_event_time(kind: pa.DataType) -> bool:
    """Whether a column of this type can be event time: a timestamp, a date, an integer (whose unit must be known)."""
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_integer(kind))


_FRACTIONS = ("double", "float", "real")


def no_event_time(column: str, kind: str) -> str:
    """That a column of this type cannot be event time, and what to do."""
    if kind in ("string", "large_string"):
        return (
            f"column {column!r} is text, which is no time yet; read it as one: to_timestamp({column}, pattern) on the "
            f"DataFrame, or {column} TIMESTAMP in the schema of a CSV or JSON source (texts without an offset are then "
            "in the zone of the Spark session)"
        )
    seconds = (
        f"; of seconds with a fraction: timestamp_seconds({column}) on the DataFrame or in columns of a job file, or "
        f"pandas.to_datetime({column}, unit='s')"
    )
    return (
        f"column {column!r} has type {kind}, which cannot be event time: that is a timestamp, a date, or an integer "
        f"with ts_unit; name the column that holds it, or cast this one{seconds if kind in _FRACTIONS else ''}"
    )


def free_name(name: str, taken: Iterable[str]) -> str:
    """``name``, with underscores behind it until none of ``taken`` is equal to it, letter case apart."""
    known = {t.lower() for t in taken}
    while name.lower() in known:
        name += "_"
    return name


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
    static: bool = False
    """All its rows are there from the start (a static table): it never holds the watermark back."""
    rate: float | None = field(default=None, compare=False)
    """Rows a second that are expected (None: not known): the planner's costs go by it."""
    sample: float | None = field(default=None, compare=False)
    """Share of its rows that is admitted, the same rows whenever a batch runs (None: all): answers are not exact."""
    silent: bool = field(default=False, compare=False)
    """Its rows alone start no answers and end none: the updates of a non-retroactive table (thesis 3.3.1)."""

    def __post_init__(self) -> None:
        column = self.schema.get(self.ts)
        if column is None:
            raise ConfigError(
                f"stream {self.name!r}: there is no column {self.ts!r} to take event time from; "
                f"it has {', '.join(self.schema.names)}. Give ts=..."
            )
        if not is_event_time(column.type):
            raise ConfigError(f"stream {self.name!r}: {no_event_time(self.ts, str(column.type))}")
        if self.rate is not None and not self.rate > 0:
            raise ConfigError(f"stream {self.name!r}: rate is rows a second, more than 0, not {self.rate!r}")
        if self.sample is not None and not 0 < self.sample <= 1:
            raise ConfigError(f"stream {self.name!r}: sample is a share above 0 and up to 1, not {self.sample!r}")
        if self.slack < 0:
            raise ConfigError(f"stream {self.name!r}: slack must not be negative")


@dataclass(frozen=True)
class Table:
    """A registered table; ``kind`` as in thesis 3.3.1: static, nrr (non-retroactive) or relation (retroactive).

    ``slack``, ``idle_after`` and ``on_bad_time`` are those of its feed of updates (see ``Stream``). ``key``: columns of
    which each combination has one row, which a later one replaces; () where the table is a bag of rows.
    ``on_bad_update``: what a deletion of a row that is not there does. ``deletions_first``: of the updates of one
    instant the deletions come first, in whatever order they arrive.
    """

    name: str
    schema: Schema
    kind: OneOf["static", "nrr", "relation"] = "static"
    slack: int = 0
    idle_after: int | None = None
    on_bad_time: OneOf["drop", "fail"] = "drop"
    key: tuple[str, ...] = ()
    on_bad_update: OneOf["drop", "fail"] = "drop"
    deletions_first: bool = False

    def __post_init__(self) -> None:
        unknown = [k for k in self.key if self.schema.get(k) is None]
        if unknown:
            raise ConfigError(
                f"table {self.name!r}: there is no column {unknown[0]!r} to be part of the key; it has "
                f"{', '.join(self.schema.names)}"
            )

    @property
    def at(self) -> str:
        """The feed's column of event time: ``__at``, unless a column of the table has that name."""
        return free_name("__at", self.schema.names)

    @property
    def add(self) -> str:
        """The feed's column that says whether a row comes: ``__add``, unless a column of the table has that name."""
        return free_name("__add", self.schema.names)

    @property
    def feed(self) -> Stream:
        """The stream of updates that the table is made of: its columns, the event time ``at`` (microseconds; of a
        static table before every instant) and ``add`` (false: the row goes). An update of a row is a deletion and an
        insertion at one instant."""
        fields = (*self.schema.fields, Field(self.at, pa.int64()), Field(self.add, pa.bool_()))
        return Stream(
            self.name, Schema(fields), self.at, self.slack, self.idle_after, on_bad_time=self.on_bad_time,
            order=TABLE_ORDER, static=self.kind == "static", silent=self.kind == "nrr",
        )  # fmt: skip


@dataclass(frozen=True)
class View:
    """A named query: a relation, or a stream if its text is Istream(...), Dstream(...) or Rstream(...)."""

    name: str
    text: str


@dataclass(frozen=True)
class AggregateFunction:
    """A user-defined aggregate over one argument, as queries see it; its code is the runtime's business.

    ``argument``: the type that arguments are cast to (None: any type, as it comes). ``result``: the type of the value
    (None: the argument's type). ``inverse``: values can be taken away from its state.
    """

    name: str
    argument: pa.DataType | None = None
    result: pa.DataType | None = None
    inverse: bool = False


@dataclass(frozen=True)
class Catalog:
    """Names visible to a query; looked up without regard to case, as Spark does."""

    streams: tuple[Stream, ...] = ()
    tables: tuple[Table, ...] = field(default=())
    views: tuple[View, ...] = ()
    functions: tuple[AggregateFunction, ...] = ()
    scalars: tuple[ScalarFunction, ...] = ()

    def stream(self, name: str) -> Stream | None:
        """The stream of that name, or None."""
        return next((s for s in self.streams if s.name.lower() == name.lower()), None)

    def table(self, name: str) -> Table | None:
        """The table of that name, or None."""
        return next((t for t in self.tables if t.name.lower() == name.lower()), None)

    def view(self, name: str) -> View | None:
        """The view of that name, or None."""
        return next((v for v in self.views if v.name.lower() == name.lower()), None)

    def function(self, name: str) -> AggregateFunction | None:
        """The user-defined aggregate of that name, or None."""
        return next((f for f in self.functions if f.name.lower() == name.lower()), None)

    def scalar(self, name: str) -> ScalarFunction | None:
        """The user's scalar function of that name, or None."""
        return next((f for f in self.scalars if f.name.lower() == name.lower()), None)

    def with_view(self, name: str, text: str) -> Catalog:
        """The catalog with one more view; its text is bound where it is used.

        Raises:
            ConfigError: the name is taken.
        """
        if self.stream(name) or self.table(name) or self.view(name):
            raise ConfigError(f"view {name!r}: there is already a stream, table or view with this name; choose another")
        return replace(self, views=(*self.views, View(name, text)))

    def having(self, new: Stream | Table | View | AggregateFunction | ScalarFunction) -> Catalog:
        """The catalog with one more stream, table, view or function, in the place of another of its kind and name."""
        kind = _KINDS[type(new)]
        before: tuple[Any, ...] = getattr(self, kind)
        there = any(x.name.lower() == new.name.lower() for x in before)
        after: Any = tuple(new if x.name.lower() == new.name.lower() else x for x in before)
        return replace(self, **{kind: after if there else (*after, new)})

    def without(self, name: str) -> Catalog:
        """The catalog without the stream, table or view of this name."""
        kinds = ("streams", "tables", "views")
        return replace(self, **{k: _others(getattr(self, k), name) for k in kinds})

    def without_function(self, name: str) -> Catalog:
        """The catalog without the aggregate or function of this name."""
        return replace(self, functions=_others(self.functions, name), scalars=_others(self.scalars, name))


_KINDS: dict[type, str] = {
    Stream: "streams", Table: "tables", View: "views", AggregateFunction: "functions", ScalarFunction: "scalars",
}  # fmt: skip


def _others(known: tuple[Any, ...], name: str) -> tuple[Any, ...]:
    return tuple(x for x in known if x.name.lower() != name.lower())
