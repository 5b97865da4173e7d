"""Job files: TOML, checked against models before anything starts, with errors that name the key.

Durations are texts such as ``"5 minutes"`` or ``"PT5M"``. A relative path in a job file (``file``, ``path``,
``checkpoint``) is relative to the job file, not to the directory in which the command runs.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from muntin.core.errors import ConfigError
from muntin.cql.durations import format_duration, parse_duration
from muntin.cql.options import check_option
from muntin.spark.formats import FILE_FORMATS, missing_option, unknown_option, wrong_mode

Kind = Literal["static", "nrr", "relation", "upsert"]
Feed = Literal["upsert", "debezium", "delta"]
AVAILABLE_NOW = "available_now"
Options = dict[str, str | int | float | bool]


def _span(text: str) -> str:
    if parse_duration(text) < 0:
        raise ValueError(f"{text!r} is negative")
    return text


Span = Annotated[str, AfterValidator(_span)]


def _tau(text: str) -> str:
    if parse_duration(text) <= 0:
        raise ValueError(f"{text!r} is not positive")
    return text


def _trigger(text: str) -> str:
    """A trigger as ``session.start`` takes it, of a length of time in any form."""
    if text == AVAILABLE_NOW or not parse_duration(_span(text)):
        return text
    return format_duration(parse_duration(text)).lower()


class KeyFault(ValueError):
    """A fault of one key that only the whole table shows: the key's name and what is wrong with it."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


class _Part(BaseModel):
    """A table of the job file: unknown keys are errors, since a misspelt one would otherwise be ignored silently."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class SessionPart(_Part):
    """``[session]``. ``partitions``: Spark tasks that the shards share; ``conf``: Spark configuration, passed through.

    ``trigger``: an interval, or ``"available_now"`` (process what there is, then end); none: as fast as possible.
    ``tau``: how long a row may wait for its result, so how long the trigger may be. ``budget``: how long a batch may
    take, where queries may wait for their turn. ``scheduling``: with whom the one runs that has waited longest, and
    whether flexible queries run early with others.
    ``schedule``: in which order a shared join is done for them.
    ``shed``: what queries do under overload that say nothing else.
    """

    shards: int | None = Field(default=None, ge=1, le=32_767)
    trigger: Annotated[str, AfterValidator(_trigger)] | None = None
    tau: Annotated[str, AfterValidator(_tau)] | None = None
    budget: Annotated[str, AfterValidator(_tau)] | None = None
    scheduling: Literal["edf", "conservative", "late", "late_pending", "aggressive", "hybrid"] | None = None
    schedule: Literal["lwo", "swf", "greedy"] | None = None
    shed: Literal["never", "harvest", "drop"] | None = None
    checkpoint: str | None = None
    on_change: Literal["refuse", "refill"] = "refuse"
    partitions: int | None = Field(default=None, ge=1)
    master: str | None = None
    conf: Options = {}


class Source(_Part):
    """What ``[[stream]]`` and ``[[table]]`` share: a Spark format, its options, and a schema in Spark's DDL.

    ``decode``: how column ``value`` of a message is taken apart, by ``schema``. ``columns``: further ones by name,
    expressions of Spark's over those before them. ``names``: of the columns of a file without a header.
    """

    name: str = Field(min_length=1)
    format: str = "parquet"
    path: str | None = None
    table_schema: str | None = Field(default=None, alias="schema")
    options: Options = {}
    decode: Literal["json"] | None = None
    columns: dict[str, str] = {}
    names: list[str] = []

    @model_validator(mode="after")
    def _whole(self) -> Self:
        _check_place(self.format, self.path, self.options, sink=False)
        if self.decode is not None and self.table_schema is None:
            raise KeyFault("schema", 'is missing: the columns that the messages hold, as in "user STRING, n BIGINT"')
        return self


class StreamPart(Source):
    """``[[stream]]``: a source with an event-time column and the rules for its time."""

    ts: str
    slack: Span | None = None
    idle_after: Span | None = None
    max_jump: Span | None = None
    on_bad_time: Literal["drop", "fail"] = "drop"
    order_by: str | None = None
    rate: float | None = Field(default=None, gt=0)
    sample: float | None = Field(default=None, gt=0, le=1)
    ts_unit: Literal["us", "ms", "s"] | None = None


class TablePart(Source):
    """``[[table]]``: a relation that queries may join; ``kind`` as in ``plan.catalog.Table``.

    Static tables are read whole; the other kinds are updates, with the columns ``ts`` (event time) and ``op``. ``key``:
    the column or columns of which each combination has one row. ``feed``: the form of the updates, as in
    ``session.table``.
    """

    kind: Kind = "static"
    ts: str | None = None
    op: str | None = None
    slack: Span | None = None
    idle_after: Span | None = None
    on_bad_time: Literal["drop", "fail"] = "drop"
    ts_unit: Literal["us", "ms", "s"] | None = None
    key: str | list[str] | None = None
    feed: Feed | None = None
    on_bad_update: Literal["drop", "fail"] = "drop"

    @model_validator(mode="after")
    def _told(self) -> Self:
        if self.decode is not None and self.kind != "static" and self.ts is None and self.form != "debezium":
            raise KeyFault("ts", "is missing: the column of event time, as timestamp of a Kafka message")
        return self

    @property
    def form(self) -> str | None:
        """The form of its updates: that of kind upsert is meant."""
        return "upsert" if self.kind == "upsert" and self.feed is None else self.feed

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of its key."""
        return (self.key,) if isinstance(self.key, str) else tuple(self.key or ())


