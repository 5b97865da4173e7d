"""Streams and tables for ``muntin sql`` and ``muntin explain``: from ``--stream``, or from a job file.

``explain`` needs only schemas, which pyarrow takes from files without starting a JVM.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.dataset as ds

from muntin.cli.job import Job, Source, StreamPart, TablePart
from muntin.core.errors import ConfigError
from muntin.core.schema import Field, Schema
from muntin.cql.durations import parse_duration
from muntin.local.readers import FORMATS, Separated, format_of
from muntin.plan.catalog import UNITS, Catalog, Stream, Table, is_event_time, no_event_time
from muntin.plan.user_functions import ScalarFunction

INFERRED = {"csv": {"header": "true", "inferSchema": "true"}, "json": {"inferTimestamp": "true"}}
"""Reader options by format: text that is a time throughout is read as one."""

SEPARATORS = {"tab": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
"""Separators that a shell or ``;`` between settings would swallow, by name."""

Part = TypeVar("Part", StreamPart, TablePart)
_KEYS = ("slack", "idle_after", "max_jump", "on_bad_time", "ts_unit")
_FORM = ("format", "sep", "header", "columns", "null")


@dataclass(frozen=True)
class Inputs:
    """What a query may name, with every path as it should be opened."""

    streams: tuple[StreamPart, ...] = ()
    tables: tuple[TablePart, ...] = ()
    functions: tuple[ScalarFunction, ...] = ()


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
    return Inputs(tuple(streams), tuple(tables), called_in(job))


def called_in(job: Job | None) -> tuple[ScalarFunction, ...]:
    """The functions of a job file. Raises ConfigError for code that cannot be loaded."""
    if job is None or not job.functions:
        return ()
    from muntin.cli.job_functions import functions_of

    return functions_of(job)


def _opened(part: Part, job: Job) -> Part:
    if part.path is None or part.format == "table":
        return part
    return part.model_copy(update={"path": job.resolve(part.path)})


def parse_stream(text: str) -> StreamPart:
    """``NAME=PATH:TS`` with optional ``;slack=5 minutes;max_jump=1 day`` behind it, and for files with separators
    ``;sep=tab;header=false;columns=ts,host``.

    Raises:
        ConfigError: another form, an unknown extension or key, a path that is not there.
    """
    head, *settings = text.split(";")
    name, equals, place = head.partition("=")
    path, colon, ts = place.rpartition(":")
    if not (name.strip() and equals and path and colon and ts.strip()):
        raise ConfigError(f"--stream {text!r}: write NAME=FILE:TIMECOLUMN, as in flights=flights.parquet:dep")
    told = f"--stream {name}"
    extras = _settings(told, settings, (*_KEYS, *_FORM))
    form = _file(told, path, {k: extras.pop(k) for k in _FORM if k in extras})
    try:
        return StreamPart.model_validate({"name": name.strip(), "path": path, "ts": ts.strip(), **extras, **form})
    except ValueError as e:
        raise ConfigError(f"--stream {name}: {_last_line(e)}") from None


def parse_table(text: str) -> TablePart:
    """``NAME=PATH``: a static table; settings of files with separators as for a stream. Raises ConfigError for another
    form, an unknown extension, a path that is not there."""
    head, *settings = text.split(";")
    name, equals, path = head.partition("=")
    if not (name.strip() and equals and path):
        raise ConfigError(f"--table {text!r}: write NAME=FILE, as in airlines=airlines.csv")
    told = f"--table {name}"
    form = _file(told, path, _settings(told, settings, _FORM))
    return TablePart.model_validate({"name": name.strip(), "path": path, **form})


def _settings(told: str, settings: Sequence[str], keys: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not setting.strip() and found.get("sep") == "":
            raise ConfigError(f"{told}: a setting ends at ';', so the separator itself is written sep=semicolon")
        if key.strip() not in keys or not equals:
            raise ConfigError(f"{told}: {setting.strip()!r} is not a setting; they are {', '.join(keys)}")
        found[key.strip()] = value.strip()
    return found


def _file(told: str, path: str, form: dict[str, str]) -> dict[str, Any]:
    """Format, options and names of the columns of a file. Raises ConfigError."""
    if "://" not in path and not Path(path).exists():
        raise ConfigError(f"{told}: there is no file or directory {path!r}")
    kind = form.pop("format", None) or _format(told, path)
    if kind not in FORMATS.values():
        raise ConfigError(f"{told}: format is one of {', '.join(dict.fromkeys(FORMATS.values()))}, not {kind!r}")
    options, names = dict(INFERRED.get(kind, {})), [n.strip() for n in form.get("columns", "").split(",") if n.strip()]
    if form and kind != "csv":
        raise ConfigError(f"{told}: {next(iter(form))} is a setting of files with separators (csv), not of {kind}")
    if "sep" in form:
        options["sep"] = SEPARATORS.get(form["sep"], form["sep"])
    if "null" in form:
        options["nullValue"] = form["null"]
    if kind == "csv":
        options["header"] = form.get("header", "false" if names else "true").lower()
        if len(options.get("sep", ",")) != 1 or options["header"] not in ("true", "false"):
            raise ConfigError(
                f"{told}: sep is one character or one of {', '.join(SEPARATORS)}, header is true or false"
            )
    return {"format": kind, "options": options, "names": names}


def form_of(part: Source) -> str | Separated | None:
    """The form of a part's files for ``local.readers``; None where its options are others than ``--stream`` gives."""
    given = {str(k): str(v) for k, v in part.options.items()}
    plain = given == INFERRED.get(part.format, {})
    if part.format != "csv" or (plain and not part.names):
        return part.format if plain and not part.names else None
    sep, null, header = given.pop("sep", ","), given.pop("nullValue", ""), given.get("header")
    if {**given, "header": "true"} != INFERRED["csv"]:
        return None
    return Separated(sep, header == "true", tuple(part.names), null)


