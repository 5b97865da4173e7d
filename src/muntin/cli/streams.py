"""Streams and tables for ``muntin sql`` and ``muntin explain``: from ``--stream``, or from a job file.

``explain`` needs only schemas, which pyarrow takes from files without starting a JVM.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.dataset as ds

from muntin.cli.job import Job, Source, StreamPart, TablePart
from muntin.core.errors import ConfigError
from muntin.core.schema import Field, Schema
from muntin.cql.durations import parse_duration
from muntin.plan.catalog import UNITS, Catalog, Stream, Table, is_event_time, no_event_time

FORMATS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json"}
"""Spark's format by a file's extension."""

INFERRED = {"csv": {"header": "true", "inferSchema": "true"}, "json": {"inferTimestamp": "true"}}
"""Reader options by format: text that is a time throughout is read as one."""

Part = TypeVar("Part", StreamPart, TablePart)
_KEYS = ("slack", "idle_after", "max_jump", "on_bad_time", "ts_unit")


@dataclass(frozen=True)
class Inputs:
    """What a query may name, with every path as it should be opened."""

    streams: tuple[StreamPart, ...] = ()
    tables: tuple[TablePart, ...] = ()


def inputs_of(job: Job | None, declared: list[str], declared_tables: Sequence[str] = ()) -> Inputs:
    """The inputs of a job file, of ``--stream`` and of ``--table`` together. Raises ConfigError when a name is given
    twice."""
    streams = [_opened(s, job) for s in job.streams] if job else []
    streams += [parse_stream(text) for text in declared]
    tables = [_opened(t, job) for t in job.tables] if job else []
    tables += [parse_table(text) for text in declared_tables]
    names = [part.name.lower() for part in [*streams, *tables]]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"two inputs are named {name!r}; names must differ")
    return Inputs(tuple(streams), tuple(tables))


def _opened(part: Part, job: Job) -> Part:
    if part.path is None or part.format == "table":
        return part
    return part.model_copy(update={"path": job.resolve(part.path)})


def parse_stream(text: str) -> StreamPart:
    """``NAME=PATH:TS`` with optional ``;slack=5 minutes;max_jump=1 day`` behind it.

    Raises:
        ConfigError: another form, an unknown extension or key, a path that is not there.
    """
    head, *settings = text.split(";")
    name, equals, place = head.partition("=")
    path, colon, ts = place.rpartition(":")
    if not (name.strip() and equals and path and colon and ts.strip()):
        raise ConfigError(f"--stream {text!r}: write NAME=FILE:TIMECOLUMN, as in flights=flights.parquet:dep")
    extras: dict[str, str] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if key.strip() not in _KEYS or not equals:
            raise ConfigError(f"--stream {name}: {setting.strip()!r} is not a setting; they are {', '.join(_KEYS)}")
        extras[key.strip()] = value.strip()
    fmt = _format(name, path)
    try:
        return StreamPart.model_validate(
            {"name": name.strip(), "format": fmt, "path": path, "ts": ts.strip(), **extras}
            | {"options": INFERRED.get(fmt, {})}
        )
    except ValueError as e:
        raise ConfigError(f"--stream {name}: {_last_line(e)}") from None


def parse_table(text: str) -> TablePart:
    """``NAME=PATH``: a static table. Raises ConfigError for another form, an unknown extension, a path that is not
    there."""
    name, equals, path = text.partition("=")
    if not (name.strip() and equals and path):
        raise ConfigError(f"--table {text!r}: write NAME=FILE, as in airlines=airlines.csv")
    fmt = _format(name, path, "--table")
    return TablePart.model_validate(
        {"name": name.strip(), "format": fmt, "path": path, "options": INFERRED.get(fmt, {})}
    )  # fmt: skip


def _format(name: str, path: str, option: str = "--stream") -> str:
    if "://" not in path and not Path(path).exists():
        raise ConfigError(f"{option} {name}: there is no file or directory {path!r}")
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS and Path(path).is_dir():
        suffixes = {p.suffix.lower() for p in Path(path).rglob("*") if p.is_file()} & set(FORMATS)
        suffix = suffixes.pop() if len(suffixes) == 1 else suffix
    if suffix not in FORMATS:
        raise ConfigError(f"{option} {name}: cannot tell the format of {path!r}; names end in {', '.join(FORMATS)}")
    return FORMATS[suffix]


def offline_catalog(inputs: Inputs) -> Catalog | None:
    """The catalog as far as pyarrow can tell; None when an input needs Spark to know its schema."""
    parts: list[Source] = [*inputs.streams, *inputs.tables]
    schemas = {p.name: _schema(p) for p in parts}
    if any(s is None for s in schemas.values()):
        return None
    known = {name: schema for name, schema in schemas.items() if schema is not None}
    return Catalog(
        tuple(_stream(s, known[s.name], i) for i, s in enumerate(inputs.streams)),
        tuple(_table(t, known[t.name]) for t in inputs.tables),
    )


def _table(part: TablePart, schema: Schema) -> Table:
    """A table; of one that changes without the columns that its updates add."""
    if part.kind == "static":
        return Table(part.name, schema, part.kind)
    if part.ts is not None:
        _timed("table", part.name, schema, part.ts, part.ts_unit)
    columns = Schema(tuple(f for f in schema if f.name not in (part.ts, part.op)))
    by = (part.key,) if isinstance(part.key, str) else tuple(part.key or ())
    return Table(part.name, columns, part.kind, key=by, on_bad_update=part.on_bad_update)


def _timed(what: str, name: str, schema: Schema, ts: str, unit: str | None) -> None:
    """Raises ConfigError for a column whose type cannot be event time, as Spark's session would."""
    column = schema.get(ts)
    if column is None:
        return
    if pa.types.is_integer(column.type) and unit is None:
        raise ConfigError(f"{what} {name!r}: column {ts!r} is an integer; say its unit with ts_unit=us, ms or s")
    if not is_event_time(column.type):
        raise ConfigError(f"{what} {name!r}: {no_event_time(ts, str(column.type))}")


