"""``muntin.query``: an answer over tables, frames and files in this process, without Spark and without a JVM."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from typing import Any
from typing import Literal as OneOf

import pyarrow as pa

from muntin.core.errors import ConfigError
from muntin.core.schema import Field, Schema
from muntin.cql.binder import bind
from muntin.cql.options import OPTIONS, query_options
from muntin.cql.parameters import with_parameters
from muntin.cql.scopes import did_you_mean
from muntin.cql.types import TIMESTAMP
from muntin.cql.user_functions import Functions, with_functions
from muntin.dataflow.planner import plan_query
from muntin.local.readers import Input, Separated, read_input, schema_of
from muntin.local.replay import Replay
from muntin.plan.catalog import UNITS, Catalog, Stream, Table, is_event_time, no_event_time

PerStream = str | Mapping[str, str] | None
"""A word for all streams, or by stream."""

_KEYWORDS = ("ts", "ts_unit", "tables", "streams", "parameters", "functions", "on_bad_time")
_OF_LIVE_STREAMS = ("slack", "idle_after", "max_jump")


def query(
    text: str,
    *,
    ts: PerStream = None,
    ts_unit: PerStream = None,
    tables: Mapping[str, Any] | None = None,
    streams: Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    functions: Functions = (),
    on_bad_time: OneOf["drop", "fail"] = "drop",
    **inputs: Any,
) -> pa.Table:
    """The answer of a CQL query over whole inputs, in this process: no Spark, no JVM.

    ``muntin.query("SELECT COUNT(*) AS n FROM clicks [RANGE 1 HOUR SLIDE 5 MINUTES]", clicks="clicks.parquet")``

    Args:
        text: the query.
        ts: column of event time, of every stream or by stream (``{"clicks": "at"}``). Without it a stream's only
            timestamp column is taken.
        ts_unit: unit of integer event times, ``"us"``, ``"ms"`` or ``"s"``, of every stream or by stream.
        tables: static tables by name, in the forms that streams take.
        streams: streams by name, for names that cannot be keywords or are options here.
        parameters: values of ``:name`` in the text (None, bool, numbers, text, dates, datetimes).
        functions: your own scalar functions (``muntin.function``), as a list or by name.
        on_bad_time: what to do with rows without a usable event time: leave them out with a warning, or fail.
        **inputs: streams by name: an Arrow table or record batches, a pandas or Polars frame, a list of dicts, the
            path (directory, glob, list of paths) of Parquet, CSV or JSON lines files; or ``(input, "column of event
            time")``. Beside them the options of ``Session.sql``: ``bounds``, ``origin``, ``granule``, ``zone``,
            ``exp``, ``strategy``, ``skew``, ``memory``, ``shed`` (nothing is shed here: a replay
            takes the time that it takes).

    Rows may come in any order: they are sorted by event time (rows of one time keep their order), so none is late, and
    every instant is answered to the end. Result rows are in order of time. Without ``zone`` literals, casts and
    functions are in UTC. Parquet is read by row groups and only in the columns that the query needs; memory follows
    the windows, the answer, and how far rows are out of order. CSV and JSON are read whole.

    Raises QueryError for a wrong text, ConfigError for wrong inputs and options, DataError for data that stop a query.
    """
    replay = _prepare(text, ts, ts_unit, tables, streams, parameters, functions, on_bad_time, inputs)
    answer = pa.concat_tables(list(replay.results()))
    for line in replay.losses.lines():
        warnings.warn(line, stacklevel=2)
    return answer


def query_batches(
    text: str,
    *,
    ts: PerStream = None,
    ts_unit: PerStream = None,
    tables: Mapping[str, Any] | None = None,
    streams: Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    functions: Functions = (),
    on_bad_time: OneOf["drop", "fail"] = "drop",
    **inputs: Any,
) -> Iterator[pa.Table]:
    """As ``query``, for answers larger than memory: tables in order of time, each with all rows of its instants.

    Arguments are checked and the text is bound at once; files are read as the tables are taken.
    """
    replay = _prepare(text, ts, ts_unit, tables, streams, parameters, functions, on_bad_time, inputs)

    def batches() -> Iterator[pa.Table]:
        for table in replay.results():
            if len(table):
                yield table
        for line in replay.losses.lines():
            warnings.warn(line, stacklevel=2)

    return batches()


def _prepare(
    text: str,
    ts: PerStream,
    ts_unit: PerStream,
    tables: Mapping[str, Any] | None,
    streams: Mapping[str, Any] | None,
    parameters: Mapping[str, Any] | None,
    functions: Functions,
    on_bad_time: str,
    inputs: Mapping[str, Any],
) -> Replay:
    if on_bad_time not in ("drop", "fail"):
        raise ConfigError(f'on_bad_time is "drop" or "fail", not {on_bad_time!r}')
    options = {k: v for k, v in inputs.items() if k in OPTIONS}
    given = {k: v for k, v in inputs.items() if k not in OPTIONS}
    for name in given:
        if name in _OF_LIVE_STREAMS:
            raise ConfigError(f"{name} is of live streams: here all rows are there and sorted, so that none is late")
        meant = did_you_mean(name, (*_KEYWORDS, *OPTIONS)) if isinstance(given[name], str | int | None) else ""
        if meant and re.search(rf"\b{re.escape(name)}\b", text, re.IGNORECASE) is None:
            raise ConfigError(f"{name} is no option, and no stream of the query.{meant}")
    twice = next((n for n in streams or {} if n in given), None)
    if twice is not None:
        raise ConfigError(f"stream {twice!r} is given twice")
    given |= streams or {}
    _check_names([*given, *(tables or {})], given, (("ts", ts), ("ts_unit", ts_unit)))
    read: dict[str, tuple[Input, Schema]] = {}
    known: list[Stream] = []
    for name, source in given.items():
        column = _of(ts, name)
        if isinstance(source, tuple):
            source, column = _with_column(name, source)
        read[name], stream = open_stream(name, source, column, _of(ts_unit, name), on_bad_time, len(known))
        known.append(stream)
    statics = []
    for name, source in (tables or {}).items():
        read[name] = open_table(name, source)
        statics.append(Table(name, read[name][1]))
    catalog = with_functions(Catalog(tuple(known), tuple(statics)), functions)
    bound = bind(with_parameters(text, parameters or {}), catalog, query_options(options))
    for note in bound.notes:
        if not note.endless:
            warnings.warn(note.text, stacklevel=3)
    return Replay(plan_query(bound), read)


def _check_names(names: list[str], streams: Mapping[str, Any], settings: tuple[tuple[str, PerStream], ...]) -> None:
    lower = [n.lower() for n in names]
    for name in names:
        if lower.count(name.lower()) > 1:
            raise ConfigError(f"two inputs are named {name!r} (names do not tell cases apart); rename one of them")
    for what, setting in settings:
        strange = [k for k in setting if k not in streams] if isinstance(setting, Mapping) else []
        if strange:
            there = ", ".join(streams) or "none"
            raise ConfigError(f"{what} names a stream {strange[0]!r} that is not given; there are: {there}")


def _of(setting: PerStream, name: str) -> str | None:
    return setting.get(name) if isinstance(setting, Mapping) else setting


def _with_column(name: str, source: tuple[Any, ...]) -> tuple[Any, str]:
    match source:
        case (found, str(column)):
            return found, column
        case _:
            raise ConfigError(f'stream {name!r}: a pair is (input, "column of event time"), as in ("a.parquet", "ts")')


def open_table(name: str, source: Any, kind: str | Separated | None = None) -> tuple[Input, Schema]:
    """A static table and its schema; ``kind``: format of its files. Raises ConfigError."""
    owner = f"table {name!r}"
    found = read_input(source, owner, kind)
    return found, schema_of(found.schema, owner)


def open_stream(
    name: str,
    source: Any,
    ts: str | None,
    unit: str | None,
    on_bad_time: Any = "drop",
    order: int = 0,
    kind: str | Separated | None = None,
    **rules: Any,
) -> tuple[tuple[Input, Schema], Stream]:
    """A stream's rows and its description; ``kind``: format of its files; ``rules``: more of ``Stream``'s. Raises
    ConfigError."""
    owner = f"stream {name!r}"
    found = read_input(source, owner, kind)
    stream = described(name, schema_of(found.schema, owner), ts, unit, on_bad_time=on_bad_time, order=order, **rules)
    return (found, stream.schema), stream


def described(name: str, schema: Schema, ts: str | None, unit: str | None, **rules: Any) -> Stream:
    """A stream with these columns; ``rules``: more of ``Stream``'s. Raises ConfigError for what cannot be its time."""
    owner = f"stream {name!r}"
    ts = _only_timestamp(owner, name, schema) if ts is None else ts
    column = schema.get(ts)
    if unit is not None and unit not in UNITS:
        raise ConfigError(f"{owner}: ts_unit is {', '.join(UNITS)}, not {unit!r}")
    if column is not None and pa.types.is_integer(column.type) and unit is None:
        raise ConfigError(f'{owner}: column {ts!r} is an integer; say its unit with ts_unit="us", "ms" or "s"')
    untyped = column is not None and pa.types.is_null(column.type)  # of a file without rows, or with NULLs alone
    if column is not None and not untyped and not is_event_time(column.type):
        raise ConfigError(f"{owner}: {_no_event_time(ts, column.type)}")
    if column is not None and (untyped or pa.types.is_date(column.type)):
        timed = Field(ts, TIMESTAMP)  # dates become midnight UTC
        schema = Schema(tuple(timed if f.name == ts else f for f in schema))
    return Stream(name, schema, ts, ts_unit=UNITS[unit or "us"], **rules)


def _only_timestamp(owner: str, name: str, schema: Schema) -> str:
    """The only timestamp column. Raises ConfigError, with what to write, where there are several or none."""
    found = [f.name for f in schema if pa.types.is_timestamp(f.type)]
    if len(found) == 1:
        return found[0]
    if found:
        raise ConfigError(
            f"{owner}: columns {', '.join(found)} are timestamps: say which is event time, "
            f'ts={{"{name}": "{found[0]}"}} or {name}=(..., "{found[0]}")'
        )
    columns = ", ".join(f"{f.name} ({f.type})" for f in schema)
    raise ConfigError(
        f"{owner}: no column is a timestamp; it has {columns}. Name a date with ts=..., an integer with ts=... and "
        'ts_unit="us", "ms" or "s", or convert a text to a timestamp before; rows without a time are a table: '
        f'tables={{"{name}": ...}} (--table)'
    )


def _no_event_time(column: str, kind: pa.DataType) -> str:
    if pa.types.is_string(kind):
        return (
            f"column {column!r} is text, which is no time yet; convert it before: pandas.to_datetime, Polars' "
            "str.to_datetime, or pyarrow.compute.strptime"
        )
    return no_event_time(column, str(kind))