def _format(told: str, path: str) -> str:
    kind = format_of(path)
    if kind is None and Path(path).is_dir():
        kinds = {k for p in Path(path).rglob("*") if p.is_file() and (k := format_of(p))}
        kind = kinds.pop() if len(kinds) == 1 else None
    if kind is None:
        ends = f"names end in {', '.join(FORMATS)} (files of text may end in .gz behind it), or say format=csv"
        raise ConfigError(f"{told}: cannot tell the format of {path!r}; {ends}")
    return kind


def offline_catalog(inputs: Inputs) -> Catalog | None:
    """The catalog as far as pyarrow can tell; None when an input needs Spark to know its schema."""
    parts: list[Source] = [*inputs.streams, *inputs.tables]
    schemas = {p.name: _schema(p) for p in parts}
    if any(s is None for s in schemas.values()):
        return None
    known = {name: schema for name, schema in schemas.items() if schema is not None}
    catalog = Catalog(
        tuple(_stream(s, known[s.name], i) for i, s in enumerate(inputs.streams)),
        tuple(_table(t, known[t.name]) for t in inputs.tables),
    )
    if not inputs.functions:
        return catalog
    from muntin.cql.user_functions import with_functions

    return with_functions(catalog, inputs.functions)


def _table(part: TablePart, schema: Schema) -> Table:
    """A table; of one that changes without the columns that its updates add."""
    if part.kind == "static":
        return Table(part.name, schema, part.kind)
    if part.ts is not None:
        _timed("table", part.name, schema, part.ts, part.ts_unit)
    columns = Schema(tuple(f for f in schema if f.name not in (part.ts, part.op)))
    kind = "relation" if part.kind == "upsert" else part.kind
    return Table(part.name, columns, kind, key=part.keys, on_bad_update=part.on_bad_update)


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
    if part.columns or part.names or (isinstance(part, TablePart) and part.form in ("debezium", "delta")):
        return None
    try:
        found = ds.dataset(part.path, format="parquet").schema
    except FileNotFoundError:
        raise ConfigError(f"{part.name}: there is no file or directory {part.path}") from None
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