def _stream(part: StreamPart, schema: Schema, order: int) -> Stream:
    _timed("stream", part.name, schema, part.ts, part.ts_unit)
    return Stream(
        part.name,
        schema,
        part.ts,
        slack=parse_duration(part.slack) if part.slack else 0,
        idle_after=parse_duration(part.idle_after) if part.idle_after else None,
        max_jump=parse_duration(part.max_jump) if part.max_jump else None,
        on_bad_time=part.on_bad_time,
        ts_unit=UNITS[part.ts_unit or "us"],
        order=order,
        sample=part.sample,
    )


def _schema(part: Source) -> Schema | None:
    """The columns of a local Parquet file or directory, typed as Spark would read them."""
    if part.format != "parquet" or part.table_schema is not None or part.path is None or "://" in part.path:
        return None
    try:
        found = ds.dataset(part.path, format="parquet").schema
    except (OSError, pa.ArrowException) as e:
        raise ConfigError(f"{part.name}: cannot read {part.path}: {_last_line(e)}") from None
    return Schema(tuple(Field(f.name, _as_spark(f.type)) for f in found))


def _as_spark(t: pa.DataType) -> pa.DataType:
    """The Arrow type under which Spark hands over a column that a Parquet file stores as ``t``."""
    if pa.types.is_timestamp(t):
        return pa.timestamp("us", "UTC" if t.tz else None)
    if pa.types.is_dictionary(t):
        return _as_spark(t.value_type)
    if pa.types.is_large_string(t):
        return pa.string()
    if pa.types.is_large_binary(t):
        return pa.binary()
    widened = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64()}
    return widened.get(t, t)


def _last_line(e: Exception) -> str:
    from pydantic import ValidationError

    if isinstance(e, ValidationError):
        fault = e.errors()[0]
        return f"{'.'.join(map(str, fault['loc']))}: {fault['msg'].removeprefix('Value error, ')}"
    return str(e).strip().splitlines()[-1] if str(e).strip() else type(e).__name__