class QueryOptionsPart(_Part):
    """``[query.options]``: what ``session.sql`` accepts beside the text. ``granule``: a duration."""

    bounds: Literal["half_open", "closed", "start"] | None = None
    origin: int | str | None = None
    granule: Span | None = None
    zone: str | None = None
    exp: bool | None = None
    strategy: Literal["upa", "nt", "direct", "auto"] | None = None
    skew: Literal["keep", "split"] | None = None
    memory: int | str | None = None
    priority: int | None = None
    periods: Literal["exact", "flexible"] | None = None
    shed: Literal["never", "harvest", "drop"] | None = None
    quality: float | None = Field(default=None, ge=0, lt=1)

    @field_validator("zone")
    @classmethod
    def _known(cls, zone: str | None) -> str | None:
        if zone is not None:
            check_option("zone", zone)
        return zone


class Sink(_Part):
    """``[late]``, and what ``[query.sink]`` has too: where rows go, as ``query.write`` takes it."""

    format: str
    mode: str = "append"
    path: str | None = None
    options: Options = {}

    @model_validator(mode="after")
    def _whole(self) -> Self:
        _check_place(self.format, self.path, self.options, sink=True)
        fault = wrong_mode(self.format, self.mode)
        if fault is not None:
            raise KeyFault("mode", fault)
        return self


def _check_place(format: str, path: str | None, options: Options, sink: bool) -> None:
    """Raises KeyFault for a path that is missing and for options that the format does not have."""
    if not path and "path" not in options and (format in FILE_FORMATS or format in ("table", "archive")):
        what = "the table's name" if format == "table" else "the file or directory"
        raise KeyFault("path", f"is missing: {what} that format {format} {'writes' if sink else 'reads'}")
    odd = unknown_option(format, options, sink) or missing_option(format, options, sink)
    if odd is not None:
        raise KeyFault(f"options.{odd[0]}", odd[1])


class QuerySink(Sink):
    """``[query.sink]``: ``encode = "json"`` makes messages of rows, with the text of column ``key`` as their key."""

    encode: Literal["json"] | None = None
    key: str | None = None


class QueryPart(_Part):
    """``[[query]]``: a text (``cql``) or a file that holds one."""

    name: str = Field(min_length=1)
    cql: str | None = None
    file: str | None = None
    options: QueryOptionsPart = QueryOptionsPart()
    sink: QuerySink | None = None

    @model_validator(mode="after")
    def _one_text(self) -> QueryPart:
        if (self.cql is None) == (self.file is None):
            raise ValueError("give either cql (the text) or file (a file that holds it)")
        return self


class FunctionPart(_Part):
    """An entry of ``[functions]``: where the code of a function is, ``"module:function"`` (which alone may stand for it
    where ``@muntin.function`` says the rest), and what ``muntin.function`` takes."""

    code: str
    returns: str | None = None
    arguments: list[str] | None = None
    version: str | None = None
    on_null: Literal["null", "call"] | None = None

    @model_validator(mode="before")
    @classmethod
    def _place_alone(cls, given: Any) -> Any:
        return {"code": given} if isinstance(given, str) else given


class _Document(_Part):
    session: SessionPart = SessionPart()
    stream: list[StreamPart] = []
    table: list[TablePart] = []
    query: list[QueryPart] = []
    late: Sink | None = None
    functions: dict[str, FunctionPart] = {}


class Job(_Part):
    """A checked job file, read from ``path``; its parts in the order of the file."""

    path: Path
    session: SessionPart
    streams: list[StreamPart]
    tables: list[TablePart]
    queries: list[QueryPart]
    late: Sink | None = None
    functions: dict[str, FunctionPart] = {}

    def resolve(self, path: str) -> str:
        """``path`` as Spark and Python should open it: relative ones counted from the job file, URLs as they are."""
        return path if "://" in path else str(self.path.parent.absolute() / path)

    def text(self, query: QueryPart) -> str:
        """The CQL of a query. Raises ConfigError when its file cannot be read."""
        if query.cql is not None:
            return query.cql
        path = Path(self.resolve(query.file or ""))
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as e:
            raise ConfigError(f"{self.path}: query {query.name!r}: cannot read {path}: {_reason(e)}") from None


def load_job(path: Path) -> Job:
    """Read and check a job file.

    Raises:
        ConfigError: it cannot be read, is not TOML, or a key is unknown, missing or wrong; one line per fault.
    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as e:
        raise ConfigError(f"cannot read the job file {path}: {_reason(e)}") from None
    except tomllib.TOMLDecodeError as e:
        raise ConfigError(f"{path} is not TOML: {e}") from None
    try:
        document = _Document.model_validate(raw)
    except ValidationError as e:
        raise ConfigError("\n".join(f"{path}: {line}" for line in _faults(e, raw))) from None
    job = Job(
        path=path,
        session=document.session,
        streams=document.stream,
        tables=document.table,
        queries=document.query,
        late=document.late,
        functions=document.functions,
    )
    _check_names(job)
    return job


def _check_names(job: Job) -> None:
    for kind, names in (
        ("stream or table", [s.name for s in job.streams] + [t.name for t in job.tables]),
        ("query", [q.name for q in job.queries]),
    ):
        lowered = [n.lower() for n in names]
        for name in names:
            if lowered.count(name.lower()) > 1:
                raise ConfigError(f"{job.path}: two of kind {kind} are named {name!r}; names must differ")


def _faults(error: ValidationError, raw: dict[str, Any]) -> list[str]:
    """One readable line for each fault: the table, the key, what is wrong, what is allowed."""
    lines = []
    for fault in error.errors():
        cause = fault.get("ctx", {}).get("error")
        keys = tuple(cause.key.split(".")) if isinstance(cause, KeyFault) else ()
        where = _where((*fault["loc"], *keys), raw)
        match fault["type"]:
            case "extra_forbidden":
                message = f"unknown key; the keys here are {', '.join(_keys(fault['loc']))}"
            case "missing":
                message = "is missing"
            case "list_type":
                message = f"write [[{fault['loc'][-1]}]] (with two brackets: there may be several)"
            case "value_error":
                message = str(cause)
            case _:
                message = f"{fault['msg']}, not {fault['input']!r}"
        lines.append(f"{where}: {message}")
    return lines


def _where(loc: tuple[int | str, ...], raw: dict[str, Any]) -> str:
    """A fault's place in the words of the file: ``[[stream]] 2 (flights), key slack``."""
    match loc:
        case (str(table), int(i), *keys):
            entry = raw[table][i]
            name = entry.get("name") if isinstance(entry, dict) else None
            head = f"[[{table}]] {i + 1}" + (f" ({name})" if isinstance(name, str) else "")
        case (str(table), *keys) if table in _Document.model_fields:
            head = f"[{table}]"
        case _:
            head, keys = "", list(loc)
    parts = [head] if head else []
    # A union's branches end the location with a type's name, which says nothing to the author of the file.
    names = [str(k) for k in keys if not (isinstance(k, str) and k in ("str", "int", "float", "bool"))]
    if names:
        parts.append(f"key {'.'.join(names)}")
    return ", ".join(parts)


def _keys(loc: tuple[int | str, ...]) -> list[str]:
    """The keys that the table of an unknown key would accept."""
    models: dict[str, type[BaseModel]] = {
        "session": SessionPart, "stream": StreamPart, "table": TablePart, "query": QueryPart,
        "options": QueryOptionsPart, "sink": QuerySink, "late": Sink, "functions": FunctionPart,
    }  # fmt: skip
    tables = [part for part in loc[:-1] if isinstance(part, str) and part in models]
    model = models[tables[-1]] if tables else _Document
    return [f.alias or name for name, f in model.model_fields.items()]


def _reason(e: Exception) -> str:
    return (e.strerror or str(e)) if isinstance(e, OSError) else str(e)
